"""The shared record of what was released from datasets, and the budgets that decide what may be.

A charge is written before noise is drawn, in one transaction that locks the head of the dataset: it reads the balance, asks the
filter, appends an entry to the chain and moves the head. What was acknowledged is on disk; what failed is either not written
or counts as spent, never the other way round.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from renyi import check
from renyi.accountants import epsilon
from renyi.errors import InvalidInput, WrongCall
from renyi.events.document import short
from renyi.events.event import Event
from renyi.events.nodes import Composed
from renyi.ledger.book.acts import (
    Act,
    Allot,
    Charge,
    Commit,
    Draw,
    Open,
    Reserve,
    Spend,
    Transfer,
    Void,
    accounts,
    holder_of,
    share_of,
)
from renyi.ledger.book.dataset import Dataset, name
from renyi.ledger.book.note import Note, somebody
from renyi.ledger.book.receipt import Receipt, Reservation, head_of
from renyi.ledger.book.replay import Replay, price_of
from renyi.ledger.book.row import Row
from renyi.ledger.clerk import Clerk, reservation
from renyi.ledger.errors import AlreadySettled, Exhausted, LedgerError, NotInLedger, TamperedLedger
from renyi.ledger.exchange import imported, write_lines
from renyi.ledger.filter import Filter
from renyi.ledger.paths import path_of
from renyi.ledger.status import Line, Status, WhatIf
from renyi.ledger.verifying import expect_nothing_else, verified

if TYPE_CHECKING:
    from renyi.ledger.store.store import Store


class Ledger:
    """A ledger in a SQLite file or a PostgreSQL database. ``Ledger.open`` makes or opens one.

    >>> from renyi import Filter, Laplace
    >>> import tempfile
    >>> ledger = Ledger.open(tempfile.mkdtemp() + "/budget.db", who="ada")
    >>> receipt = ledger.create("census", Filter(epsilon=1.0, delta=1e-6), unit="person")
    >>> with ledger.spending(Laplace(10.0), why="counts by district"):
    ...     pass  # draw the noise here, and publish
    >>> ledger.what_if(Laplace(10.0)).left > 0
    True
    >>> ledger.status().unsettled
    ()
    >>> ledger.close()

    Where a ledger holds one dataset, ``dataset=`` may be left out.
    """

    def __init__(self, store: Store, who: str = "") -> None:
        if isinstance(store, (str, os.PathLike)):
            raise WrongCall(f"a ledger is opened: write Ledger.open({str(store)!r}).")
        self._store = store
        self._who = name(who=who)
        self._clerk = Clerk()

    @classmethod
    def open(cls, where: str | os.PathLike[str], *, who: str | None = None, create: bool = True) -> Self:
        """Open the ledger in a file or at a URL, such as ``postgresql+psycopg://user@host/database``.

        ``who`` stands in the notes of what is written; the name of the process's user if not given.
        """
        try:
            from renyi.ledger.store.opening import opened
        except ModuleNotFoundError as error:
            if error.name != "sqlalchemy":
                raise
            raise LedgerError(
                "a ledger needs SQLAlchemy: pip install 'renyi[ledger]', in a clone '.[ledger]'."
            ) from None
        return cls(opened(where, create=create), somebody() if who is None else who)

    def close(self) -> None:
        """Close the connections to the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger.open({self._store.address.shown!r})"

    # Budgets, for administrators.

    def create(
        self,
        dataset: str,
        budget: Filter,
        *,
        unit: str = "record",
        parts: tuple[str, ...] = (),
        why: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Begin a dataset with a budget, which is fixed from then on."""
        return self._write(dataset, Open(Dataset(dataset, budget, unit, parts)), self._note(why, more))

    def allot(
        self,
        share: object,
        *,
        team: str | None = None,
        purpose: str | None = None,
        dataset: str | None = None,
        why: str | None = None,
    ) -> Receipt:
        """Let a team, or a purpose, use at most this share of the budget, such as 0.25, at every order.

        A share is a cap: the budget of the whole dataset decides as well, so that shares may sum to more than 1.
        """
        return self._write(self._named(dataset), Allot(_one(team, purpose), share_of(share=share)), self._note(why))

    def transfer(
        self,
        share: object,
        *,
        from_team: str | None = None,
        from_purpose: str | None = None,
        team: str | None = None,
        purpose: str | None = None,
        dataset: str | None = None,
        why: str | None = None,
    ) -> Receipt:
        """Move a piece of one share, not spent yet, to another. Both were allotted before, if only a share of 0."""
        act = Transfer(_one(from_team, from_purpose), _one(team, purpose), share_of(share=share))
        return self._write(self._named(dataset), act, self._note(why))

    def grant(self, role: str, may: str) -> None:
        """Allow a role of PostgreSQL to ``read``, to ``spend`` or to ``administer``."""
        self._store.grant(role, may)

    # Spending.

    def spend(
        self,
        event: Event,
        *,
        dataset: str | None = None,
        team: str | None = None,
        purpose: str | None = None,
        part: str | None = None,
        key: str | None = None,
        why: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Charge a release, or raise ``Exhausted``; only then draw its noise.

        A retry with the same ``key`` is charged once, and has to publish the same answer: fresh noise is another release.
        """
        named = self._named(dataset)
        act = Spend(self._charge(named, event, team, purpose, part))
        return self._write(named, act, self._note(why, more), key)

    def book(
        self,
        plan: Event,
        *,
        delta: float,
        dataset: str | None = None,
        team: str | None = None,
        purpose: str | None = None,
        part: str | None = None,
        key: str | None = None,
        why: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Charge a whole plan that is fixed in advance at its exact (epsilon, ``delta``); none of it is refunded.

        It takes at most its epsilon out of the limit at every order, and its delta out of the reserve of the budget.
        """
        named = self._named(dataset)
        act = Spend(self._booked(named, plan, delta, team, purpose, part))
        return self._write(named, act, self._note(why, more), key)

    def reserve(
        self,
        event: Event,
        *,
        dataset: str | None = None,
        team: str | None = None,
        purpose: str | None = None,
        part: str | None = None,
        key: str | None = None,
        secret: str | None = None,
        why: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Reservation:
        """Charge a release before it is certain to happen; ``commit`` or ``void`` settles it.

        Until then it counts as spent. The reservation holds a ``secret``, without which nothing returns to the budget.
        """
        named = self._named(dataset)
        charge = self._charge(named, event, team, purpose, part)
        return self._reserve(named, charge, key, secret, self._note(why, more), drawing=False)

    def draw(self, reservation: Reservation, *, key: str | None = None, why: str | None = None) -> Receipt:
        """Say that the noise of a reservation is about to be drawn: from now on it can be committed, but not voided."""
        _expect_reservation(reservation)
        return self._write(reservation.receipt.dataset, Draw(reservation.receipt.sequence), self._note(why), key)

    def commit(self, reservation: Reservation, released: Event | None = None, *, why: str | None = None) -> Receipt:
        """Settle a reservation whose release happened. Where less was ``released``, its holder gets the difference back."""
        _expect_reservation(reservation)
        receipt, part = reservation.receipt, None
        if released is not None:
            held = self._reserved(receipt.dataset, receipt.sequence).charge
            part = self._charge(receipt.dataset, released, held.team, held.purpose, held.part)
        act = Commit(receipt.sequence, part, None if part is None else reservation.secret)
        return self._write(receipt.dataset, act, self._note(why))

    def void(self, reservation: Reservation, *, why: str | None = None) -> Receipt:
        """Take back a reservation whose noise was never drawn: its price returns to the budget. Only its holder may."""
        _expect_reservation(reservation)
        if reservation.secret is None:
            raise AlreadySettled("only the holder of a reservation may void it: its secret is needed.")
        act = Void(reservation.receipt.sequence, reservation.secret)
        return self._write(reservation.receipt.dataset, act, self._note(why))

    @contextmanager
    def spending(
        self,
        event: Event,
        *,
        dataset: str | None = None,
        team: str | None = None,
        purpose: str | None = None,
        part: str | None = None,
        key: str | None = None,
        why: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Iterator[Receipt]:
        """Charge a release, run the block that draws its noise, and settle; also if the block ends by an exception.

        Whether noise was drawn before the exception, nobody knows.
        """
        named = self._named(dataset)
        charge = self._charge(named, event, team, purpose, part)
        reservation = self._reserve(named, charge, key, None, self._note(why, more), drawing=True)
        try:
            yield reservation.receipt
        except BaseException as error:
            try:
                self.commit(reservation, why="ended by an exception")
            except LedgerError as unsettled:
                error.add_note(
                    f"The reservation {reservation.receipt.head} stays open and counts as spent: {unsettled}"
                )
            raise
        self.commit(reservation)

    # Looking.

    def datasets(self) -> tuple[Dataset, ...]:
        """All datasets."""
        with self._store.read() as page:
            return tuple(self._clerk.dataset(page, named) for named in page.datasets())

    def what_if(
        self,
        event: Event,
        *,
        delta: float | None = None,
        dataset: str | None = None,
        team: str | None = None,
        purpose: str | None = None,
        part: str | None = None,
    ) -> WhatIf:
        """Whether a release would be admitted now, and how many like it; nothing is written.

        With ``delta``, whether a plan would be that is booked whole.
        """
        named = self._named(dataset)
        try:
            charge = (
                self._charge(named, event, team, purpose, part)
                if delta is None
                else self._booked(named, event, delta, team, purpose, part)
            )
        except Exhausted as refusal:  # its epsilon is infinite
            return WhatIf(False, str(refusal), 0)
        with self._store.read() as page:
            _, balance = self._clerk.state(page, named)
        left = balance.left(charge)
        try:
            balance.after(Spend(charge))
        except Exhausted as refusal:
            return WhatIf(False, str(refusal), left)
        return WhatIf(True, None, left)

    def status(self, dataset: str | None = None) -> Status:
        """What was spent of a budget, by whom, and what waits to be settled."""
        with self._store.read() as page:
            named = self._clerk.named(page, dataset)
            head, balance = self._clerk.state(page, named)
            waiting = tuple(self._clerk.unsettled(page, named, *each) for each in page.unsettled(named))
        return Status.of(balance, head.length, f"{head.length - 1}:{head.hash}", waiting)

    def history(self, dataset: str | None = None, *, start: int = 0) -> Iterator[Line]:
        """The entries of a dataset in their order, from a number on to the last when the first is asked for."""
        start = _numbered(start=start)
        for row in self._rows(self._named(dataset), start):
            yield _line(row)

    def find(self, key: str, *, dataset: str | None = None) -> Line | None:
        """The entry that was written under a key, if there is one."""
        with self._store.read() as page:
            row = page.with_key(self._clerk.named(page, dataset), name(key=key))
            return None if row is None else _line(row)

    def replay(self, dataset: str | None = None) -> Iterator[tuple[Line, Status]]:
        """Every entry with the status that it led to, computed anew from the first entry on; reservations are not listed."""
        replay = Replay(self._named(dataset))
        for row in self._rows(replay.dataset):
            act = replay.follow(row)
            line = Line(row.sequence, act, None if row.note is None else row.note.values(), row.hash)
            yield line, Status.of(replay.balance, replay.length, f"{row.sequence}:{row.hash}", ())

    def released(self, dataset: str | None = None, *, part: str | None = None) -> Event:
        """Everything that counts as spent on the whole data, and on ``part``, as one event.

        ``renyi.epsilon`` of it is what these releases would cost had they been fixed in advance; where they were chosen one
        after another, what holds is the budget.
        """
        charges: dict[int, Charge] = {}
        if part is not None:
            with self._store.read() as page:
                self._clerk.dataset(page, self._clerk.named(page, dataset)).expect_part(part)
        for line in self.history(dataset):
            match line.act:
                case Void(reserved):
                    del charges[reserved]
                case Commit(reserved, Charge() as released):
                    charges[reserved] = released
                case Spend(charge) | Reserve(charge):
                    charges[line.sequence] = charge
        counted = (charge.event for charge in charges.values() if charge.part in (None, part))
        return Composed(tuple(counted)).canonical()

    # Keeping it honest.

    def verify(self, dataset: str | None = None, *, head: str | None = None) -> dict[str, str]:
        """Hold every entry, note, balance and head against each other; ``TamperedLedger`` says what does not fit.

        ``head`` is the head of a receipt that was kept elsewhere: it shows whether the ledger was truncated, rewritten or
        restored from an older copy since. Returns the present head of every dataset.
        """
        if damage := self._store.intact():
            raise TamperedLedger(f"the database finds its own file damaged: {damage}")
        kept = None if head is None else head_of(head)
        found = {}
        with self._store.read() as page:
            names = page.datasets() if dataset is None and kept is None else (self._clerk.named(page, dataset),)
            for named in names:
                found[named] = verified(page, named, kept)
            expect_nothing_else(page)
        return found

    def erase(self, sequence: int, *, dataset: str | None = None) -> None:
        """Erase who, why and when of an entry for good. The entry stays, and nothing is refunded."""
        named, number = self._named(dataset), _numbered(sequence=sequence)
        if not self._store.write(lambda page: page.erase(named, number)):
            raise NotInLedger(
                f"entry {sequence} of the dataset {named!r} has no note: it was erased before, or never was."
            )
        self._store.scrub()

    def backup(self, target: str | os.PathLike[str]) -> None:
        """Write a copy of the whole ledger to a new file. A file copied by hand, without its ``-wal``, lacks charges."""
        self._store.backup(path_of(target=target))

    def export(self, target: str | os.PathLike[str]) -> int:
        """Write all datasets to a new file of JSON lines, notes included; returns the number of entries."""
        with self._store.read() as page:
            return write_lines(path_of(target=target), {named: page.rows(named) for named in page.datasets()})

    def import_(self, source: str | os.PathLike[str]) -> dict[str, str]:
        """Read datasets from an export, verified from end to end, or none of it; returns their heads.

        A dataset that the ledger has already is refused: two records of one dataset are for people to sort out.
        """
        file = path_of(source=source)
        return self._store.write(lambda page: imported(page, file))

    # Inside.

    def _note(self, why: str | None, more: Mapping[str, Any] | None = None) -> Note:
        return Note.now(self._who, why, more)

    def _charge(
        self,
        dataset: str,
        event: Event,
        team: str | None,
        purpose: str | None,
        part: str | None,
        booked: tuple[float, float] | None = None,
    ) -> Charge:
        if not isinstance(event, Event):
            raise InvalidInput(f"what is charged is an event, such as Laplace(10); got {type(event).__name__}.")
        event = event.canonical()
        return Charge(event, price_of(self._dataset(dataset).filter, event, booked), team, purpose, part, booked)

    def _booked(
        self, dataset: str, plan: Event, delta: float, team: str | None, purpose: str | None, part: str | None
    ) -> Charge:
        """The charge of a plan that is booked whole, at its exact epsilon."""
        delta = check.delta(delta=delta)
        exact = epsilon(plan, delta=delta, adjacency=self._dataset(dataset).filter.adjacency)
        if exact == float("inf"):
            raise Exhausted(f"the plan costs an infinite epsilon at delta {delta:g}: no budget admits it.")
        return self._charge(dataset, plan, team, purpose, part, (exact, delta))

    def _reserve(
        self, dataset: str, charge: Charge, key: str | None, secret: str | None, note: Note, *, drawing: bool
    ) -> Reservation:
        secret = secrets.token_hex(16) if secret is None else name(secret=secret)
        act = Reserve(charge, holder_of(secret), drawing)
        receipt = self._write(dataset, act, note, key)
        holds = not receipt.replayed or self._reserved(dataset, receipt.sequence).holder == act.holder
        return Reservation(receipt, secret if holds else None)

    def _write(self, dataset: str, act: Act, note: Note, key: str | None = None) -> Receipt:
        """Append one act, or find that it was appended before."""
        # Without a key of the caller's, one of our own lets a second try recognise the first.
        key = secrets.token_hex(16) if key is None else name(key=key)
        return self._store.write(lambda page: self._clerk.append(page, dataset, act, note, key))

    def _named(self, dataset: str | None) -> str:
        if dataset is not None:
            return name(dataset=dataset)
        with self._store.read() as page:
            return self._clerk.named(page, None)

    def _rows(self, dataset: str, start: int = 0) -> Iterator[Row]:
        """The entries from a number on to the present head, without holding a connection: who asks may stop anywhere.

        Entries never change, so that those read in several goes fit together.
        """
        with self._store.read() as page:
            head = page.head(dataset)
        while head is not None and start < head.length:
            with self._store.read() as page:
                found = page.some_rows(dataset, start)
            if not found:  # the file was truncated: whoever verifies says so
                return
            yield from (row for row in found if row.sequence < head.length)
            start = found[-1].sequence + 1

    def _dataset(self, dataset: str) -> Dataset:
        if (known := self._clerk.known(dataset)) is not None:
            return known
        with self._store.read() as page:
            return self._clerk.dataset(page, dataset)

    def _reserved(self, dataset: str, sequence: int) -> Reserve:
        with self._store.read() as page:
            return reservation(page, dataset, sequence)


def _line(row: Row) -> Line:
    return Line(row.sequence, row.content().act, None if row.note is None else row.note.values(), row.hash)


def _numbered(**named: object) -> int:
    """The number of an entry. No chain is as long as the largest that a database holds."""
    return min(check.count(**named), _BEYOND)


_BEYOND = 2**62


def _expect_reservation(reservation: object) -> None:
    if not isinstance(reservation, Reservation) or not isinstance(reservation.secret, str | None):
        raise InvalidInput(
            f"what is settled is a reservation, as ledger.reserve returned it; got {short(reservation)}."
        )


def _one(team: str | None, purpose: str | None) -> str:
    named = accounts(team, purpose)
    if len(named) != 1:
        raise InvalidInput("name one team or one purpose: team='...' or purpose='...'.")
    return named[0]
