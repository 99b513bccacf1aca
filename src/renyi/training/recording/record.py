"""The contents of a run's journal: its plan, its releases, how it ended. Every guarantee is computed from this alone."""

from __future__ import annotations

import json
import math
import os
import secrets
from dataclasses import asdict, dataclass, replace
from typing import Any

from renyi import check
from renyi.accountants import Guarantee, guarantee
from renyi.accountants import epsilon as epsilon_of
from renyi.errors import InvalidInput, PrivacyError
from renyi.events import Builder, Event
from renyi.events.serial import to_dict
from renyi.laws.interval import Interval
from renyi.ledger import Entry, Journal, JournalError
from renyi.ledger.journal import BEGINNING, entries
from renyi.training.planning.clip import SLACK, AdaptiveClip, clip_bound
from renyi.training.planning.plan import Plan
from renyi.training.randomness.noise import LAW, grid_of
from renyi.training.randomness.stream import SOURCE
from renyi.training.recording import assumptions
from renyi.training.recording.findings import Leak, Looks

FORMAT, VERSION = "renyi-training-run", 4
"""Version 1 added noise whose low bits can be read, so no guarantee is given for its runs. Version 2 did not say how many units
a look compares. Up to version 3 a run had no id: two runs of one plan wrote the same lines."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What tells one opening of a journal from every other: a random ``id``.

    ``ledger`` names the dataset of a ledger if the opening has made a reservation there, whose secret is the id.
    """

    id: str
    ledger: str | None = None

    @classmethod
    def now(cls) -> Opened:
        """An opening like no other."""
        return cls(secrets.token_hex(16))


@dataclass(frozen=True, slots=True)
class Reserved:
    """A reservation in a ledger, for all planned steps from ``start`` on; ``id`` is that of the opening that made it."""

    id: str
    dataset: str
    start: int


def begun(plan: Plan, *, private: bool, looks: Looks | None, opened: Opened | None = None) -> dict[str, Any]:
    """The first line of a run's journal; journals of version 2 do not state the looks, those of version 3 no opening."""
    return {
        "kind": "run",
        "format": FORMAT,
        "version": VERSION if opened else 3 if looks else 2,
        "plan": plan.to_dict(),
        "plan_hash": plan.hash,
        "private": private,
        "noise": {"law": LAW, "source": SOURCE},
        **({"looks": asdict(looks)} if looks else {}),
        **({"opened": asdict(opened)} if opened else {}),
    }


def resumed(*, private: bool, torn: int, opened: Opened | None = None) -> dict[str, Any]:
    """The first line of a resumed run; up to version 3 without its opening."""
    line = {"kind": "resumed", "private": private, "torn_bytes": torn}
    return {**line, **({"opened": asdict(opened)} if opened else {})}


def stated(*, rows_are_units: bool) -> dict[str, Any]:
    """The line that states what a unit of this run is: one row, or all rows of an owner."""
    return {"kind": "units", "rows_are_units": rows_are_units}


def shared(*, processes: int) -> dict[str, Any]:
    """The line that states how many processes train this opening of the run together."""
    return {"kind": "processes", "count": processes}


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


def leaking(*, release: int, last_clean: int, what: str) -> dict[str, Any]:
    """The line of a leak that a look has found."""
    return {"kind": "leak", "release": release, "last_clean": last_clean, "what": what}


