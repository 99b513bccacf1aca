"""The durable record of what was released: an append-only journal on disk.

Read ``journal``. ``signals`` makes interrupts wait until a line is on disk; ``errors`` says what may be wrong with a file.
"""

from renyi.ledger.errors import JournalError, JournalInUse, TamperedJournal
from renyi.ledger.journal import Entry, Journal, read

__all__ = ["Entry", "Journal", "JournalError", "JournalInUse", "TamperedJournal", "read"]
