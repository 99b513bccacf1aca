"""What a spender takes home: the place of an entry in its chain, and the head of the chain once it was written."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field

from renyi.errors import InvalidInput
from renyi.events.document import short

_HEAD = re.compile(r"(\d{1,18}):([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Entry ``sequence`` of a dataset has this hash, which covers every entry before it.

    Kept elsewhere, it shows whether the ledger was truncated, rewritten or restored from an older copy: ``Ledger.verify``.
    """

    dataset: str
    sequence: int
    hash: str
    key: str
    replayed: bool = False
    """Whether the entry was written before, by an earlier request with the same key."""

    @property
    def head(self) -> str:
        """The number of the entry and its hash, as ``verify`` takes it."""
        return f"{self.sequence}:{self.hash}"

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps({**asdict(self), "head": self.head})


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that waits to be settled, and the secret with which its holder may take back what is not released.

    The secret is None where this process does not hold the reservation; it is not shown when the value is printed.
    """

    receipt: Receipt
    secret: str | None = field(repr=False)


def head_of(text: str) -> tuple[int, str]:
    """The number and hash of a head that was kept."""
    found = _HEAD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidInput(f"a head is NUMBER:HASH, as receipts and `status` show it; got {short(text)}.")
    return int(found[1]), found[2]
