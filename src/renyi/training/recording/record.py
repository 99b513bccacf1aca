"""The contents of a run's journal: its plan, its releases, how it ended. Every guarantee is computed from this alone."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

from renyi import check
from renyi.accountants import Guarantee, guarantee
from renyi.accountants import epsilon as epsilon_of
from renyi.errors import InvalidInput, PrivacyError
from renyi.events import Builder, Event
from renyi.events.serial import to_dict
from renyi.ledger import Entry, JournalError
from renyi.ledger.journal import BEGINNING, entries
from renyi.training.planning.clip import SLACK, AdaptiveClip, clip_bound
from renyi.training.planning.plan import Plan
from renyi.training.randomness.noise import LAW, grid_of
from renyi.training.randomness.stream import SOURCE
from renyi.training.recording import assumptions

FORMAT, VERSION = "renyi-training-run", 2
"""Version 1 added noise whose low bits can be read, so no guarantee is given for its runs."""


def begun(plan: Plan, *, private: bool) -> dict[str, Any]:
    """The first line of a run's journal."""
    return {
        "kind": "run",
        "format": FORMAT,
        "version": VERSION,
        "plan": plan.to_dict(),
        "plan_hash": plan.hash,
        "private": private,
        "noise": {"law": LAW, "source": SOURCE},
    }


def resumed(*, private: bool, torn: int) -> dict[str, Any]:
    """The first line of a resumed run."""
    return {"kind": "resumed", "private": private, "torn_bytes": torn}


def stated(*, rows_are_units: bool) -> dict[str, Any]:
    """The line that states what a unit of this run is: one row, or all rows of an owner."""
    return {"kind": "units", "rows_are_units": rows_are_units}


def released(plan: Plan, plan_hash: str, step: int, *, bound: float) -> dict[str, Any]:
    """The line of one release, with everything about to be used; it is written before any noise is drawn."""
    deviation = plan.noise_at(step) * bound * SLACK
    return {
        "kind": "release",
        "step": step,
        "plan_hash": plan_hash,
        "event": to_dict(plan.event(step)),
        "clip": bound,
        "noise_deviation": deviation,
        "grid": grid_of(deviation, bound),
        "adjacency": plan.adjacency.value,
        "unit": plan.unit,
    }


def stopped(*, data_independent: bool) -> dict[str, Any]:
    """The last line of a run that was stopped before the end of its plan."""
    return {"kind": "stopped", "data_independent": data_independent}


