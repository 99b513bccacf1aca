"""One release as the (epsilon, delta) guarantees that it satisfies, in both directions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from renyi.accountants.rdp import Rdp
from renyi.composing.closed import one_step_delta, one_step_epsilon
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import NOTHING, Sampled
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.relation import Relation
from renyi.numerics.rounding import TINY, ULP, raised
from renyi.numerics.work import spend
from renyi.sampling.poisson.amplified import lemma_4
from renyi.sampling.poisson.poisson import Poisson

_SMALLEST_FLOAT = 5e-324


class Release(ABC):
    """What the composition theorems know of a mechanism: no law, only its (epsilon, delta) pairs.

    They ask for both directions: a loss that is bounded above only may be infinite below, and its mean near the bound.
    """

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """An epsilon that is true at ``delta``; possibly infinite."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """A delta that is true at ``epsilon``."""

    def least_epsilon(self, delta: float) -> float:
        """About the smallest epsilon that any way of accounting for the release could find at ``delta``, at little cost."""
        return self.epsilon(delta)

    def attained(self) -> tuple[Interval, Interval] | None:
        """(level, failure) if the release *is* the worst there is of that (epsilon, delta), else None."""
        return None


_RUNGS = np.geomspace(1e-9, 1e12, 71)
"""Levels at which a profile is looked at first, each twice the last."""


def _level_below(pair: DominatingPair, log_delta: float) -> float:
    """A level at which the profile still exceeds delta; the largest such one is at most a hundredth above."""
    levels, low = _RUNGS, 0.0
    for _ in range(2):
        spend(5000.0)
        above = np.flatnonzero(pair.log_profile(levels) > log_delta)
        if not above.size:
            break
        low = float(levels[above[-1]])
        if above[-1] + 1 == levels.size:
            break
        levels = np.geomspace(low, levels[above[-1] + 1], _RUNGS.size)
    return low


@dataclass(frozen=True, slots=True)
class PairRelease(Release):
    """By the profiles of the pairs of both directions."""

    pairs: tuple[DominatingPair, ...]

    def epsilon(self, delta: float) -> float:
        """See ``Release``."""
        return max(one_step_epsilon(pair, delta).upper for pair in self.pairs)

    def delta(self, epsilon: float) -> float:
        """See ``Release``."""
        return max(one_step_delta(pair, epsilon).upper for pair in self.pairs)

    def least_epsilon(self, delta: float) -> float:
        """See ``Release``; to a hundredth, by a ladder of levels and a finer one between two of its rungs."""
        if not delta > 0.0:
            return self.epsilon(delta)
        return max(_level_below(pair, math.log(delta)) for pair in self.pairs)

    def attained(self) -> tuple[Interval, Interval] | None:
        """Randomized response, and pure or approximate DP as a class: two opposite losses, but for a failure."""
        pair = self.pairs[0]
        if len(self.pairs) > 1 or not isinstance(pair, FiniteLossPair) or not pair.attained:
            return None
        rows = zip(pair.losses.tolist(), pair.log_p, pair.log_q, strict=True)
        finite = {loss for loss, p, q in rows if max(p, q) > -math.inf and math.isfinite(loss)}
        level = max(finite, default=0.0)
        if pair.reversed() != pair or finite != {level, -level}:
            return None
        return _around(level, pair.rounding), _around(pair.infinite_mass, pair.mass_error)


@dataclass(frozen=True, slots=True)
class CurveRelease(Release):
    """By the conversion of the Renyi curve of one release."""

    event: Event
    relations: tuple[Relation, ...]

    def epsilon(self, delta: float) -> float:
        """See ``Release``."""
        return Rdp().answer(self.event, EpsilonAt(delta), self.relations).interval.upper

    def delta(self, epsilon: float) -> float:
        """See ``Release``."""
        return Rdp().answer(self.event, DeltaAt(epsilon), self.relations).interval.upper


@dataclass(frozen=True, slots=True)
class PoissonRelease(Release):
    """A release on a Poisson sample, by Zhu & Wang (2019), PMLR 97, Lemma 4; 0 < rate < 1."""

    base: Release
    rate: float

    def epsilon(self, delta: float) -> float:
        """See ``Release``."""
        if delta >= self.rate:
            return 0.0  # nobody is drawn with a larger probability
        return self._amplified(self.base.epsilon(delta / self.rate * (1.0 - 2.0 * ULP)))

    def least_epsilon(self, delta: float) -> float:
        """See ``Release``."""
        return self._amplified(self.base.least_epsilon(delta / self.rate)) if delta < self.rate else 0.0

    def delta(self, epsilon: float) -> float:
        """See ``Release``."""
        if epsilon == math.inf:
            return raised(self.rate * self.base.delta(epsilon), 0.0)
        grown = math.log1p(math.expm1(epsilon) / self.rate) if epsilon < 600.0 else epsilon - math.log(self.rate)
        return min(
            max(raised(self.rate * self.base.delta(min(grown * (1.0 - 16.0 * ULP), 1e300)), 0.0), _SMALLEST_FLOAT), 1.0
        )

    def _amplified(self, epsilon: float) -> float:
        if epsilon in (0.0, math.inf):
            return epsilon
        return max(raised(lemma_4(epsilon=epsilon, delta=0.0, rate=self.rate).epsilon, 16.0 * ULP), TINY)


@dataclass(frozen=True, slots=True)
class NoRelease(Release):
    """Nothing."""

    def epsilon(self, delta: float) -> float:
        """See ``Release``."""
        return 0.0

    def delta(self, epsilon: float) -> float:
        """See ``Release``."""
        return 0.0


def release(atom: Event, relation: Relation, several: Callable[[Event], Release]) -> Release:
    """The guarantees of a mechanism or of a sampled event; ``several`` answers for several releases on one draw."""
    match atom:
        case Sampled(_, Poisson(rate=0.0)):
            return NoRelease()
        case Sampled(inner, Poisson(rate=1.0)):
            return release(inner, relation, several) if isinstance(inner, Mechanism) else several(inner)
        case Sampled(inner, Poisson(rate=rate)) if relation is not Relation.REPLACE:
            base = release(inner, relation, several) if isinstance(inner, Mechanism) else several(inner)
            return PoissonRelease(base, rate)
        case _ if atom == NOTHING:
            return NoRelease()
    relations = (relation,) if relation.opposite is relation else (relation, relation.opposite)
    pairs = [dominating_pair(atom, one) for one in relations]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(relations):
        for one in relations:
            renyi_curve(atom, one)  # an event without a curve says so here
        return CurveRelease(atom, relations)
    return PairRelease(tuple(known[:1] if known[0] == known[-1] else known))


def _around(value: float, relative: float) -> Interval:
    return Interval(value * (1.0 - relative), value * (1.0 + relative))
