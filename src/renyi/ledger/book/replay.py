"""A chain read from its beginning: every entry is held against what the entries before it imply."""

from __future__ import annotations

from renyi.accountants import epsilon
from renyi.errors import InvalidInput, PrivacyError
from renyi.events.event import Event
from renyi.ledger.book import acts
from renyi.ledger.book.acts import Act, Charge, Commit, Draw, Open, Reserve, Spend, Void
from renyi.ledger.book.balance import Balance, digest
from renyi.ledger.book.note import Note
from renyi.ledger.book.row import Head, Row
from renyi.ledger.errors import TamperedLedger
from renyi.ledger.filter import Filter
from renyi.ledger.journal import BEGINNING
from renyi.ledger.pricing.price import Price
from renyi.mechanisms import ApproximateDP

_ROUNDING = 10**6
"""An entry may have been charged less than its event costs today by one part in so many: releases round differently."""


class Replay:
    """The state of one chain after the rows that were followed so far."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        self.length = 0
        self.hash = BEGINNING
        self.notes = 0
        self.unsettled: dict[int, tuple[Reserve, bool]] = {}
        self._balance: Balance | None = None
        self._text = ""

    def follow(self, row: Row) -> Act:
        """Take the next row, or say what is wrong with it."""
        if row.sequence != self.length:
            raise self._wrong(f"entry {self.length} is missing: the next one has the number {row.sequence}.")
        row.expect_chained(self.hash)
        try:
            content = row.content()
            balance = self._after(content.act)
        except TamperedLedger:
            raise
        except PrivacyError as error:
            raise self._wrong(f"entry {row.sequence} could not have been written: {error}") from None
        if (row.key, row.settles) != (content.key, acts.settles(content.act)):
            raise self._wrong(f"the key or the reservation beside entry {row.sequence} was changed afterwards.")
        if row.note is not None and not _is_note(row.note, content.note):
            raise self._wrong(f"the note of entry {row.sequence} was changed afterwards. It was not erased.")
        text = balance.text()
        if digest(text) != content.balance:
            raise self._wrong(f"entry {row.sequence} states another balance than follows from the entries up to it.")
        self._balance, self._text = balance, text
        self._settle(row.sequence, content.act)
        self.length, self.hash, self.notes = self.length + 1, row.hash, self.notes + (row.note is not None)
        return content.act

    @property
    def balance(self) -> Balance:
        """The balance after the rows followed so far, of which there is at least one."""
        assert self._balance is not None
        return self._balance

    @property
    def head(self) -> Head:
        """The head that belongs to the rows followed so far."""
        return Head(self.length, self.hash, self._text)

    def _after(self, act: Act) -> Balance:
        if isinstance(act, Open):
            if self._balance is not None or act.dataset.name != self.dataset:
                raise self._wrong(f"entry {self.length} opens a dataset of its own.")
            return Balance.of(act.dataset)
        if self._balance is None:
            raise self._wrong("its first entry does not open it.")
        for charge in _charges(act):
            if not _is_paid(charge, self._balance.dataset.filter):
                raise self._wrong(f"entry {self.length} was charged less than its event costs.")
        held, drawing = (None, False)
        if isinstance(act, Draw | Commit | Void):
            held, drawing = self.unsettled.get(act.reserved, (None, False))
        return self._balance.after(act, held, drawing=drawing)

    def _settle(self, sequence: int, act: Act) -> None:
        match act:
            case Reserve():
                self.unsettled[sequence] = (act, act.drawing)
            case Draw(reserved):
                self.unsettled[reserved] = (self.unsettled[reserved][0], True)
            case Commit(reserved) | Void(reserved):
                del self.unsettled[reserved]

    def _wrong(self, what: str) -> TamperedLedger:
        return TamperedLedger(f"the ledger of the dataset {self.dataset!r} was tampered with: {what}")


def price_of(budget: Filter, event: Event, booked: tuple[float, float] | None) -> Price:
    """What a charge costs: its event, or the (epsilon, delta) at which it was booked whole.

    An (epsilon, delta) guarantee is priced by the curve of its pure part, which no order puts above epsilon: the budget
    loses at most what basic composition would take.
    """
    return budget.price(event if booked is None else ApproximateDP(*booked, adjacency=budget.adjacency))


def _is_note(note: Note, stated: str) -> bool:
    try:
        return note.hash == stated and bool(note.values())
    except InvalidInput:
        return False


def _charges(act: Act) -> tuple[Charge, ...]:
    match act:
        case Spend(charge) | Reserve(charge):
            return (charge,)
        case Commit(released=Charge() as released):
            return (released,)
    return ()


def _is_paid(charge: Charge, budget: Filter) -> bool:
    price = price_of(budget, charge.event, charge.booked)
    price.expect(charge.price)
    recorded, today = ((*each.amounts, each.failure) for each in (charge.price, price))
    if not all(now * (_ROUNDING - 1) <= then * _ROUNDING for then, now in zip(recorded, today, strict=True)):
        return False
    if charge.booked is None:
        return True
    stated, delta = charge.booked
    return epsilon(charge.event, delta=delta, adjacency=budget.adjacency) * (_ROUNDING - 1) <= stated * _ROUNDING
