"""The accountant of the textbooks: every release is its (epsilon, delta), and a composition theorem does the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.classical.division import divided_delta, divided_epsilon, least_epsilon
from renyi.accountants.classical.level_composition import (
    Bound,
    Levels,
    attained_delta,
    attained_epsilon,
    composed_delta,
    composed_epsilon,
)
from renyi.accountants.classical.release import Release, release
from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.events.event import Event
from renyi.events.nodes import atoms
from renyi.laws.interval import Interval
from renyi.laws.relation import Relation
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import allowance

METHOD = "(epsilon, delta) guarantees"

WORK = 2e8
"""Numbers that a question may compute: at 70 to 150 million a second, as measured, up to three seconds of them."""

_NEARLY_ONE = 1.0 - 1e-12
"""A delta that stands for 1, at which every epsilon is 0."""

_SURELY = 1.01
"""Times an epsilon: bounds by two theorems of their own are not ordered to the last digit."""


@dataclass(frozen=True, slots=True)
class Classical(Accountant):
    """Composition of (epsilon, delta) guarantees: basic, advanced and optimal, whichever is smallest.

    A release is known by its privacy profile alone (exactly, where it has a dominating pair), a Poisson sample by Zhu & Wang
    (2019), PMLR 97, Lemma 4; then Kairouz, Oh & Viswanath (2015), arXiv:1311.0776v4, for equal levels, and Theorem 3.5 there or
    Murtagh & Vadhan (2016), arXiv:1507.03113v3, for unlike ones. Releases may spend a part of delta on a smaller epsilon of
    their own, every step the same, or every step whose loss is unbounded. The lower end is 0, but for randomized response and
    for pure and approximate DP as a class, which are as bad as their levels allow.
    """

    def answer(self, event: Event, question: Question, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        worst: Answer | None = None
        with allowance(WORK), np.errstate(all="ignore"):
            for relation in _unlike(relations):
                found = _composed(_releases(event, relation), question)
                if worst is None or found.interval.upper > worst.interval.upper:
                    worst = Answer(found.interval, f"{METHOD}, {found.theorem}", relation)
        assert worst is not None
        return worst

    def surely_exceeds(self, bound: float, event: Event, question: Question, relations: tuple[Relation, ...]) -> bool:
        """Whether it is seen at little cost that the answer is not below ``bound``."""
        epsilon, delta = question.with_answer(bound)
        delta = min(delta, _NEARLY_ONE)
        if delta <= 0.0:
            return False
        with np.errstate(all="ignore"):
            for relation in _unlike(relations):
                releases = _releases(event, relation)
                fixed, free = _split(releases)
                if least_epsilon(delta, fixed.lowest, free) > _SURELY * epsilon:
                    return True
                # Delta is found by inverting epsilon: one evaluation tells on which side of the bound it will be.
                if isinstance(question, DeltaAt) and _composed(releases, EpsilonAt(delta)).interval.upper > epsilon:
                    return True
        return False


Releases = Sequence[tuple[Release, int]]


def _unlike(relations: tuple[Relation, ...]) -> dict[Relation, None]:
    """One of each two opposite relations: a guarantee is about both directions, so both have the same answer."""
    return dict.fromkeys(relation if relation.record_first else relation.opposite for relation in relations)


def _releases(event: Event, relation: Relation) -> Releases:
    def several(inner: Event) -> Release:
        return _Several(tuple(_releases(inner.canonical(), relation)))

    return [(release(atom, relation, several), count) for atom, count in atoms(event, 1)]


@dataclass(frozen=True, slots=True)
class _Several(Release):
    """Several releases on one draw, by their own composition."""

    releases: tuple[tuple[Release, int], ...]

    def epsilon(self, delta: float) -> float:
        return _composed(self.releases, EpsilonAt(delta)).interval.upper

    def least_epsilon(self, delta: float) -> float:
        fixed, free = _split(self.releases)
        return least_epsilon(delta, fixed.lowest, free)

    def delta(self, epsilon: float) -> float:
        return _composed(self.releases, DeltaAt(epsilon)).interval.upper


@dataclass(frozen=True, slots=True)
class _Fixed:
    """The releases whose level is all there is to know of them."""

    levels: tuple[tuple[Interval, int], ...]
    spent: Interval
    """The budget -log(1 - delta) that their failures take."""

    @property
    def highest(self) -> Levels:
        """Their levels, rounded up."""
        return [(level.upper, count) for level, count in self.levels]

    @property
    def lowest(self) -> Levels:
        """Their levels, rounded down."""
        return [(level.lower, count) for level, count in self.levels]

    def answer(self, question: Question) -> Bound:
        """Exactly, where the theorem is the optimal one."""
        return self._epsilon(question.delta) if isinstance(question, EpsilonAt) else self._delta(question.epsilon)

    def _epsilon(self, delta: float) -> Bound:
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

    def _delta(self, epsilon: float) -> Bound:
        upper, lower = composed_delta(self.highest, epsilon), attained_delta(self.lowest, epsilon)
        if self.spent.upper == 0.0:
            return Bound(_ordered(lower, upper.interval.upper), upper.theorem)
        value = -math.expm1(-raised(self.spent.upper + _budget(upper.interval.upper), 4.0 * ULP)) * (1.0 + 8.0 * ULP)
        least = -math.expm1(-(self.spent.lower + _budget(lower))) * (1.0 - 8.0 * ULP)
        return Bound(_ordered(least, min(value, 1.0)), upper.theorem)


def _split(releases: Releases) -> tuple[_Fixed, Releases]:
    levels, free, most, least = [], [], [], []
    for one, count in releases:
        level = one.attained()
        if level is None:
            free.append((one, count))
            continue
        levels.append((level[0], count))
        most.append(count * _budget(level[1].upper))
        least.append(count * _budget(level[1].lower))
    spent = Interval(math.fsum(least) * (1.0 - 4.0 * ULP), raised(math.fsum(most), 4.0 * ULP))
    return _Fixed(tuple(levels), spent), tuple(free)


def _composed(releases: Releases, question: Question) -> Bound:
    fixed, free = _split(releases)
    if isinstance(question, EpsilonAt) and question.delta == 1.0:
        return Bound.above(0.0, "a delta of 1 promises nothing")
    if isinstance(question, DeltaAt) and question.epsilon == math.inf:
        failures = math.fsum(count * _budget(one.delta(math.inf)) for one, count in releases)
        return Bound.above(min(-math.expm1(-failures) * (1.0 + 8.0 * ULP), 1.0), "losses that are infinite")
    if not free:
        return fixed.answer(question)
    if not fixed.levels and len(free) == 1 == free[0][1]:
        one, _ = free[0]
        alone = one.epsilon(question.delta) if isinstance(question, EpsilonAt) else one.delta(question.epsilon)
        return Bound.above(alone, "one release")
    own = [(one.epsilon(0.0), count) for one, count in free]
    pure = composed_epsilon([*fixed.highest, *own], 0.0).interval.upper if fixed.spent.upper == 0.0 else math.inf
    if isinstance(question, EpsilonAt) and question.delta == 0.0:
        return Bound.above(pure, "basic composition")
    if isinstance(question, DeltaAt) and pure <= question.epsilon:
        return Bound.above(0.0, "basic composition")
    found = _divided(question, fixed.highest, fixed.spent.upper, free)
    bounded = [level for level in own if level[0] < math.inf]
    if 0 < len(bounded) < len(free):
        # Steps of bounded loss need no share of delta; they may be many, and the others few.
        others = [step for step, level in zip(free, own, strict=True) if level[0] == math.inf]
        spared = _divided(question, [*fixed.highest, *bounded], fixed.spent.upper, others)
        found = min(found, spared, key=lambda bound: bound.interval.upper)
    return Bound.above(found.interval.upper, found.theorem)  # a level is not attained by what merely satisfies it


def _divided(question: Question, levels: Levels, spent: float, free: Releases) -> Bound:
    if isinstance(question, EpsilonAt):
        return divided_epsilon(question.delta, levels, spent, free)
    return divided_delta(question.epsilon, levels, spent, free)


def _budget(delta: float) -> float:
    """-log(1 - delta): in these the failures of independent steps add."""
    return -math.log1p(-delta) if delta < 1.0 else math.inf


def _ordered(lower: float, upper: float) -> Interval:
    return Interval(min(max(lower, 0.0), upper), upper)
