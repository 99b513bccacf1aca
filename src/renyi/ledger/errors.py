"""Errors about journals.

JournalError          the journal cannot be written or read as asked
├── TamperedJournal   a line was changed, moved or removed
└── JournalInUse      another process writes to it
"""

from __future__ import annotations

from renyi.errors import PrivacyError


class JournalError(PrivacyError):
    """A journal that cannot be used as asked."""


class TamperedJournal(JournalError):
    """A journal whose chain of hashes is broken: its record cannot be trusted."""


class JournalInUse(JournalError):
    """A journal that another process is writing to."""
