"""One release as the (epsilon, delta) guarantees that it satisfies, in both directions."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.accountants.rdp import Rdp
from renyi.composing.closed import one_step_delta, one_step_epsilon, upper_deltas
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import NOTHING, Sampled
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.finite import FiniteLossPair
from renyi.laws.relation import Adjacency, Relation
from renyi.mechanisms.from_renyi import FromRenyi
from renyi.numerics.rounding import TINY, ULP, raised
from renyi.sampling.poisson.amplified import lemma_4
from renyi.sampling.poisson.poisson import Poisson

Array = NDArray[np.float64]

_FINE, _COARSE = 33, 13  # points of a frontier, where they are cheap and where they are not
_REACH = np.geomspace(1e-12, 1e9, 120)
_LEAST = 5e-324


class Frontier(NamedTuple):
    """Guarantees of one release: at each index an epsilon and a delta that are true together, the largest deltas first."""

    epsilon: Array
    delta: Array


class Release(ABC):
    """What the composition theorems know of a mechanism: no law, only its (epsilon, delta) pairs.

    They ask for both directions: a loss that is bounded above only may be infinite below, and its mean near the bound.
    """

    points: ClassVar[int] = _COARSE

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """An epsilon that is true at ``delta``; possibly infinite."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """A delta that is true at ``epsilon``."""

    def frontier(self, low: float, high: float) -> Frontier:
        """Guarantees with deltas spread from ``low`` to ``high``, 0 < low <= high."""
        deltas = np.geomspace(max(high, _LEAST), max(low, _LEAST), self.points)
        return Frontier(np.array([self.epsilon(float(delta)) for delta in deltas]), deltas)

    def attained(self) -> tuple[Interval, Interval] | None:
        """(level, failure) if the release *is* the worst there is of that (epsilon, delta), else None."""
        return None


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

    def frontier(self, low: float, high: float) -> Frontier:
        """See ``Release``; all points of a profile at once."""
        first = self._reaching(0.0, max(high, 1e-320))
        last = self._reaching(first, max(low, 1e-320))
        epsilons = np.linspace(first, last, _FINE)
        return Frontier(epsilons, self._deltas(epsilons))

    def _reaching(self, first: float, delta: float) -> float:
        """Where the profile has fallen to ``delta``, a few digits beyond it, or where its finite losses end."""
        largest = max(pair.max_loss + 2.0 * pair.loss_error for pair in self.pairs)
        ahead = np.minimum(first + _REACH * max(first, 1.0), largest)
        for _ in range(5):
            enough = np.flatnonzero(self._deltas(ahead) <= delta)
            if not enough.size:
                return max(self._largest_finite() or float(ahead[-1]), first)
            place = int(enough[0])
            if place == 0:
                return float(ahead[0])
            ahead = np.linspace(ahead[place - 1], ahead[place], _FINE)
        return float(ahead[-1])

    def _deltas(self, epsilons: Array) -> Array:
        return np.max([upper_deltas(pair, epsilons) for pair in self.pairs], axis=0)

    def _largest_finite(self) -> float:
        """The largest finite loss, 0 where it is not known."""
        found = [pair.finite() for pair in self.pairs]
        losses = [loss for pair in found if isinstance(pair, FiniteLossPair) for loss in pair.losses]
        largest = max((loss for loss in losses if math.isfinite(loss)), default=0.0)
        return min(largest * (1.0 + 1e-15), sys.float_info.max)

    def attained(self) -> tuple[Interval, Interval] | None:
        """Randomized response, and pure or approximate DP as a class: two opposite losses, but for a failure."""
        pair = self.pairs[0]
        if len(self.pairs) > 1 or not isinstance(pair, FiniteLossPair) or not pair.attained:
            return None
        rows = zip(pair.losses, pair.log_p, pair.log_q, strict=True)
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
        return Rdp().answer_epsilon(self.event, delta, self.relations).interval.upper

    def frontier(self, low: float, high: float) -> Frontier:
        """See ``Release``; a curve that is dear to compute is first put in a table."""
        simple = (
            self
            if isinstance(self.event, Mechanism)
            else CurveRelease(_table(self.event, self.relations), self.relations)
        )
        return Release.frontier(simple, low, high)

    def delta(self, epsilon: float) -> float:
        """See ``Release``."""
        return Rdp().answer_delta(self.event, epsilon, self.relations).interval.upper


@lru_cache(maxsize=16)
def _table(event: Event, relations: tuple[Relation, ...]) -> Event:
    """A mechanism with the event's divergences at some orders, and their chords between; the event if it may fail outright."""
    curves = [renyi_curve(event, relation) for relation in relations]
    if any(curve.mass > 0.0 for curve in curves):
        return event
    highest = min(1e4, *(curve.max_order for curve in curves))
    if highest <= 1.0:
        return event
    orders = np.unique(
        np.concatenate([1.0 + np.geomspace(1e-4, highest - 1.0, 60), np.arange(2.0, min(highest, 24.0) + 1.0)])
    )
    values = np.max([curve(orders) for curve in curves], axis=0)
    rows = [(float(order), float(value)) for order, value in zip(orders, values, strict=True) if value < math.inf]
    limit = max(curve.limit for curve in curves)
    rows += [(math.inf, limit)] if limit < math.inf else []
    adjacency = next(one for one in Adjacency if relations[0] in one.relations)
    return FromRenyi(tuple(rows), adjacency) if rows else event


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

    def delta(self, epsilon: float) -> float:
        """See ``Release``."""
        if epsilon == math.inf:
            return raised(self.rate * self.base.delta(epsilon), 0.0)
        grown = math.log1p(math.expm1(epsilon) / self.rate) if epsilon < 600.0 else epsilon - math.log(self.rate)
        return min(max(raised(self.rate * self.base.delta(min(grown * (1.0 - 16.0 * ULP), 1e300)), 0.0), _LEAST), 1.0)

    def frontier(self, low: float, high: float) -> Frontier:
        """See ``Release``."""
        if low >= self.rate:
            return Frontier(np.array([0.0]), np.array([self.rate]))
        base = self.base.frontier(max(low / self.rate, _LEAST), min(high / self.rate, 1.0 - ULP))
        epsilons = np.array([self._amplified(float(epsilon)) for epsilon in base.epsilon])
        deltas = np.maximum(raised(self.rate * base.delta, 0.0), _LEAST)
        if high < self.rate:
            return Frontier(epsilons, deltas)
        return Frontier(np.insert(epsilons, 0, 0.0), np.insert(deltas, 0, self.rate))

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

    def frontier(self, low: float, high: float) -> Frontier:
        """See ``Release``."""
        return Frontier(np.zeros(1), np.zeros(1))


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
