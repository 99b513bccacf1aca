"""What the contract tests run over: every registered mechanism and sampling, and two awkward mechanisms of our own."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from renyi import (
    Adjacency,
    Classical,
    Composed,
    Event,
    Exact,
    Gaussian,
    Laplace,
    Mechanism,
    RandomAllocation,
    RandomizedResponse,
    RandomPicks,
    Rdp,
    Relation,
    Repeated,
    Sampled,
    UnsupportedError,
)
from renyi.composing.event_laws import renyi_curve
from renyi.events.mechanism import MECHANISMS
from renyi.events.sampling import SAMPLINGS, Sampling
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import FiniteLossPair

REGISTERED = tuple(MECHANISMS.get(name) for name in MECHANISMS.names())


@dataclass(frozen=True, slots=True)
class Lopsided(Mechanism):
    """Three outcomes whose pair is not symmetric: removing and adding cost differently, sampled or not."""

    name = "test_lopsided"

    tilt: float

    @classmethod
    def examples(cls):
        return cls(0.3), cls(0.7)

    def pair(self, relation: Relation) -> FiniteLossPair:
        p = np.array([0.5, 0.4, 0.1])
        q = np.array([0.5 - 0.4 * self.tilt, 0.4 + 0.35 * self.tilt, 0.1 + 0.05 * self.tilt])
        pair = FiniteLossPair(tuple(np.log(p / q)), tuple(np.log(p)), tuple(np.log(q)))
        return pair if relation.record_first or relation is Relation.REPLACE else pair.reversed()


@dataclass(frozen=True, slots=True)
class CurveOnly(Mechanism):
    """Laplace noise of which only the Renyi curve is told, so that sampling has to use the general bound."""

    name = "test_curve_only"

    noise_multiplier: float

    @classmethod
    def examples(cls):
        return (cls(1.0),)

    def renyi(self, relation: Relation) -> RenyiCurve:
        return Laplace(self.noise_multiplier).renyi(relation)


ACCOUNTANTS = (Rdp(), Exact())
SLACK = {Rdp(): 1e-9, Exact(): 5e-4, Classical(): 1e-3}
"""How far apart two upper ends of an accountant may be that stand for the same truth, relatively."""
MECHANISMS_USED = tuple(m for cls in (*REGISTERED, Lopsided, CurveOnly) for m in cls.examples())
SAMPLINGS_USED = tuple(s for name in SAMPLINGS.names() for s in SAMPLINGS.get(name).examples())
FULL = bool(os.environ.get("RENYI_FULL"))
"""Whether the long forms of tests run: ``make full``."""


def _is_asked(mechanism: Mechanism, sampling: Sampling) -> bool:
    """Whether the tests ask about a combination: the law of an epoch takes long, so few mechanisms stand for all of them."""
    dear = isinstance(sampling, (RandomAllocation, RandomPicks))
    return FULL or not dear or isinstance(mechanism, (Gaussian, RandomizedResponse)) or mechanism == Laplace(2.0)


EVENTS: tuple[Event, ...] = (
    *MECHANISMS_USED,
    *(m.on(s) for m in MECHANISMS_USED for s in SAMPLINGS_USED if _is_asked(m, s)),
    *((m + Laplace(3.0)).on(SAMPLINGS_USED[0]) for m in MECHANISMS_USED[:2]),
)


FRESH = "RENYI_SEED" in os.environ
"""Whether this run has a seed of its own: ``scripts/test.py --fresh`` and ``make full`` draw one, and print it."""

SEED = int(os.environ.get("RENYI_SEED", "20261118"))
"""Of everything random: fixed, so that the test command says the same every time."""


def samplings_for(mechanism: Mechanism) -> tuple[Sampling, ...]:
    """All samplings in the long form; else one of them, in turn, so that each meets its share of the mechanisms."""
    asked = tuple(sampling for sampling in SAMPLINGS_USED if _is_asked(mechanism, sampling))
    turn = MECHANISMS_USED.index(mechanism) % len(asked)
    return asked if FULL else asked[turn : turn + 1]


COVERING: tuple[Event, ...] = (
    *MECHANISMS_USED,
    *(m.on(s) for m in MECHANISMS_USED for s in samplings_for(m)),
    *EVENTS[-2:],
)
"""Every mechanism by itself and with the samplings that it meets, and two releases on one draw."""

FIRST_EXAMPLES = MECHANISMS_USED if FULL else tuple({type(m): m for m in reversed(MECHANISMS_USED)}.values())
"""One example of every mechanism; all of them in the long form."""

Value = TypeVar("Value")


def some(values: Sequence[Value], one_in: int) -> list[Value]:
    """Every so many of the values, and the last; all of them in the long form."""
    return list(values) if FULL else [*values[:-1:one_in], values[-1]]


def adjacency_of(event: Event) -> Adjacency | None:
    """The first notion of neighbours for which an event has a number; None where there is none."""
    for adjacency in Adjacency:
        try:
            for relation in adjacency.relations:
                renyi_curve(event.canonical(), relation)
        except UnsupportedError:
            continue
        return adjacency
    return None


def label(value: object) -> str:
    """A short name without addresses, the same in every worker of the tests."""
    return (
        re.sub(r"<function (\w+) at 0x\w+>", r"\1", repr(value))
        .replace("noise_multiplier=", "")
        .replace(", adjacency=Adjacency.ADD_OR_REMOVE", "")
    )


def one_ulp_apart(event: Event, count: int) -> tuple[Event, ...]:
    """Nearly equal events: their first float differs in the last digits, so that the canonical form cannot merge them."""
    return tuple(_nudged(event, ulps) for ulps in range(count))


def _nudged(event: Event, ulps: int) -> Event:
    match event:
        case Sampled(inner, sampling) if any(
            isinstance(getattr(sampling, f.name), float) for f in dataclasses.fields(sampling)
        ):
            return Sampled(inner, _nudged_value(sampling, ulps))
        case Sampled(inner, sampling):
            return Sampled(_nudged(inner, ulps), sampling)
        case Composed(parts):
            return Composed((_nudged(parts[0], ulps), *parts[1:]))
        case Repeated(inner, count):
            return Repeated(_nudged(inner, ulps), count)
    return _nudged_value(event, ulps)


def _nudged_value(value, ulps: int):
    """The same value with its first number, in a tuple perhaps, moved by so many units in the last place."""
    for field in dataclasses.fields(value):
        nudged = _moved(getattr(value, field.name), ulps)
        if nudged is not None:
            return dataclasses.replace(value, **{field.name: nudged})
    raise LookupError(f"{value} holds no number")


def _moved(item, ulps: int):
    if isinstance(item, float):
        for _ in range(ulps):
            item = math.nextafter(item, math.inf)
        return item
    if isinstance(item, tuple) and item:
        first = _moved(item[0], ulps)
        return None if first is None else (first, *item[1:])
    return None
