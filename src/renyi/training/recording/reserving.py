"""The reservation of a run in a ledger: its whole plan before the first step, settled when the run has ended.

The key of a reservation follows from the plan and the id of the opening that made it, and its secret is that id: whoever has
the journal can find and settle it, and nobody else. Each opening may be continued once. Of two copies of a journal that both go
on, the second therefore reserves what is left of the plan again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from renyi.ledger import AlreadySettled, LedgerError, Payer, Reservation
from renyi.training.errors import TrainingError
from renyi.training.planning.plan import Plan
from renyi.training.recording.record import Record, Reserved


@dataclass(frozen=True, slots=True)
class Held:
    """A reservation for all planned steps from ``start`` on; ``new`` if this opening of the journal has made it.

    ``opening`` is the id of the present opening, ``since`` how many steps had been released before it.
    """

    payer: Payer
    reservation: Reservation
    start: int
    opening: str
    since: int
    new: bool

    @property
    def dataset(self) -> str | None:
        """The name of the dataset that pays, if the reservation is new: what the journal says of it."""
        return self.payer.dataset if self.new else None

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Around the line that opens the journal: without it nothing is ever drawn, with it anything may be."""
        try:
            yield
        except BaseException:
            if self.new:
                with suppress(LedgerError):  # then it counts as spent, and is listed with its owner
                    self.payer.ledger.void(self.reservation, why="the run did not begin")
            raise
        if self.new:
            self.payer.ledger.draw(self.reservation)

    def settled(self, record: Record) -> bool:
        """Settle the reservation if the run has ended; says whether it has.

        What was not released is given back only if the stop was declared data-independent, and no leak was found. A ledger that
        fails is told of: the reservation then counts as spent until the run is resumed.
        """
        plan, done = record.plan, record.steps
        if done < plan.steps and not record.stopped:
            return False
        early = done < plan.steps and record.data_independent and not record.tainted
        released = plan.events(self.start, done) if early else None
        why = f"{done} of {plan.steps} steps{'; LEAK FOUND, see the journal' if record.tainted else ''}"
        try:
            self.payer.ledger.commit(self.reservation, released, why=why)
            # Only now: whoever opens a copy later finds the reservation settled, and makes one of its own.
            continued = self.payer.ledger.find(_continues(plan, self.opening), dataset=self.payer.dataset) is not None
        except AlreadySettled:
            continued = True
        except LedgerError as error:
            _tell(f"the reservation of this run stays open, and counts as spent: {error}")
            return True
        if continued:
            self._charge_late(plan, done)
        return True

    def _charge_late(self, plan: Plan, done: int) -> None:
        """A copy of the journal went on under the same reservation while this run did: its steps are charged beside it."""
        told = "a copy of this run's journal was continued while the run went on, under the same reservation."
        try:
            self.payer.spend(plan.events(self.since, done), why="released beside a copy of the journal")
        except LedgerError as error:
            _tell(f"{told} {done - self.since} steps were released that the ledger could not be charged for: {error}")
        else:
            _tell(f"{told} The {done - self.since} steps of this one were charged beside it.")


def held(payer: Payer | None, plan: Plan, record: Record, opening: str) -> Held | None:
    """The reservation under which a run goes on: a new one, for a new run; that of an earlier opening of its journal."""
    if payer is None:
        if record.reserved is not None:
            raise TrainingError(
                f"this run has a reservation in a ledger, from the dataset {record.reserved.dataset!r}. Resume it with "
                "ledger=..., so that it can be settled."
            )
        return None
    payer.expect(unit=plan.unit, adjacency=plan.adjacency)
    if not record.lines:
        return _reserved(payer, plan, record, opening)
    if record.reserved is None or record.opened is None:
        raise TrainingError(
            "this run began without a ledger, so that nothing was reserved for it. Resume it without one, and charge its plan "
            "there: ledger.spend(plan.events())."
        )
    if record.reserved.dataset != payer.dataset:
        raise TrainingError(
            f"this run has its reservation in the dataset {record.reserved.dataset!r}, not in {payer.dataset!r}. Resume it "
            f"with Payer(ledger, {record.reserved.dataset!r})."
        )
    try:
        found = _reserved(payer, plan, record, opening, record.reserved)
        continued = payer.ledger.draw(found.reservation, key=_continues(plan, record.opened.id)).replayed
    except AlreadySettled:
        found, continued = None, True
    if continued and record.steps < plan.steps:
        return _reserved(payer, plan, record, opening)
    return found


def key_of(plan: Plan, opening: str) -> str:
    """The key of the reservation that an opening makes. It tells nothing about the id, which is the secret."""
    return _key("run", plan, opening)


def _continues(plan: Plan, opening: str) -> str:
    """The key under which the run that goes on after an opening says so."""
    return _key("continues", plan, opening)


def _key(what: str, plan: Plan, opening: str) -> str:
    return f"{what} {hashlib.sha256(f'{plan.hash} {opening}'.encode()).hexdigest()}"


def _reserved(payer: Payer, plan: Plan, record: Record, opening: str, earlier: Reserved | None = None) -> Held:
    """A new reservation for what is left of the plan, or the one that an earlier opening has made."""
    made = earlier or Reserved(opening, payer.charged.name, record.steps)
    why = f"training run, {plan.steps - made.start} steps of plan {plan.hash[:16]}"
    reservation = payer.reserve(plan.events(made.start), key=key_of(plan, made.id), secret=made.id, why=why)
    return Held(payer, reservation, made.start, opening, record.steps, new=earlier is None)


def _tell(text: str) -> None:
    warnings.warn(text, stacklevel=4)