def rebutted(*, leak: int, who: str, why: str) -> dict[str, Any]:
    """The line in which somebody attests that a leak, counted from 1, was none; it changes nothing but what is shown."""
    return {"kind": "rebuttal", "leak": leak, "who": who, "why": why}


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
        self.looks: Looks | None = None
        self.leaks: tuple[Leak, ...] = ()
        self.identified = False
        self.opened: Opened | None = None
        self.reserved: Reserved | None = None
        self.processes = 1

    @property
    def tainted(self) -> bool:
        """Whether something may have been released that carries data without noise."""
        return not all(leak.covered for leak in self.leaks)

    def __repr__(self) -> str:
        if self._plan is None:
            return "Record(empty)"
        plan, seeded = self._plan, "" if self.private else "; NOT PRIVATE: seeded test"
        return (
            f"Record({self.steps} of {plan.steps} planned steps released{', then stopped' if self.stopped else ''}: "
            f"{plan.sampling}, noise multiplier {plan.noise_multiplier:g}, unit {plan.unit!r}, delta {plan.delta:g}; "
            f"{self.lines} lines of journal{seeded}; .guarantee() gives its epsilon)"
        )

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
        if self.tainted:
            return 0
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
        answer = replace(answer, unit=self.plan.unit)
        words = (*self.found(), *stop, *assumptions.of_plan(self.plan), *self.assumed(), *answer.assumptions)
        answer = replace(answer, assumptions=words)
        return flagged(answer, leaking=self.tainted, seeded=not self.private)

    def found(self) -> tuple[str, ...]:
        """The leaks that looks have found, in words."""
        return tuple(text for leak in self.leaks for text in leak.words())

    def assumed(self) -> tuple[str, ...]:
        """What a guarantee assumes of this run beyond its plan: that the journal is whole, for one."""
        declared = (assumptions.ROWS_ARE_UNITS.format(unit=self.plan.unit),) if self.rows_are_units else ()
        looks = (self.looks.words(),) if self.looks else ()
        network = (assumptions.NETWORK.format(processes=self.processes),) if self.processes > 1 else ()
        return (*declared, *looks, *network, assumptions.RECORD.format(lines=self.lines, head=self.head))

    def _add(self, payload: dict[str, Any]) -> None:
        kind = payload["kind"]
        if self._plan is None:
            self._begin(payload)
            return
        if kind == "rebuttal":
            self._rebut(payload)
            return
        if self.stopped:
            raise InvalidInput("the run was stopped in the line before it.")
        match kind:
            case "leak":
                leak = Leak(self.steps + 1, _count(payload, "last_clean"), _text(payload, "what"))
                _expect_same(payload, leaking(release=leak.release, last_clean=leak.last_clean, what=leak.what))
                if leak.last_clean > leak.release:
                    raise InvalidInput(f"no look was taken before release {leak.last_clean} yet.")
                self.leaks = (*self.leaks, leak)
            case "resumed":
                private = _truth(payload, "private")
                opened = _opened(payload) if self.identified or "opened" in payload else None
                _expect_same(payload, resumed(private=private, torn=_count(payload, "torn_bytes"), opened=opened))
                self.private = self.private and private
                self._open(opened)
            case "processes":
                count = _count(payload, "count")
                _expect_same(payload, shared(processes=count))
                self.processes = max(self.processes, count)
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

    def _rebut(self, payload: dict[str, Any]) -> None:
        number, who, why = _count(payload, "leak"), _text(payload, "who"), _text(payload, "why")
        _expect_same(payload, rebutted(leak=number, who=who, why=why))
        if not 1 <= number <= len(self.leaks):
            raise InvalidInput(f"it is about leak {number} of {len(self.leaks)}.")
        leak = self.leaks[number - 1]
        leak = replace(leak, rebuttals=(*leak.rebuttals, (who, why)))
        self.leaks = (*self.leaks[: number - 1], leak, *self.leaks[number:])

    def _begin(self, payload: dict[str, Any]) -> None:
        """Process the first line, which holds the plan."""
        if (payload["kind"], payload["format"]) != ("run", FORMAT):
            raise InvalidInput("a run's journal begins with its plan.")
        version = payload["version"]
        if type(version) is not int or not 2 <= version <= VERSION:
            raise InvalidInput(
                f"it is of version {version!r}, this renyi reads versions 2 to {VERSION}. Runs of version 1 added noise "
                "whose low bits can be read, so no guarantee is given for them."
            )
        plan = Plan.from_dict(payload["plan"])
        if version >= 3:
            said = payload["looks"]
            self.looks = Looks(_count(said, "parameters"), _count(said, "units"))
        opened = _opened(payload) if version >= 4 else None
        _expect_same(payload, begun(plan, private=_truth(payload, "private"), looks=self.looks, opened=opened))
        self._plan, self._hash, self.private = plan, plan.hash, payload["private"]
        self.identified = opened is not None
        self._open(opened)

    def _open(self, opened: Opened | None) -> None:
        self.opened = opened
        if opened is not None and opened.ledger is not None:
            self.reserved = Reserved(opened.id, opened.ledger, self.steps)

    def _bound(self, value: object) -> float:
        """The clip bound of a release: the plan's; for an adaptive one after the first step, any valid bound."""
        clip = self.plan.clip
        if isinstance(clip, AdaptiveClip) and self.steps and isinstance(value, float):
            return clip_bound(clip=value)
        return clip.bound


def _expect_same(payload: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare as JSON text, so that true is not 1 and 1 is not 1.0; equal representations have equal texts."""
    if repr(payload) != repr(wanted) and json.dumps(payload) != json.dumps(wanted):
        wrong = [
            name for name in {**wanted, **payload} if json.dumps(payload.get(name)) != json.dumps(wanted.get(name))
        ]
        raise InvalidInput(f"{', '.join(wrong) or 'the order of its fields'} is not what the plan has there.")


def _opened(payload: dict[str, Any]) -> Opened:
    said = payload["opened"]
    return Opened(_text(said, "id"), None if said["ledger"] is None else _text(said, "ledger"))


def _truth(payload: dict[str, Any], name: str) -> bool:
    value = payload[name]
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is true or false; got {value!r}.")
    return value


def _text(payload: dict[str, Any], name: str) -> str:
    value = payload[name]
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} is a text; got {value!r}.")
    return value


def _count(payload: dict[str, Any], name: str) -> int:
    return check.whole(0, **{name: payload[name]})


def flagged(answer: Guarantee, *, leaking: bool, seeded: bool) -> Guarantee:
    """A guarantee that says at once what else is wrong: a leak leaves no upper end, a public seed no privacy."""
    if leaking:
        answer = replace(answer, answer=Interval(0.0, math.inf), method=f"{answer.method} (LEAK FOUND: no upper end)")
    if seeded:
        method, words = f"{answer.method} (NOT PRIVATE: seeded test)", (assumptions.SEEDED, *answer.assumptions)
        answer = replace(answer, method=method, assumptions=words)
    return answer


def replay(path: str | os.PathLike[str]) -> Record:
    """The record of a journal on disk; its hash chain is verified and its lines are compared with its plan."""
    record = Record()
    for entry in entries(path):
        record.add(entry)
    return record


def rebut(path: str | os.PathLike[str], *, who: str, why: str, leak: int | None = None) -> Record:
    """Attest in the journal of a run that a leak, by default the last that was found, was none.

    Guarantees show it beside the leak. It erases nothing: the upper end stays infinite, and readers judge for themselves.
    """
    record = Record()
    with Journal(path, record.add) as journal:
        record.add(journal.append(rebutting(record, who=who, why=why, leak=leak)))
    return record


def rebutting(record: Record, *, who: str, why: str, leak: int | None) -> dict[str, Any]:
    """The line of a rebuttal, checked before anything is written."""
    number = len(record.leaks) if leak is None else check.whole(1, leak=leak)
    if not 1 <= number <= len(record.leaks):
        raise InvalidInput(f"there is no leak {number} in this journal to rebut; it has {len(record.leaks)}.")
    for name, text in (("who", who), ("why", why)):
        _text({name: text}, name)
    return rebutted(leak=number, who=who, why=why)
