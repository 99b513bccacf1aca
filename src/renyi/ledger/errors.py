"""Errors about journals and ledgers.

JournalError          the journal cannot be written or read as asked
├── TamperedJournal   a line was changed, moved or removed
└── JournalInUse      another process writes to it

LedgerError           the ledger cannot do what was asked
├── Exhausted         a release does not fit into the budget; nothing was written
├── NotInLedger       a dataset, team, purpose, part or entry that the ledger does not know
├── KeyReused         the key of an earlier entry, with another request
├── AlreadySettled    a reservation that can no longer be voided or settled otherwise, or is not the caller's
├── TamperedLedger    an entry, a balance or a note was changed, or entries are missing
├── OtherSchema       tables of a version that this release does not read
└── Unavailable       the store cannot be reached, is busy, or could not write
"""

from __future__ import annotations

from renyi.errors import PrivacyError


class JournalError(PrivacyError):
    """A journal that cannot be used as asked."""


class TamperedJournal(JournalError):
    """A journal whose chain of hashes is broken: its record cannot be trusted."""


class JournalInUse(JournalError):
    """A journal that another process is writing to."""


class LedgerError(PrivacyError):
    """A ledger that cannot do what was asked."""


class Exhausted(LedgerError):
    """A release that does not fit into the budget. Nothing was written, and nothing may be released."""


class NotInLedger(LedgerError):
    """A name or number that the ledger does not know."""


class KeyReused(LedgerError):
    """A key that stands for another request: a retry repeats the event and the account."""


class AlreadySettled(LedgerError):
    """A reservation that cannot be settled as asked: it was settled before, its noise was drawn, or it is not the caller's."""


class TamperedLedger(LedgerError):
    """A ledger whose record cannot be trusted: something in it was changed, or is missing."""


class OtherSchema(LedgerError):
    """Tables of another version, or tables of something else."""


class Unavailable(LedgerError):
    """A store that cannot be reached, is busy for too long, or could not write. Without a receipt, release nothing."""
