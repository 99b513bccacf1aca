"""How delta is best divided between releases and their composition.

A release offers a frontier of (epsilon, delta) guarantees. Each is moved along its frontier in turn, by an estimate of the
composed answer, of which all points of a frontier are computed at once; then the frontiers are laid anew about what was
chosen. The estimates only show where to look: every answer comes from a theorem.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from renyi.accountants.classical.level_composition import Bound, Levels, composed_delta, composed_epsilon
from renyi.accountants.classical.release import Frontier, Release
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_SWEEPS = 3
_LONG = 10_000_000  # steps from which on every sum counts
_HALVINGS = 24
_SMALLEST_SHARE = 1e-10  # of delta that is worth spending on a release


@dataclass(frozen=True, slots=True)
class Free:
    """A release that may spend more or less, and how often it is repeated."""

    release: Release
    count: int


@dataclass(frozen=True, slots=True)
class Sums:
    """Over all steps: the largest, the mean and the variance of the loss, and the budgets -log(1 - delta) that are spent.

    Of the worst mechanism of a level e, which answers +e or -e.
    """

    level: Array
    mean: Array
    variance: Array
    spent: Array

    @classmethod
    def of(cls, epsilon: Array, delta: Array, count: int) -> Sums:
        """Of one release."""
        tilt = np.tanh(0.5 * epsilon)
        variance = epsilon * epsilon * (1.0 - tilt * tilt)
        return cls(
            count * epsilon, count * epsilon * tilt, count * variance, -count * np.log1p(-np.minimum(delta, 1.0))
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.level + other.level, self.mean + other.mean, self.variance + other.variance, self.spent + other.spent
        )

    def log_delta(self, epsilon: Array | float) -> Array:
        """Of a normal loss: what exceeds epsilon. The tail alone is a half at epsilon 0, however little is told."""
        width = np.sqrt(self.variance)
        spend(100.0 * width.size + 2500.0)
        z = (self.mean - epsilon) / width
        log_tail = log_ndtr(z)
        log_less = 0.5 * self.variance - z * width + log_ndtr(z - width)
        return np.nan_to_num(log_tail + np.log(-np.expm1(np.minimum(log_less - log_tail, 0.0))), nan=0.0)

    def at(self, places: Array | list[int]) -> Sums:
        """Those of some points."""
        return Sums(self.level[places], self.mean[places], self.variance[places], self.spent[places])


class Asked(ABC):
    """Epsilon at a delta, or delta at an epsilon."""

    @abstractmethod
    def range(self, count: int) -> tuple[float, float]:
        """Between which deltas a release with this count may spend."""

    @abstractmethod
    def estimate(self, sums: Sums) -> Array:
        """About the answer, or a rising function of it: as if the total loss were normal, but not above its largest value."""

    @abstractmethod
    def answer(self, levels: Levels, spent: float) -> Bound:
        """The answer by the best theorem, rounded up."""


@dataclass(frozen=True, slots=True)
class EpsilonAsked(Asked):
    """At this delta."""

    delta: float

    def range(self, count: int) -> tuple[float, float]:
        """See ``Asked``."""
        high = -math.expm1(math.log1p(-self.delta) / count) * (1.0 - 1e-12)  # so that all of them stay within delta
        return _SMALLEST_SHARE * high, high

    def estimate(self, sums: Sums) -> Array:
        """See ``Asked``."""
        left = -np.log1p(-self.delta) - sums.spent
        delta = -np.expm1(-np.maximum(left, 1e-320))
        high = np.maximum(sums.mean - np.sqrt(sums.variance) * ndtri(delta), 0.0)  # as if a tail were all of delta
        low = np.zeros_like(high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            above = sums.log_delta(middle) > np.log(delta)
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        value = np.where(left > 0.0, np.minimum(sums.level, high), sums.level)
        return np.where(left >= -1e-9 * sums.spent, np.nan_to_num(value, nan=np.inf, posinf=np.inf), np.inf)

    def answer(self, levels: Levels, spent: float) -> Bound:
        """See ``Asked``."""
        budget = -math.log1p(-self.delta) * (1.0 - 4.0 * ULP)
        if spent > budget:
            return Bound.above(math.inf, "a failure as probable as delta")
        return composed_epsilon(levels, -math.expm1(spent - budget) * (1.0 - 4.0 * ULP))


@dataclass(frozen=True, slots=True)
class DeltaAsked(Asked):
    """At this epsilon."""

    epsilon: float

    def range(self, count: int) -> tuple[float, float]:
        """See ``Asked``."""
        return 5e-324, 0.5

    def estimate(self, sums: Sums) -> Array:
        """See ``Asked``: the logarithm of the budget that is spent in the end."""
        log_delta = np.where(sums.level <= self.epsilon, -np.inf, sums.log_delta(self.epsilon))
        return np.nan_to_num(np.logaddexp(np.log(sums.spent), log_delta), nan=1e9)

    def answer(self, levels: Levels, spent: float) -> Bound:
        """See ``Asked``."""
        found = composed_delta(levels, self.epsilon)
        upper = found.interval.upper
        if spent == 0.0 or upper >= 1.0:
            return found
        value = -math.expm1(-raised(spent - math.log1p(-upper), 4.0 * ULP))
        return replace(found, interval=Bound.above(min(max(raised(value, 8.0 * ULP), 5e-324), 1.0), "").interval)


def divided(asked: Asked, levels: Levels, spent: float, free: Sequence[Free], zooms: int) -> Bound:
    """The smallest answer found for fixed levels, which spend a budget, and free releases."""
    search = _Search(asked, levels, spent, tuple(free), zooms)
    ranges = [asked.range(one.count) for one in free]
    found: list[Bound] = []
    for _ in range(zooms + 1):
        frontiers = [one.release.frontier(*ends) for one, ends in zip(free, ranges, strict=True)]
        bound, chosen = search.best(frontiers)
        found.append(bound)
        ranges = [_zoomed(f, place) for f, place in zip(frontiers, chosen, strict=True)]
    return min(found, key=lambda bound: bound.interval.upper)


@dataclass(frozen=True, slots=True)
class _Search:
    """The fixed levels, what they spend, and the free releases."""

    asked: Asked
    levels: Levels
    spent: float
    free: tuple[Free, ...]
    zooms: int

    def best(self, frontiers: Sequence[Frontier]) -> tuple[Bound, list[int]]:
        """The best answer found on the frontiers, and where."""
        places = self._descended(frontiers)
        tried = [(self._answer(frontiers, one), one) for one in self._candidates(frontiers, places)]
        return min(tried, key=lambda pair: pair[0].interval.upper)

    def _descended(self, frontiers: Sequence[Frontier]) -> list[int]:
        """The place on each frontier: at first the same delta for every step, as far as may be, then one after another."""
        fixed = Sums(np.zeros(1), np.zeros(1), np.zeros(1), np.array([self.spent]))
        for level, count in self.levels:
            fixed = fixed + Sums.of(np.array([level]), np.zeros(1), count)
        sums = [Sums.of(f.epsilon, f.delta, one.count) for f, one in zip(frontiers, self.free, strict=True)]
        if len(sums) == 1:
            return [int(np.argmin(self.asked.estimate(fixed + sums[0])))]
        places = self._alike(fixed, sums, frontiers)
        for _ in range(_SWEEPS):
            before = list(places)
            for i, one in enumerate(sums):
                spend(600.0 * len(sums))
                rest = fixed
                for j, other in enumerate(sums):
                    rest = rest + other.at([places[j]]) if j != i else rest
                places[i] = int(np.argmin(self.asked.estimate(rest + one)))
            if places == before:
                break
        return places

    def _alike(self, fixed: Sums, sums: Sequence[Sums], frontiers: Sequence[Frontier]) -> list[int]:
        deltas = np.unique(np.concatenate([f.delta for f in frontiers]))
        tried = [[_nearest(f, delta) for f in frontiers] for delta in deltas[:: max(1, deltas.size // 64)]]
        total = fixed
        for one, column in zip(sums, np.array(tried).T, strict=True):
            total = total + one.at(column)
        return tried[int(np.argmin(self.asked.estimate(total)))]

    def _candidates(self, frontiers: Sequence[Frontier], places: list[int]) -> list[list[int]]:
        """Where the answer is asked for: where the descent ended and, for a single release, to either side of it."""
        if len(frontiers) > 1 or self.zooms == 0:
            return [places]
        size = frontiers[0].epsilon.size
        around = (
            (-2, 0, 2)
            if sum(count for _, count in (*self.levels, (0.0, self.free[0].count))) > _LONG
            else (-12, -6, -3, -2, -1, 0, 1, 2, 3, 6, 12)
        )
        return [[place] for place in sorted({min(max(places[0] + step, 0), size - 1) for step in around})]

    def _answer(self, frontiers: Sequence[Frontier], places: list[int]) -> Bound:
        levels, budgets = list(self.levels), [self.spent]
        for one, frontier, place in zip(self.free, frontiers, places, strict=True):
            delta = float(frontier.delta[place])
            levels.append((float(frontier.epsilon[place]), one.count))
            budgets.append(one.count * -math.log1p(-delta) if delta < 1.0 else math.inf)
        return self.asked.answer(levels, raised(math.fsum(budgets), 4.0 * ULP))


def _nearest(frontier: Frontier, delta: float) -> int:
    """The place with the largest delta up to this one, or the smallest there is."""
    below = np.where(frontier.delta <= delta, frontier.delta, -1.0)
    return int(np.argmax(below)) if below.max() >= 0.0 else int(np.argmin(frontier.delta))


def _zoomed(frontier: Frontier, place: int) -> tuple[float, float]:
    """The deltas of the neighbours but one of a place."""
    low = float(frontier.delta[min(place + 2, frontier.delta.size - 1)])
    high = min(float(frontier.delta[max(place - 2, 0)]), 1.0 - ULP)
    return min(max(low, 5e-324), high), max(high, 5e-324)
