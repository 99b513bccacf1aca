"""The accountant of the textbooks: every release is its (epsilon, delta), and a composition theorem does the rest.

Each release may spend a part of delta on a smaller epsilon of its own, so the total is minimised over how delta is divided
between the releases and their composition (division.py). Every division is a valid answer: an optimiser's last digit never
matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.classical.division import Asked, DeltaAsked, EpsilonAsked, Free, divided
from renyi.accountants.classical.level_composition import (
    Bound,
    Levels,
    attained_delta,
    attained_epsilon,
    composed_delta,
    composed_epsilon,
)
from renyi.accountants.classical.release import Release, release
from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import atoms
from renyi.laws.interval import Interval
from renyi.laws.relation import Relation
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import allowance

METHOD = "(epsilon, delta) guarantees"

WORK = 2e8
"""Numbers that a question may compute: at 70 to 150 million a second, as measured, up to three seconds of them."""

_WORK_BELOW = 4e7
"""The same where another accountant has answered already."""

_RUNG = 0.25  # of the logarithm of delta
_NEARLY_ONE = 1.0 - 1e-12
_SURELY = 1.01  # times an epsilon: two bounds by theorems of their own are not ordered to the last digit
_MOST_TRIES = 12
_FAINTEST = 1e-300  # a delta below which none is looked for
_CLOSER = 0.998  # times a delta: what is gained by less is not looked for


@dataclass(frozen=True, slots=True)
class Classical(Accountant):
    """Composition of (epsilon, delta) guarantees: basic, advanced and optimal, whichever is smallest.

    A release is known by its privacy profile alone (exactly, where it has a dominating pair), a Poisson sample by Zhu & Wang
    (2019), PMLR 97, Lemma 4; then Kairouz, Oh & Viswanath (2015), arXiv:1311.0776v4, for equal levels, and Theorem 3.5 there or
    Murtagh & Vadhan (2016), arXiv:1507.03113v3, for unlike ones. The lower end is 0, but for randomized response and for pure
    and approximate DP as a class, which are as bad as their levels allow.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _answer_epsilon(event, delta, relations)

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _answer_delta(event, epsilon, relations)


Parts = Sequence[tuple[Release, int]]


