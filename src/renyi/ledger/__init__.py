"""The durable record of what was released: an append-only journal on disk; and the filter that decides what may be.

Read ``journal``. ``signals`` makes interrupts wait until a line is on disk; ``errors`` says what may be wrong with a file.
``filter`` is a budget that holds although releases are chosen one after another; ``pricing`` says what they cost it.
"""

from renyi.ledger.errors import JournalError, JournalInUse, TamperedJournal
from renyi.ledger.filter import Filter
from renyi.ledger.journal import Entry, Journal, read
from renyi.ledger.pricing.price import Price

__all__ = ["Entry", "Filter", "Journal", "JournalError", "JournalInUse", "Price", "TamperedJournal", "read"]