class Record:
    """The state of a run, built up from its journal line by line. Each line must be exactly what the plan implies there."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._hash = ""
        self._events = Builder()
        self.lines = 0
        self.head = BEGINNING
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
        """Everything that was released, or may have been, because a line is written before its release."""
        return self._events.build()

    def add(self, entry: Entry) -> None:
        """Process the next line."""
        try:
            if entry.sequence != self.lines:
                raise InvalidInput(f"line {self.lines + 1} was expected")
            self._add(entry.payload)
        except (KeyError, TypeError, AttributeError, OverflowError, PrivacyError) as error:
            reason = error if isinstance(error, PrivacyError) else repr(error)
            raise JournalError(
                f"line {entry.sequence + 1} is not one of a training run's journal at this place: {str(reason)[:300]} "
                f"It says {str(entry.payload)[:80]}."
            ) from None
        self.lines, self.head = self.lines + 1, entry.hash

    def guarantee(self) -> Guarantee:
        """The guarantee of the run.

        It covers all planned steps, also those not done, unless the run was stopped and the stop declared data-independent.
        """
        done, planned = self.steps, self.plan.steps
        # A stop may have depended on what was released; then only the cost of the whole plan is a guarantee.
        if done == planned:
            return self._stated(self.event, ())
        if self.stopped and self.data_independent:
            return self._stated(self.event, (assumptions.DECLARED.format(done=done, planned=planned),))
        return self._stated(
            self.event + self.plan.events(done), (assumptions.PLANNED.format(done=done, planned=planned),)
        )

    def spent(self) -> Guarantee:
        """The cost of what has been released so far, for progress bars and budgets."""
        note = assumptions.AT_A_FIXED_TIME.format(done=self.steps, planned=self.plan.steps)
        return self._stated(self.event, () if self.steps == self.plan.steps else (note,))

    def remaining(self, epsilon: float) -> int:
        """How many further planned steps keep everything released within ``epsilon`` at the plan's delta."""
        plan, done, event = self.plan, self.steps, self.event

        def fits(further: int) -> bool:
            total = event + plan.events(done, done + further)
            return epsilon_of(total, delta=plan.delta, adjacency=plan.adjacency) <= epsilon

        # Epsilon rises with the number of steps, so bisection finds the last one that fits.
        good, bad = 0, plan.steps - done + 1
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if fits(middle) else (good, middle)
        return good

    def _stated(self, event: Event, stop: tuple[str, ...]) -> Guarantee:
        """The guarantee of an event with the assumptions of this run; it says so if the keys were seeded."""
        answer = guarantee(event, delta=self.plan.delta, adjacency=self.plan.adjacency)
        record = assumptions.RECORD.format(lines=self.lines, head=self.head)
        declared = (assumptions.ROWS_ARE_UNITS.format(unit=self.plan.unit),) if self.rows_are_units else ()
        words = (*stop, *assumptions.of_plan(self.plan), *declared, record, *answer.assumptions)
        if self.private:
            return replace(answer, assumptions=words)
        return replace(
            answer, method=f"{answer.method} (NOT PRIVATE: seeded test)", assumptions=(assumptions.SEEDED, *words)
        )

    def _add(self, payload: dict[str, Any]) -> None:
        kind = payload["kind"]
        if self._plan is None:
            self._begin(payload)
            return
        if self.stopped:
            raise InvalidInput("the run was stopped in the line before it.")
        match kind:
            case "resumed":
                private = _truth(payload, "private")
                _expect_same(payload, resumed(private=private, torn=_count(payload, "torn_bytes")))
                self.private = self.private and private
            case "units" if self.rows_are_units is None and self._plan.unit != "example":
                self.rows_are_units = _truth(payload, "rows_are_units")
                _expect_same(payload, stated(rows_are_units=self.rows_are_units))
            case "release" if self.steps < self._plan.steps:
                bound = self._bound(payload["clip"])
                _expect_same(payload, released(self._plan, self._hash, self.steps, bound=bound))
                self._events.add(self._plan.event(self.steps))
                self.steps, self.bound = self.steps + 1, bound
            case "stopped" if self.steps < self._plan.steps:
                self.data_independent = _truth(payload, "data_independent")
                _expect_same(payload, stopped(data_independent=self.data_independent))
                self.stopped = True
            case _:
                raise InvalidInput(f"a line of kind {kind!r} is out of place after {self.steps} releases.")

    def _begin(self, payload: dict[str, Any]) -> None:
        """Process the first line, which holds the plan."""
        if (payload["kind"], payload["format"]) != ("run", FORMAT):
            raise InvalidInput("a run's journal begins with its plan.")
        if payload["version"] != VERSION:
            raise InvalidInput(
                f"it is of version {payload['version']!r}, this renyi reads version {VERSION}. Runs of version 1 added noise "
                "whose low bits can be read, so no guarantee is given for them."
            )
        plan = Plan.from_dict(payload["plan"])
        _expect_same(payload, begun(plan, private=_truth(payload, "private")))
        self._plan, self._hash, self.private = plan, plan.hash, payload["private"]

    def _bound(self, value: object) -> float:
        """The clip bound of a release: the plan's; for an adaptive one after the first step, any valid bound."""
        clip = self.plan.clip
        if isinstance(clip, AdaptiveClip) and self.steps and isinstance(value, float):
            return clip_bound(clip=value)
        return clip.bound


def _expect_same(payload: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare as JSON text, so that true is not 1 and 1 is not 1.0."""
    if json.dumps(payload) != json.dumps(wanted):
        wrong = [
            name for name in {**wanted, **payload} if json.dumps(payload.get(name)) != json.dumps(wanted.get(name))
        ]
        raise InvalidInput(f"{', '.join(wrong) or 'the order of its fields'} is not what the plan has there.")


def _truth(payload: dict[str, Any], name: str) -> bool:
    value = payload[name]
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is true or false; got {value!r}.")
    return value


def _count(payload: dict[str, Any], name: str) -> int:
    return check.whole(0, **{name: payload[name]})


def replay(path: str | os.PathLike[str]) -> Record:
    """The record of a journal on disk; its hash chain is verified and its lines are compared with its plan."""
    record = Record()
    for entry in entries(path):
        record.add(entry)
    return record
