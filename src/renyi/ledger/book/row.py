"""An entry as it is stored, and the head of a chain.

The payload of an entry is its act, the key it was asked for under, the hash of its note, and the digest of the balance that
follows; the entry's hash covers it, its number and the entry before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from renyi.errors import InvalidInput, NotSerialisable
from renyi.events.document import parsed, short
from renyi.ledger.book import acts
from renyi.ledger.book.acts import Act
from renyi.ledger.book.balance import Balance, digest
from renyi.ledger.book.dataset import LONGEST_NAME, name
from renyi.ledger.book.note import Note
from renyi.ledger.errors import TamperedLedger
from renyi.ledger.journal import BEGINNING, Entry, canonical

_LONG = 100_000
"""Characters of a payload from which on it is tried whether it can be read back: any far below the limits of documents."""

_LONGEST_DATASET = "\U0001f600" * LONGEST_NAME
"""The name of a dataset that takes as much room as any in JSON."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: its length, the hash of its last entry, and the text of the balance there."""

    length: int
    hash: str
    balance: str


class Payload(NamedTuple):
    """What an entry says."""

    act: Act
    key: str
    note: str
    balance: str


@dataclass(frozen=True, slots=True)
class Row:
    """An entry: its payload as text, what indexes repeat of it, and its note unless that was erased."""

    sequence: int
    payload: str
    hash: str
    key: str
    settles: int | None
    note: Note | None = None

    @classmethod
    def following(cls, head: Head | None, act: Act, key: str, note: Note, balance: str) -> Row:
        """The entry that comes after a head, with the text of the balance that follows from it."""
        sequence, previous = (0, BEGINNING) if head is None else (head.length, head.hash)
        payload = {**acts.to_dict(act), "key": key, "note": note.hash, "balance": digest(balance)}
        entry = Entry.following(sequence, previous, payload)
        row = cls(sequence, canonical(payload), entry.hash, key, acts.settles(act), note)
        if len(row.payload) > _LONG:
            row.expect_readable()
        return row

    def expect_readable(self) -> None:
        """Refuse an entry that an export would hold and no import would read: a large event, with what stands beside it."""
        line = row_to_text(_LONGEST_DATASET, replace(self, payload="{}")).replace("{}", self.payload, 1)
        try:
            parsed(line + "\n")
        except InvalidInput as error:
            raise NotSerialisable(f"what cannot be read back is not written: {error}") from None

    def expect_chained(self, previous: str) -> None:
        """Hold the entry against its hash, which covers that of the entry before."""
        values = self.values()
        if canonical(values) != self.payload or Entry.following(self.sequence, previous, values).hash != self.hash:
            raise TamperedLedger(
                f"entry {self.sequence} does not match its hash: it, or an entry before it, was changed afterwards."
            )

    def content(self) -> Payload:
        """What the entry says, every field checked."""
        values = self.values()
        try:
            key, note, balance = (name(**{field: values.pop(field)}) for field in ("key", "note", "balance"))
        except KeyError as missing:
            raise InvalidInput(f"an entry has a key, a note and a balance; {missing} is missing.") from None
        return Payload(acts.from_dict(values), key, note, balance)

    def stated_balance(self) -> object:
        """The digest of the balance after this entry, read without reading the act."""
        return self.values().get("balance")

    def values(self) -> dict[str, Any]:
        """The payload as JSON values."""
        try:
            found = parsed(self.payload)
        except InvalidInput:
            found = None
        if not isinstance(found, dict):
            raise TamperedLedger(f"entry {self.sequence} is not what was written: it was changed afterwards.")
        return found


def row_from_text(text: str) -> tuple[str, Row]:
    """The dataset and the entry of a line that ``row_to_text`` wrote; the line may come from anywhere."""
    document = parsed(text)
    match document:
        case {
            "dataset": str() as dataset,
            "sequence": int() as sequence,
            "payload": dict() as payload,
            "hash": str() as hashed,
            "note": None | {"salt": str(), "text": str()} as noted,
        }:
            note = None if noted is None else Note(noted["salt"], noted["text"])
            key, settled = payload.get("key"), None
            if payload.get("act") in (acts.Commit.act, acts.Void.act):
                settled = payload.get("reserved")
            row = Row(sequence, canonical(payload), hashed, name(key=key), settled, note)
            # Canonical form only: the same values written with other spaces would have the same hash.
            if type(sequence) is int and row_to_text(dataset, row) == text:
                return name(dataset=dataset), row
    raise InvalidInput(f"this is not a line of an export of a ledger: {short(text)}.")


def row_to_text(dataset: str, row: Row) -> str:
    """An entry with its note as one line of JSON."""
    note = None if row.note is None else {"salt": row.note.salt, "text": row.note.text}
    place = {"dataset": dataset, "sequence": row.sequence, "payload": row.values()}
    return canonical({**place, "hash": row.hash, "note": note})


def balance_at(head: Head, last: Row | None, empty: Balance) -> Balance:
    """The balance of a head, held against the digest in the last entry; ``empty`` is the one before the first charge."""
    if last is None or last.hash != head.hash or last.stated_balance() != digest(head.balance):
        raise TamperedLedger(
            f"the balance of the dataset {empty.dataset.name!r} is not the one that its last entry states: it was changed "
            "afterwards. `renyi ledger verify` says more; nothing is charged until the ledger is restored."
        )
    try:
        return Balance.from_dict(empty.dataset, json.loads(head.balance))
    except (ValueError, RecursionError) as error:
        raise TamperedLedger(
            f"the balance of the dataset {empty.dataset.name!r} is none that was ever written: {short(str(error))}"
        ) from None
