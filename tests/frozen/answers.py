"""Frozen answers: events, questions, and the intervals that each accountant gave for each relation.

An event is kept as the JSON that the library writes. A mechanism that JSON cannot hold, because it is a function or a class of
the tests, is kept by its name.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from renyi import Adjacency, Composed, Event, Exact, LossGrid, Mechanism, NotSerialisable, PrivacyError, Rdp, Repeated
from renyi.accountants.best import Best
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.events.nodes import Sampled
from renyi.events.serial import from_dict, to_dict
from renyi.laws.relation import Relation
from tests import examples
from tests.soundness import exact_campaign, random_events
from tests.truth import cases

FILE = Path(__file__).parent / "answers.json.gz"
SEED, POINTS = 20261121, 3000
ACCOUNTANTS = {"default": Best(), "exact": Exact(), "rdp": Rdp(), "grid": LossGrid()}
DIGITS = 13
"""Of a frozen number: more than are compared, fewer than a float has, which do not compress."""

NAMED = {
    examples.label(mechanism): mechanism
    for mechanism in (*examples.MECHANISMS_USED, *random_events.CURVES, *random_events.DENSITIES)
}

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """One question with its answers; ``answers[relation][accountant]`` is None where the accountant refused."""

    event: Event
    relations: tuple[Relation, ...]
    delta: float | None
    epsilon: float | None
    truth: dict[str, str] = dataclasses.field(default_factory=dict)
    """The true epsilon per relation, where it is known."""
    answers: dict[str, dict[str, Ends | None]] = dataclasses.field(default_factory=dict)

    def asked(self, name: str, relation: Relation) -> Ends | None:
        """What an accountant of today says."""
        accountant, event = ACCOUNTANTS[name], self.event.canonical()
        try:
            if self.delta is not None:
                ends = accountant.answer(event, EpsilonAt(self.delta), (relation,)).interval
            else:
                assert self.epsilon is not None
                ends = accountant.answer(event, DeltaAt(self.epsilon), (relation,)).interval
        except PrivacyError:
            return None
        return ends.lower, ends.upper

    def all_asked(self) -> dict[str, dict[str, Ends | None]]:
        """What all of them say of every relation."""
        return {
            relation.value: {name: self.asked(name, relation) for name in ACCOUNTANTS} for relation in self.relations
        }

    def __str__(self) -> str:
        given = f"delta={self.delta!r}" if self.delta is not None else f"epsilon={self.epsilon!r}"
        return f"{examples.label(self.event)}, {given}"


def questions() -> Iterator[Point]:
    """What is frozen: random points of the campaign's domain, all truths, and an example of every combination."""
    for number in range(POINTS):
        drawn = exact_campaign.point(SEED, number)
        yield Point(random_events.event_of(drawn.terms), drawn.relations, drawn.delta, drawn.epsilon)
    data = json.loads((Path(cases.__file__).parent / "composition.json").read_text(encoding="utf-8"))
    for case, described in zip(cases.cases(), data["cases"], strict=True):
        truth = described["epsilons"]
        yield Point(case.event, tuple(map(Relation, truth)), case.delta, None, truth)
    for event in examples.EVENTS:
        adjacency = examples.adjacency_of(event)
        if adjacency is not None:
            yield Point(event * 100, adjacency.relations, 1e-6, None)


def encoded(event: Event) -> dict[str, Any]:
    """The library's own JSON, with names in the place of what it cannot hold."""
    match event:
        case Mechanism() if event.name.startswith("test_"):
            return _named(event)
        case Mechanism():
            try:
                return to_dict(event)
            except NotSerialisable:
                return _named(event)
        case Sampled(inner, _):
            return {**to_dict(Sampled(_PLACEHOLDER, event.sampling)), "event": encoded(inner)}
        case Repeated(inner, count):
            return {"kind": "repeated", "count": count, "event": encoded(inner)}
        case Composed(parts):
            return {"kind": "composed", "events": [encoded(part) for part in parts]}
    return to_dict(event)


