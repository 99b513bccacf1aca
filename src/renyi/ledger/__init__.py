"""The durable record of what was released: an append-only journal on disk."""

from renyi.ledger.errors import JournalError, JournalInUse, TamperedJournal
from renyi.ledger.journal import Entry, Journal, read

__all__ = ["Entry", "Journal", "JournalError", "JournalInUse", "TamperedJournal", "read"]
