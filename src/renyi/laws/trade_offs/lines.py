"""The lines above a true-positive rate, one per epsilon: which of them is lowest, and how low the rest could be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from renyi.laws.interval import Interval
from renyi.numerics.densities.convex_floor import convex_floor
from renyi.numerics.rounding import ULP, raised

Array = NDArray[np.float64]

LARGEST_EPSILON = 700.0
"""An epsilon beyond which e^epsilon is no float; a line from there would matter to error rates below 1e-300 only."""

RELATIVE_TOLERANCE = 1e-10
"""How close, relatively, the search comes to the best line."""

_SHARE_OF_THE_DISTANCE = 1e-3
"""How close, as a share of the distance from a limit: a search for the limit then still gains three digits a step."""

_COMPARED_NEIGHBOURS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 48, 100)
"""Places away from the best line, in the order of epsilon, of the lines with which it is compared."""


@dataclass(frozen=True, slots=True)
class Points:
    """The lines that are known: rising epsilons, and between which ends delta lies, of the datasets exchanged below 0."""

    epsilon: Array
    lower: Array
    upper: Array

    @classmethod
    def none(cls) -> Points:
        return cls(np.empty(0), np.empty(0), np.empty(0))

    @classmethod
    def both(cls, opposite: Points, own: Points) -> Points:
        """The lines of negative epsilon, from the profile of the datasets exchanged, and those of epsilon >= 0."""
        behind, ahead = opposite[opposite.epsilon > 0.0], own[own.epsilon <= LARGEST_EPSILON]
        behind = behind[behind.epsilon <= LARGEST_EPSILON]
        return cls(
            np.concatenate([-behind.epsilon[::-1], ahead.epsilon]),
            np.concatenate([behind.lower[::-1], ahead.lower]),
            np.concatenate([behind.upper[::-1], ahead.upper]),
        )

    def plus(self, epsilon: float, delta: Interval) -> Points:
        """These and one more."""
        place = int(np.searchsorted(self.epsilon, epsilon))
        return Points(
            np.insert(self.epsilon, place, epsilon),
            np.insert(self.lower, place, delta.lower),
            np.insert(self.upper, place, delta.upper),
        )

    def __getitem__(self, places: NDArray[np.bool_] | NDArray[np.intp]) -> Points:
        return Points(self.epsilon[places], self.lower[places], self.upper[places])

    def surround(self, epsilon: float) -> bool:
        """Whether lines are known on both sides, so that this one need not be the first to be tried."""
        return 1 <= int(np.searchsorted(self.epsilon, epsilon)) <= self.epsilon.size - 2


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines at one false-positive rate, of which the lowest is the largest true-positive rate.

    What is minimised over all real epsilons is the rate gained, tpr - fpr, convex in e^epsilon and a sum of positive terms:

        fpr (e^epsilon - 1) + delta(epsilon)                              at epsilon >= 0,
        (1 - fpr) (1 - e^epsilon) + e^epsilon delta'(-epsilon)            below.

    Where little remains to be missed (``bare``), tpr - 1 itself takes its place, for its digits.
    """

    fpr: float
    bare: bool
    limit: float | None = None
    """The true-positive rate with which the lowest is to be compared; if far from it, it need not be known closely."""

    @classmethod
    def at(cls, fpr: float, advantage: float, limit: float | None = None) -> Lines:
        """The lines at a rate, in the form that keeps the digits if no curve exceeds it by more than the advantage."""
        return cls(fpr, advantage > max(0.5, 1.0 - 2.0 * fpr), limit)

    @property
    def rest(self) -> float:
        """The share of the second dataset's outputs that raise no alarm."""
        return 1.0 - self.fpr

    @property
    def certain(self) -> float:
        """What is minimised at e^epsilon = 0, where the line is tpr = 1."""
        return 0.0 if self.bare else self.rest

    def guess(self, advantage: float) -> tuple[float, float]:
        """Where a Gaussian with this advantage has its best line, and a stride from there.

        Its separation mu has advantage 2 Phi(mu/2) - 1, and the loss at a threshold z standard deviations out is mu z - mu^2/2.
        """
        mu = min(2.0 * float(ndtri(min(0.5 + 0.5 * advantage, 1.0 - 1e-16))), 16.0)
        start = -mu * float(ndtri(self.fpr)) - 0.5 * mu * mu
        start = min(max(start, -LARGEST_EPSILON), LARGEST_EPSILON)
        return start, max(0.25 * mu, 0.05 * abs(start), 1e-12)

    def gained(self, epsilon: Array, delta: Array, mirrored: NDArray[np.bool_] | bool) -> Array:
        """What is minimised, on the lines of these epsilons and deltas, ``mirrored`` where these are delta'."""
        plain = self.fpr * np.expm1(epsilon) + delta
        if self.bare:
            return np.where(mirrored, np.exp(epsilon) * (delta - self.rest), plain - self.rest)
        return np.where(mirrored, np.exp(epsilon) * delta - self.rest * np.expm1(epsilon), plain)

    def ends(self, points: Points) -> tuple[Array, Array]:
        """The same from below and from above, rounding included, where delta is known."""
        epsilon, mirrored = points.epsilon, points.epsilon < 0.0
        lower = self.gained(epsilon, points.lower, mirrored)
        upper = self.gained(epsilon, points.upper, mirrored)
        slack = 8.0 * ULP * upper
        if self.bare:
            slack = 8.0 * ULP * np.where(mirrored, np.exp(epsilon) * (self.rest + 1.0), upper + 2.0 * self.rest)
        return lower - slack, upper + slack

    def rate(self, height: float) -> float:
        """The true-positive rate of a line whose height, in terms of what is minimised, is this."""
        return height + (1.0 if self.bare else self.fpr)

    def tolerance(self, value: float) -> float:
        """How close to the lowest a height of about this value need be known."""
        away = 0.0 if self.limit is None else abs(self.rate(value) - self.limit)
        return max(RELATIVE_TOLERANCE * abs(value), _SHARE_OF_THE_DISTANCE * away)

    def nearest(self, points: Points) -> Points:
        """The points around the best, ever fewer away from it, but both ends."""
        last = points.epsilon.size - 1
        best = int(np.argmin(self.ends(points)[1]))
        chosen = {0, last, best}
        for distance in _COMPARED_NEIGHBOURS:
            chosen |= {max(best - distance, 0), min(best + distance, last)}
        return points[np.array(sorted(chosen))]

    def bracket(self, points: Points) -> Bracket:
        """The best point between two that lie higher, for certain where that can be known."""
        lower, upper = self.ends(points)
        best = int(np.argmin(upper)) if upper.min() < self.certain else 0
        value = min(float(upper[best]), self.certain)
        ended = not self.bare and value == self.certain
        around = slice(max(best - 1, 0), best + 2)
        # A chord from a neighbour far to the right brings only a share of its noise.
        lever = np.maximum(np.expm1(np.minimum(points.epsilon[around] - points.epsilon[best], LARGEST_EPSILON)), 1.0)
        noise = float(np.max((upper - lower)[around] / lever))
        if noise > 1e-3 * abs(value):
            noise = float(upper[best] - lower[best])
        closed = noise < 1e-3 * abs(value)
        tolerance = max(self.tolerance(value), 4.0 * noise if closed else 0.0)
        higher = np.flatnonzero((lower if closed else upper) >= value)
        before, after = higher[higher < best], higher[higher > best]
        low = points.epsilon[before[-1] if before.size else 0]
        high = points.epsilon[after[0] if after.size else -1]
        outwards = 1.0 if not after.size else -1.0 if not before.size and not ended else 0.0
        return Bracket(float(low), float(points.epsilon[best]), float(high), value, tolerance, closed, outwards)

    def floor(self, points: Points, *, upper_only: bool) -> tuple[float, float]:
        """How low what is minimised may lie between the points, and at which epsilon.

        ``upper_only`` takes the upper ends for the truth: what the search could still gain.
        """
        lower, upper = self.ends(points)
        lower = upper if upper_only else lower
        best = float(points.epsilon[int(np.argmin(upper))])
        # Places near the best one keep their digits; far away the rounding of the distance counts, and then there is no float.
        near = points.epsilon - best <= LARGEST_EPSILON
        distance, lower, upper = (points.epsilon - best)[near], lower[near], upper[near]
        place = np.expm1(distance)
        spread = 2.0 * ULP * (np.exp(distance) * np.abs(distance) + np.abs(place))
        place, spread = np.append(-1.0, place), np.append(0.0, spread)
        lower, upper = np.append(self.certain * (1.0 - ULP), lower), np.append(self.certain * (1.0 + ULP), upper)
        kept = np.unique(place, return_index=True)[1]
        floor, lowest = convex_floor(
            place[kept], spread[kept], lower[kept], upper[kept], left_end=True, right_end=False
        )
        return floor, best if lowest is None else best + math.log1p(max(lowest, -1.0 + 1e-15))

    def following(self, bracket: Bracket, lowest: float, turn: int, points: Points) -> float:
        """The epsilon to try next: the best of a smooth profile, one beside it, or where the floor is lowest, in turns."""
        low, middle, high = bracket.low, bracket.middle, bracket.high
        if low == middle:
            return self._beyond(bracket, lowest, points)
        candidate, hair = lowest, 1e-13 * max(abs(middle), 1e-6)
        if turn % 3 < 2:
            smooth, bent = self._smooth(low, middle, high, points)
            step = min(math.sqrt(bracket.tolerance / bent), 0.3 * (high - low))
            if abs(smooth - middle) > step:
                candidate, hair = smooth, 0.25 * step
            elif max(high - middle, middle - low) > 2.0 * step:
                right = high - middle > 2.0 * step and (lowest > middle or middle - low <= 2.0 * step)
                candidate = middle + (step if right else -step)
        elif lowest >= high == points.epsilon[-1]:
            return min(2.0 * high - middle, LARGEST_EPSILON)  # a chord from the right needs two points there
        elif turn % 6 < 3:  # a kink beside a known point is closed in on from within; else, the bracket is halved
            candidate = min(max(lowest, low + 1e-3 * (middle - low)), high - 1e-3 * (high - middle))
        if not low + hair < candidate < high - hair or abs(candidate - middle) < hair:
            candidate = 0.5 * (middle + (high if high - middle > middle - low else low))
        return candidate

    def gain_if_smooth(self, bracket: Bracket, points: Points) -> float:
        """How much lower than the best point a smooth profile has its best line."""
        if not bracket.low < bracket.middle < bracket.high:
            return math.inf
        smooth, bent = self._smooth(bracket.low, bracket.middle, bracket.high, points)
        return 0.5 * bent * (smooth - bracket.middle) ** 2

    @staticmethod
    def _beyond(bracket: Bracket, lowest: float, points: Points) -> float:
        """The epsilon to try next where the line tpr = 1 is the best so far: in the gap where the floor is lowest."""
        if lowest <= bracket.middle:  # between that line and the first point, in growing strides
            return max(lowest, bracket.middle - max(2.0 * (bracket.high - bracket.middle), 1.0), -LARGEST_EPSILON)
        place = min(int(np.searchsorted(points.epsilon, lowest)), points.epsilon.size - 1)
        before, after = (float(epsilon) for epsilon in points.epsilon[place - 1 : place + 1])
        inside = min(0.5 * (after - before), 1.0)
        return min(max(lowest, before + 1e-3 * inside), after - inside)

    def _smooth(self, low: float, middle: float, high: float, points: Points) -> tuple[float, float]:
        """The minimum under a parabola for log delta through three points, and the second derivative there.

        It is delta or delta', as the middle one is, at all three: each is smooth through 0, and continued there by the other.
        """
        mirrored = middle < 0.0
        epsilon = np.array([low, middle, high])
        delta = points.upper[np.searchsorted(points.epsilon, epsilon)]
        away = np.abs(epsilon)
        delta = np.where((epsilon < 0.0) == mirrored, delta, np.exp(-away) * delta - np.expm1(-away))
        logs = np.log(np.maximum(delta, 5e-324))
        left, right = (logs[1] - logs[0]) / (middle - low), (logs[2] - logs[1]) / (high - middle)
        bend = (right - left) / (high - low)
        slope = left + bend * (middle - low)

        def gained(step: Array) -> Array:
            smooth = np.exp(np.minimum(logs[1] + step * (slope + bend * step), 0.0))
            return self.gained(middle + step, smooth, mirrored)

        first, last = low - middle, high - middle
        for _ in range(6):
            step = np.linspace(first, last, 33)
            at = int(np.argmin(gained(step)))
            first, last = float(step[max(at - 1, 0)]), float(step[min(at + 1, 32)])
        found = 0.5 * (first + last)
        reach = 1e-2 * min(high - middle, middle - low)
        before, value, after = (float(v) for v in gained(np.array([found - reach, found, found + reach])))
        bent = (before + after - 2.0 * value) / (reach * reach)
        return middle + found, max(bent, 1e-300)

    def least(self, points: Points) -> Least:
        """What the best of these lines says by itself."""
        upper = self.ends(points)[1]
        place = int(np.argmin(upper))
        best, epsilon = float(upper[place]), float(points.epsilon[place])
        if self.bare:
            fnr = max(-best, 0.0)
            return Least(min(math.nextafter(1.0 - fnr, 2.0), 1.0), fnr, epsilon)
        fnr = max(self.rest - best - 4.0 * ULP * self.rest, 0.0)
        return Least(min(raised(self.fpr + best, 2.0 * ULP), 1.0), fnr, epsilon)

    def rates(self, points: Points) -> Rates:
        """What these lines, and those between them, leave possible."""
        above = self.least(points)
        floor = self.floor(points, upper_only=False)[0]
        if self.bare:
            fnr = -floor
            tpr = math.nextafter(1.0 - fnr, -1.0)
        else:
            fnr = self.rest - floor + 4.0 * ULP * self.rest
            tpr = (self.fpr + floor) * (1.0 - 4.0 * ULP)
        # A blind guess reaches tpr = fpr.
        tpr, fnr = max(tpr, self.fpr), min(fnr, raised(self.rest, 0.0), 1.0)
        return Rates(Interval(min(tpr, above.tpr), above.tpr), Interval(above.fnr, max(fnr, above.fnr)), above.epsilon)