def _answer_epsilon(event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
    with allowance(WORK):
        return _worst(relations, lambda relation: _epsilon_of(event, delta, relation))


def _answer_delta(event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
    with allowance(WORK):
        return _worst(relations, lambda relation: _delta_of(event, epsilon, relation))


@lru_cache(maxsize=128)
def _epsilon_of(event: Event, delta: float, relation: Relation, zooms: int = 2) -> Bound:
    with np.errstate(all="ignore"):
        return _epsilon(_parts(event, relation), delta, zooms)


@lru_cache(maxsize=128)
def _delta_of(event: Event, epsilon: float, relation: Relation) -> Bound:
    with np.errstate(all="ignore"):
        return _smaller(_rough_delta_of(event, epsilon, relation), _parts(event, relation), epsilon)


@lru_cache(maxsize=128)
def _rough_delta_of(event: Event, epsilon: float, relation: Relation) -> Bound:
    with np.errstate(all="ignore"):
        return _delta(_parts(event, relation), epsilon)


def epsilon_below(bound: float, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer | None:
    """The answer, if there is one and it is below ``bound``."""
    try:
        with allowance(_WORK_BELOW):
            if _surely_above(bound, event, delta, relations):
                return None
            return _below(bound, _answer_epsilon(event, delta, relations))
    except UnsupportedError:
        return None


def delta_below(bound: float, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer | None:
    """The same for delta."""
    try:
        with allowance(_WORK_BELOW):
            if _surely_above(epsilon, event, min(bound, _NEARLY_ONE), relations):
                return None
            if any(_stays_above(bound, event, epsilon, relation) for relation in relations):
                return None
            return _below(bound, _answer_delta(event, epsilon, relations))
    except UnsupportedError:
        return None


def _stays_above(bound: float, event: Event, epsilon: float, relation: Relation) -> bool:
    """Whether the search for a smaller delta, which stays within ``epsilon``, would end before ``bound``."""
    relation = relation if relation.record_first else relation.opposite
    rough = _rough_delta_of(event, epsilon, relation)
    if rough.interval.upper < bound:
        return False
    if bound <= _FAINTEST or not _is_rough(rough, _parts(event, relation)):
        return True
    return _epsilon_of(event, min(bound, _NEARLY_ONE), relation).interval.upper > _SURELY * epsilon


def _surely_above(epsilon: float, event: Event, delta: float, relations: tuple[Relation, ...]) -> bool:
    """Whether every division of delta costs more: even one that lets each release, and the composition, spend all of it."""
    return any(_least_epsilon_of(event, delta, relation) > _SURELY * epsilon for relation in relations)


@lru_cache(maxsize=128)
def _least_epsilon_of(event: Event, delta: float, relation: Relation) -> float:
    if not 0.0 < delta < 1.0:
        return 0.0
    with np.errstate(all="ignore"):
        fixed, free = _split(_parts(event, relation if relation.record_first else relation.opposite))
        spends = [(one.release.epsilon(EpsilonAsked(delta).range(one.count)[1]), one.count) for one in free]
        return composed_epsilon([*fixed.lowest, *spends], delta).interval.upper


def _below(bound: float, answer: Answer) -> Answer | None:
    return answer if answer.interval.upper < bound else None


def is_optimal(event: Event, relations: tuple[Relation, ...]) -> bool:
    """Whether the answer is the truth but for rounding: one level, repeated, of what is as bad as its level allows."""
    levels: set[float] = set()
    for relation in {relation if relation.record_first else relation.opposite for relation in relations}:
        for atom, _ in atoms(event, 1):
            known = release(atom, relation, _unknown).attained() if isinstance(atom, Mechanism) else None
            if known is None or len(levels | {known[0].upper}) > 1:
                return False
            levels.add(known[0].upper)
    return True


def _worst(relations: tuple[Relation, ...], ask: Callable[[Relation], Bound]) -> Answer:
    worst: Answer | None = None
    seen: set[Relation] = set()
    for relation in relations:
        if relation in seen:
            continue
        seen |= {relation, relation.opposite}
        # A guarantee is about both directions, so both have the same answer.
        found = ask(relation if relation.record_first else relation.opposite)
        if worst is None or found.interval.upper > worst.interval.upper:
            worst = Answer(found.interval, f"{METHOD}, {found.theorem}", relation)
    assert worst is not None
    return worst


def _unknown(event: Event) -> Release:
    raise AssertionError(f"{event!r} is not one mechanism")


def _parts(event: Event, relation: Relation) -> Parts:
    def several(inner: Event) -> Release:
        return _Several(inner.canonical(), relation)

    return [(release(atom, relation, several), count) for atom, count in atoms(event, 1)]


@dataclass(frozen=True, slots=True)
class _Several(Release):
    """Several releases on one draw, by their own composition."""

    points: ClassVar[int] = 7

    event: Event
    relation: Relation

    def epsilon(self, delta: float) -> float:
        # On a ladder of deltas, from below: a search asks for many that are nearly the same.
        rung = math.exp(math.floor(math.log(delta) / _RUNG) * _RUNG) if delta > 0.0 else 0.0
        return _epsilon_of(self.event, min(rung * (1.0 - 1e-12), delta), self.relation, 0).interval.upper

    def delta(self, epsilon: float) -> float:
        return _rough_delta_of(self.event, epsilon, self.relation).interval.upper


@dataclass(frozen=True, slots=True)
class _Fixed:
    """The releases whose level is all there is to know of them."""

    levels: tuple[tuple[Interval, int], ...]
    spent: Interval
    """The budget that their failures take."""

    @property
    def highest(self) -> Levels:
        """Their levels, rounded up."""
        return [(level.upper, count) for level, count in self.levels]

    @property
    def lowest(self) -> Levels:
        """Their levels, rounded down."""
        return [(level.lower, count) for level, count in self.levels]

    def epsilon(self, delta: float) -> Bound:
        """Exactly, where the theorem is the optimal one."""
        budget = _budget(delta)
        left = (
            -math.expm1(min(self.spent.upper - budget * (1.0 - 4.0 * ULP), 1.0)) * (1.0 - 4.0 * ULP)
            if self.spent.upper
            else delta
        )
        if left <= 0.0 and self.spent.upper > 0.0:
            return Bound(
                Interval(math.inf if budget * (1.0 + 4.0 * ULP) < self.spent.lower else 0.0, math.inf),
                "a failure as probable as delta",
            )
        upper = composed_epsilon(self.highest, left)
        more = (
            -math.expm1(self.spent.lower - budget * (1.0 + 4.0 * ULP)) * (1.0 + 4.0 * ULP)
            if self.spent.upper
            else delta
        )
        lower = attained_epsilon(self.lowest, min(max(more, 0.0), 1.0 - ULP))
        return Bound(_ordered(lower, upper.interval.upper), upper.theorem)

    def delta(self, epsilon: float) -> Bound:
        """Exactly, where the theorem is the optimal one."""
        upper, lower = composed_delta(self.highest, epsilon), attained_delta(self.lowest, epsilon)
        if self.spent.upper == 0.0:
            return Bound(_ordered(lower, upper.interval.upper), upper.theorem)
        value = -math.expm1(-raised(self.spent.upper + _budget(upper.interval.upper), 4.0 * ULP)) * (1.0 + 8.0 * ULP)
        least = -math.expm1(-(self.spent.lower + _budget(lower))) * (1.0 - 8.0 * ULP)
        return Bound(_ordered(least, min(value, 1.0)), upper.theorem)


def _split(parts: Parts) -> tuple[_Fixed, tuple[Free, ...]]:
    levels, free, most, least = [], [], [], []
    for one, count in parts:
        level = one.attained()
        if level is None:
            free.append(Free(one, count))
            continue
        levels.append((level[0], count))
        most.append(count * _budget(level[1].upper))
        least.append(count * _budget(level[1].lower))
    spent = Interval(math.fsum(least) * (1.0 - 4.0 * ULP), raised(math.fsum(most), 4.0 * ULP))
    return _Fixed(tuple(levels), spent), tuple(free)


def _epsilon(parts: Parts, delta: float, zooms: int) -> Bound:
    if delta == 1.0:
        return Bound.above(0.0, "a delta of 1 promises nothing")
    fixed, free = _split(parts)
    if not free:
        return fixed.epsilon(delta)
    if not fixed.levels and len(free) == 1 and free[0].count == 1:
        return Bound.above(free[0].release.epsilon(delta), "one release")
    if delta == 0.0:
        levels = [*fixed.highest, *((one.release.epsilon(0.0), one.count) for one in free)]
        pure = composed_epsilon(levels, 0.0).interval.upper if fixed.spent.upper == 0.0 else math.inf
        return Bound.above(pure, "basic composition")
    return _divided(EpsilonAsked(delta), fixed, free, zooms)


def _delta(parts: Parts, epsilon: float) -> Bound:
    if epsilon == math.inf:
        failures = math.fsum(count * _budget(one.delta(epsilon)) for one, count in parts)
        return Bound.above(min(-math.expm1(-failures) * (1.0 + 8.0 * ULP), 1.0), "losses that are infinite")
    fixed, free = _split(parts)
    if not free:
        return fixed.delta(epsilon)
    if not fixed.levels and len(free) == 1 and free[0].count == 1:
        return Bound.above(free[0].release.delta(epsilon), "one release")
    levels = [*fixed.highest, *((one.release.epsilon(0.0), one.count) for one in free)]
    if fixed.spent.upper == 0.0 and composed_epsilon(levels, 0.0).interval.upper <= epsilon:
        return Bound.above(0.0, "basic composition")
    return _divided(DeltaAsked(epsilon), fixed, free, 3)


def _smaller(found: Bound, parts: Parts, epsilon: float) -> Bound:
    """A smaller delta at which the search for epsilon stays within ``epsilon``: two searches see different divisions."""
    if epsilon == math.inf or not _is_rough(found, parts):
        return found

    def tried(delta: float) -> tuple[float, Bound]:
        asked = _epsilon(parts, delta, 2) if delta > _FAINTEST else Bound.above(math.inf, "")
        return asked.interval.upper, Bound.above(delta, asked.theorem)

    value, best = tried(found.interval.upper * _CLOSER)
    if value > epsilon:
        return found
    log_step, least = math.log(0.5), math.log(_CLOSER)
    for _ in range(_MOST_TRIES):
        other, smaller = tried(best.interval.upper * math.exp(log_step))
        # Epsilon is about linear in the logarithm of delta: next a little short of where that line crosses.
        share = (epsilon - value) / (other - value) if value < other < math.inf else 0.5 if other > epsilon else 2.0
        if other > epsilon:
            log_step = max(0.9 * share * log_step, 0.5 * log_step) if share > 0.0 else 0.0
        else:
            value, best, log_step = other, smaller, 0.9 * (share - 1.0) * log_step
        if log_step > least:
            break
        log_step = max(log_step, -200.0)
    return best


def _is_rough(found: Bound, parts: Parts) -> bool:
    """Whether a delta is not of levels alone, which is exact."""
    return found.interval.lower == 0.0 and any(one.attained() is None for one, _ in parts)


def _divided(asked: Asked, fixed: _Fixed, free: tuple[Free, ...], zooms: int) -> Bound:
    found = divided(asked, fixed.highest, fixed.spent.upper, free, zooms)
    return Bound.above(found.interval.upper, found.theorem)  # a level is not attained by what merely satisfies it


def _budget(delta: float) -> float:
    """-log(1 - delta): in these the failures of independent steps add."""
    return -math.log1p(-delta) if delta < 1.0 else math.inf


def _ordered(lower: float, upper: float) -> Interval:
    return Interval(min(max(lower, 0.0), upper), upper)
