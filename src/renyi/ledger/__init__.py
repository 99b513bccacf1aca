"""The durable record of what was released: a journal on disk that later parts build budgets on."""

from renyi.ledger.errors import JournalError, JournalInUse, TamperedJournal
from renyi.ledger.journal import Entry, Journal, read

__all__ = ["Entry", "Journal", "JournalError", "JournalInUse", "TamperedJournal", "read"]
