"""What is read and written inside one transaction: rows in, rows out; nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import BindParameter, Connection, and_, bindparam, delete, insert, select, text, update

from renyi.errors import InvalidInput
from renyi.ledger.book.note import Note
from renyi.ledger.book.row import Head, Row
from renyi.ledger.errors import TamperedLedger, Unavailable
from renyi.ledger.store.schema import entries, heads, notes, unsettled

_ROWS_AT_ONCE = 500
"""Entries that are read in one go when a chain is walked along."""


class Page:
    """The ledger as one transaction sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def datasets(self) -> tuple[str, ...]:
        """The names of all datasets, in order."""
        return tuple(self._connection.execute(select(heads.c.dataset).order_by(heads.c.dataset)).scalars())

    def head(self, dataset: str, *, lock: bool = False) -> Head | None:
        """The head of a dataset; with ``lock``, nobody else changes it until this transaction ends."""
        found = self._connection.execute(_HEAD_LOCKED if lock else _HEAD, {"of": dataset}).first()
        return None if found is None else Head(*_expected(found, int, str, str))

    def alone(self) -> None:
        """Let nobody else make datasets until this transaction ends: a head that does not exist yet cannot be locked."""
        if self._connection.dialect.name == "postgresql":  # who writes to SQLite is alone
            self._connection.execute(text("LOCK TABLE renyi_heads IN SHARE ROW EXCLUSIVE MODE"))

    def row(self, dataset: str, sequence: int) -> Row | None:
        """One entry."""
        return self._row(_BY_SEQUENCE, of=dataset, at=sequence)

    def with_key(self, dataset: str, key: str) -> Row | None:
        """The entry that was written under this key."""
        return self._row(_BY_KEY, of=dataset, key=key)

    def settling(self, dataset: str, sequence: int) -> Row | None:
        """The entry that settles this reservation."""
        return self._row(_BY_SETTLED, of=dataset, settled=sequence)

    def drawing(self, dataset: str, sequence: int) -> bool | None:
        """Whether the noise of an unsettled reservation may have been drawn; None if there is no such reservation."""
        condition = and_(unsettled.c.dataset == dataset, unsettled.c.sequence == sequence)
        return self._connection.execute(select(unsettled.c.drawing).where(condition)).scalar()

    def unsettled(self, dataset: str) -> tuple[tuple[int, bool], ...]:
        """The reservations that wait: their numbers, and whether their noise may have been drawn."""
        query = select(unsettled.c.sequence, unsettled.c.drawing).where(unsettled.c.dataset == dataset)
        found = self._connection.execute(query.order_by(unsettled.c.sequence))
        return tuple((sequence, drawing) for sequence, drawing in (_expected(row, int, bool) for row in found))

    def rows(self, dataset: str, start: int = 0) -> Iterator[Row]:
        """The entries from a number on, with their notes."""
        while found := self.some_rows(dataset, start):
            yield from found
            start = found[-1].sequence + 1

    def some_rows(self, dataset: str, start: int) -> tuple[Row, ...]:
        """The entries from a number on, as many as are read in one go; none where there are no more."""
        found = self._connection.execute(_ALL, {"of": dataset, "start": start, "most": _ROWS_AT_ONCE})
        return tuple(map(_with_note, found))

    def strays(self) -> tuple[str, ...]:
        """Datasets with rows that belong to no head or no entry."""
        found: list[str] = []
        for table in (entries, notes, unsettled):
            entry = table.c.sequence.between(0, heads.c.length - 1)
            joined = table.outerjoin(heads, and_(heads.c.dataset == table.c.dataset, entry))
            query = select(table.c.dataset).select_from(joined).where(heads.c.dataset.is_(None)).limit(1)
            found += self._connection.execute(query).scalars()
        return tuple(found)

    def write(self, dataset: str, row: Row) -> None:
        """Write an entry and its note."""
        place = {"dataset": dataset, "sequence": row.sequence}
        values = {"payload": row.payload, "hash": row.hash, "key": row.key, "settles": row.settles}
        self._connection.execute(insert(entries), {**place, **values})
        if row.note is not None:
            self._connection.execute(insert(notes), {**place, "salt": row.note.salt, "text": row.note.text})

    def move(self, dataset: str, before: Head | None, after: Head) -> None:
        """Move the head of a dataset; without one before, make it."""
        if before is None:
            new = {"length": after.length, "hash": after.hash, "balance": after.balance}
            self._connection.execute(insert(heads), {"dataset": dataset, **new})
            return
        new = {"new_length": after.length, "new_hash": after.hash, "new_balance": after.balance}
        moved = self._connection.execute(_MOVED, {"of": dataset, "was": before.hash, **new})
        if moved.rowcount != 1:  # the row is locked, so only a database that does not keep its word comes here
            raise Unavailable(f"the head of {dataset!r} moved while it was locked. Nothing was charged.")

    def wait(self, dataset: str, sequence: int, *, drawing: bool) -> None:
        """Put a reservation on the list of those that wait."""
        self._connection.execute(insert(unsettled), {"dataset": dataset, "sequence": sequence, "drawing": drawing})

    def draw(self, dataset: str, sequence: int) -> None:
        """Note that the noise of a reservation may have been drawn."""
        condition = and_(unsettled.c.dataset == dataset, unsettled.c.sequence == sequence)
        self._connection.execute(update(unsettled).where(condition).values(drawing=True))

    def settle(self, dataset: str, sequence: int) -> None:
        """Take a reservation off the list."""
        condition = and_(unsettled.c.dataset == dataset, unsettled.c.sequence == sequence)
        self._connection.execute(delete(unsettled).where(condition))

    def erase(self, dataset: str, sequence: int) -> bool:
        """Erase a note; whether there was one."""
        condition = and_(notes.c.dataset == dataset, notes.c.sequence == sequence)
        return self._connection.execute(delete(notes).where(condition)).rowcount > 0

    def _row(self, query: Any, **values: object) -> Row | None:
        found = self._connection.execute(query, values).first()
        return None if found is None else _with_note(found)