_PLACEHOLDER = examples.Laplace(1.0)


def _named(mechanism: Mechanism) -> dict[str, Any]:
    adjacency = getattr(mechanism, "adjacency", Adjacency.ADD_OR_REMOVE)
    usual = (
        dataclasses.replace(mechanism, adjacency=Adjacency.ADD_OR_REMOVE)
        if hasattr(mechanism, "adjacency")
        else mechanism
    )
    name = examples.label(usual)
    assert NAMED[name] == usual
    return {"kind": "named", "name": name, "adjacency": adjacency.value}


def decoded(document: dict[str, Any]) -> Event:
    """The event that was encoded."""
    match document["kind"]:
        case "named":
            mechanism, adjacency = NAMED[document["name"]], Adjacency(document["adjacency"])
            same = getattr(mechanism, "adjacency", adjacency) is adjacency
            return mechanism if same else dataclasses.replace(mechanism, adjacency=adjacency)
        case "sampled":
            sampled = from_dict({**document, "event": to_dict(_PLACEHOLDER)})
            assert isinstance(sampled, Sampled)
            return Sampled(decoded(document["event"]), sampled.sampling)
        case "repeated":
            return Repeated(decoded(document["event"]), document["count"])
        case "composed":
            return Composed(tuple(decoded(part) for part in document["events"]))
    return from_dict(document)


def to_row(point: Point) -> dict[str, Any]:
    """A point as JSON values."""
    return {
        "event": encoded(point.event),
        "delta": point.delta,
        "epsilon": point.epsilon,
        "truth": point.truth,
        "answers": {
            relation: {name: None if ends is None else [_short(end) for end in ends] for name, ends in found.items()}
            for relation, found in point.answers.items()
        },
    }


def from_row(row: dict[str, Any]) -> Point:
    """The point of a row."""
    answers = {
        relation: {name: None if ends is None else (ends[0], ends[1]) for name, ends in found.items()}
        for relation, found in row["answers"].items()
    }
    relations = tuple(map(Relation, answers))
    return Point(decoded(row["event"]), relations, row["delta"], row["epsilon"], row["truth"], answers)


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def frozen() -> list[Point]:
    """All points of the file."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return [from_row(row) for row in json.load(file)["points"]]


def judged(point: Point, now: dict[str, dict[str, Ends | None]]) -> Iterator[tuple[str, float]]:
    """What is worse than it was, in words, and by which share; ``inf`` where it is wrong."""
    for relation, then in point.answers.items():
        for name, old in then.items():
            new = now[relation][name]
            if old is None:
                continue
            told = f"{name}, {relation}: {new} was {old}"
            if new is None:
                yield f"refused now: {told}", math.inf
                continue
            if not (new[0] <= old[1] * _ROUNDED and old[0] <= new[1] * _ROUNDED):
                yield f"apart: {told}", math.inf
            if relation in point.truth and not Decimal(new[0]) <= Decimal(point.truth[relation]) <= Decimal(new[1]):
                yield f"without the truth {point.truth[relation]}: {told}", math.inf
            share = _CLOSE if old[1] - old[0] <= _NARROW * old[1] else _LOOSE
            most = max(old[1] * (1.0 + share), old[1] + _SMALL)
            least = min(old[0] * (1.0 - _LOOSE), old[0] - _SMALL)
            if new[1] > most:
                yield f"upper end: {told}", (new[1] - old[1]) / max(old[1], _FAINT)
            if new[0] < least and old[0] > _FAINT:
                yield f"lower end: {told}", (old[0] - new[0]) / old[0]


_ROUNDED = 1.0 + 1e-11
_NARROW, _CLOSE, _LOOSE = 1e-9, 1e-9, 1e-4
"""An interval that was narrower than the first, relatively, may widen by the second, else by the third."""

_SMALL = 1e-6
"""The smallest difference of an epsilon or a delta that counts."""

_FAINT = 1e-290
"""A probability below which only the upper end means something: floats end at 1e-308, and lower ends before."""