@dataclass(frozen=True, slots=True)
class Least:
    """A line's bounds: no true-positive rate is larger, no false-negative rate smaller."""

    tpr: float
    fnr: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The largest true-positive rate at a false-positive rate, the smallest false-negative rate, and whose line decided."""

    tpr: Interval
    fnr: Interval
    epsilon: float


@dataclass(frozen=True, slots=True)
class Bracket:
    """Where the best line lies: the best epsilon tried, its value, and those on either side that lie higher.

    ``tolerance`` is how far below the value the floor may lie, ``closed`` whether delta's interval is so narrow that this is
    asked of the floor under its lower ends. ``outwards`` is the direction in which no higher one is known, 0 if there is none.
    """

    low: float
    middle: float
    high: float
    value: float
    tolerance: float
    closed: bool
    outwards: float

    @property
    def smooth_tolerance(self) -> float:
        """How far below the value the floor may lie if a parabola is to find the best within the tolerance.

        Over a width h the floor lies h^2 below, relatively; a parabola errs by h^2 in place, and so by h^4 in value.
        """
        return max(0.3 * math.sqrt(self.tolerance * abs(self.value)), self.tolerance)

    @property
    def is_narrow(self) -> bool:
        """Whether there is no epsilon in between that is worth trying."""
        return self.high - self.low <= 1e-13 * max(abs(self.middle), 1e-3)