_KINDS_OF_A_ROW = (int, str, str, str, int | None, str | None, str | None)


def _expected(found: Any, *kinds: Any) -> Any:
    """The values of a row, of these kinds: a damaged file of SQLite may hold anything anywhere."""
    if not all(isinstance(value, kind) for value, kind in zip(found, kinds, strict=True)):
        raise TamperedLedger("a row of the ledger holds values that were never written: the file is damaged.")
    return found


def _with_note(found: Any) -> Row:
    sequence, payload, hashed, key, settled, salt, said = _expected(found, *_KINDS_OF_A_ROW)
    try:
        note = None if said is None else Note(salt, said)
    except InvalidInput as error:
        raise TamperedLedger(f"the note of entry {sequence} was changed afterwards: {error}") from None
    return Row(sequence, payload, hashed, key, settled, note)


# Statements are built once: SQLAlchemy takes longer to build one than SQLite to run it.
_OF: BindParameter[str] = bindparam("of")
_HEAD = select(heads.c.length, heads.c.hash, heads.c.balance).where(heads.c.dataset == _OF)
_HEAD_LOCKED = _HEAD.with_for_update()
_MOVED = (
    update(heads)
    .where(heads.c.dataset == _OF, heads.c.hash == bindparam("was"))
    .values(length=bindparam("new_length"), hash=bindparam("new_hash"), balance=bindparam("new_balance"))
)
_ROWS = (
    select(
        entries.c.sequence,
        entries.c.payload,
        entries.c.hash,
        entries.c.key,
        entries.c.settles,
        notes.c.salt,
        notes.c.text,
    )
    .select_from(
        entries.outerjoin(notes, and_(notes.c.dataset == entries.c.dataset, notes.c.sequence == entries.c.sequence))
    )
    .where(entries.c.dataset == _OF)
)
_BY_SEQUENCE = _ROWS.where(entries.c.sequence == bindparam("at"))
_BY_KEY = _ROWS.where(entries.c.key == bindparam("key"))
_BY_SETTLED = _ROWS.where(entries.c.settles == bindparam("settled"))
_ALL = _ROWS.where(entries.c.sequence >= bindparam("start")).order_by(entries.c.sequence).limit(bindparam("most"))
