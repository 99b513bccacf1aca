"""What a run's journal says: which plan, which releases, how it ended. Every guarantee is a function of this alone."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from renyi.accountants import Guarantee, guarantee
from renyi.accountants import epsilon as epsilon_of
from renyi.errors import InvalidInput
from renyi.events import Builder, Event
from renyi.events.serial import from_dict, to_dict
from renyi.ledger import JournalError, read
from renyi.training import assumptions
from renyi.training.plan import Plan

FORMAT = "renyi-training-run"


def begun(plan: Plan, *, private: bool) -> dict[str, Any]:
    """The first line of a run's journal."""
    return {
        "kind": "run",
        "format": FORMAT,
        "version": 1,
        "plan": plan.to_dict(),
        "plan_hash": plan.hash,
        "private": private,
    }


def resumed(*, private: bool, torn: int) -> dict[str, Any]:
    """The line that a resumed run begins with."""
    return {"kind": "resumed", "private": private, "torn_bytes": torn}


def stated(*, rows_are_units: bool) -> dict[str, Any]:
    """The line that says what a unit of this run is: one row, or all rows of an owner."""
    return {"kind": "units", "rows_are_units": rows_are_units}


def released(plan: Plan, plan_hash: str, step: int, *, bound: float, deviation: float, grid: float) -> dict[str, Any]:
    """The line of one release: what is about to be used, written before any noise is drawn."""
    return {
        "kind": "release",
        "step": step,
        "plan_hash": plan_hash,
        "event": to_dict(plan.event(step)),
        "clip": bound,
        "noise_deviation": deviation,
        "grid": grid,
        "adjacency": plan.adjacency.value,
        "unit": plan.unit,
    }


def stopped(*, data_independent: bool) -> dict[str, Any]:
    """The last line of a run that was ended before its plan was."""
    return {"kind": "stopped", "data_independent": data_independent}


class Record:
    """The journal of a run, folded line by line."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._hash = ""
        self._events = Builder()
        self._known: dict[str, Event] = {}
        self.steps = 0
        self.private = True
        self.stopped = False
        self.data_independent = False
        self.bound: float | None = None
        self.rows_are_units: bool | None = None

    @property
    def plan(self) -> Plan:
        """The plan that the journal begins with."""
        if self._plan is None:
            raise JournalError("this journal does not begin with a training run's plan: it is empty, or not a run's.")
        return self._plan

    @property
    def event(self) -> Event:
        """Everything that was released, or may have been: a line is written before its release is made."""
        return self._events.build()

    def add(self, payload: dict[str, Any]) -> None:
        """Take in one more line."""
        try:
            self._add(payload)
        except (KeyError, TypeError, AttributeError, InvalidInput) as error:
            raise JournalError(
                f"this line is not one of a training run's journal: {error!r}; it says {str(payload)[:80]}."
            ) from None

    def guarantee(self) -> Guarantee:
        """What can be promised.

        Of all planned steps, unless they are done or the stop was declared data-independent.
        """
        done, planned = self.steps, self.plan.steps
        if done == planned:
            return self._stated(self.event, ())
        if self.stopped and self.data_independent:
            return self._stated(self.event, (assumptions.DECLARED.format(done=done, planned=planned),))
        return self._stated(
            self.event + self.plan.events(done), (assumptions.PLANNED.format(done=done, planned=planned),)
        )

    def spent(self) -> Guarantee:
        """The cost of what has been released so far, for progress and budgets."""
        note = assumptions.AT_A_FIXED_TIME.format(done=self.steps, planned=self.plan.steps)
        return self._stated(self.event, () if self.steps == self.plan.steps else (note,))

    def remaining(self, epsilon: float) -> int:
        """How many further planned steps keep everything released within ``epsilon`` at the plan's delta."""
        plan, done, event = self.plan, self.steps, self.event

        def fits(further: int) -> bool:
            total = event + plan.events(done, done + further)
            return epsilon_of(total, delta=plan.delta, adjacency=plan.adjacency) <= epsilon

        good, bad = 0, plan.steps - done + 1
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if fits(middle) else (good, middle)
        return good

    def _stated(self, event: Event, stop: tuple[str, ...]) -> Guarantee:
        answer = guarantee(event, delta=self.plan.delta, adjacency=self.plan.adjacency)
        words = (*stop, *assumptions.of_plan(self.plan), *answer.assumptions)
        if self.private:
            return replace(answer, assumptions=words)
        return replace(
            answer, method=f"{answer.method} (NOT PRIVATE: seeded test)", assumptions=(assumptions.SEEDED, *words)
        )

    def _add(self, payload: dict[str, Any]) -> None:
        match payload["kind"]:
            case "run" if self._plan is None:
                self._plan, self._hash = Plan.from_dict(payload["plan"]), payload["plan_hash"]
                self.private = bool(payload["private"])
            case "resumed":
                self.private = self.private and bool(payload["private"])
            case "units" if self.rows_are_units is None:
                self.rows_are_units = bool(payload["rows_are_units"])
            case "release" if (
                self._plan is not None and payload["step"] == self.steps and payload["plan_hash"] == self._hash
            ):
                self._events.add(self._event(payload["event"]))
                self.steps += 1
                self.bound = payload["clip"]
            case "stopped":
                self.stopped, self.data_independent = True, bool(payload["data_independent"])
            case kind:
                raise InvalidInput(f"a line of kind {kind!r} is out of place after {self.steps} releases")

    def _event(self, document: dict[str, Any]) -> Event:
        text = repr(document)
        if text not in self._known:
            self._known[text] = from_dict(document)
        return self._known[text]


def replay(path: str | os.PathLike[str]) -> Record:
    """The record that a journal on disk holds: its chain is verified, its lines are folded."""
    record = Record()
    for entry in read(path):
        record.add(entry.payload)
    return record
