"""Who, why and when: said beside an entry, outside of the chain, so that it can be erased for a person's sake.

The entry holds a salted hash of its note. A note that was changed no longer matches it; a note that was erased is gone, and
without the salt nobody can guess what it said. Times are in UTC and are for people: entries are ordered by their numbers.
"""

from __future__ import annotations

import getpass
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from renyi.errors import InvalidInput
from renyi.events.document import parsed, short
from renyi.ledger.journal import canonical

LONGEST_NOTE = 10_000
"""Characters of a note as JSON."""

_LONGEST_SALT = 64


@dataclass(frozen=True, slots=True)
class Note:
    """A salt, and the JSON text of an object with ``who``, ``why``, ``when`` and whatever else was said."""

    salt: str
    text: str

    def __post_init__(self) -> None:
        plain = self.text.isascii() and self.text.isprintable() and self.salt.isalnum()
        if not plain or len(self.salt) > _LONGEST_SALT or len(self.text) > LONGEST_NOTE:
            raise InvalidInput(
                f"a note is at most {LONGEST_NOTE:,} characters of JSON in ASCII; got {len(self.text):,}: {short(self.text)}."
            )

    @classmethod
    def now(cls, who: str, why: str | None, more: Mapping[str, Any] | None) -> Note:
        """A note with the present time and a salt that nobody can guess."""
        when = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            text = canonical({**(more or {}), "who": who, "why": why, "when": when})
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"a note holds text and finite numbers: {error}.") from None
        return cls(secrets.token_hex(16), text)

    @property
    def hash(self) -> str:
        """What the chain holds of it."""
        return hashlib.sha256(canonical([self.salt, self.text]).encode()).hexdigest()

    def values(self) -> dict[str, Any]:
        """What was said."""
        document = parsed(self.text)
        if not isinstance(document, dict):
            raise InvalidInput(f"a note is a JSON object; got {short(document)}.")
        return document


def somebody() -> str:
    """The name under which this process runs, as far as it has one."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
