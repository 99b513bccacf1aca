"""The trade-off curve: what an attacker who accepts some false alarms must miss."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from renyi.numerics.convex_floor import convex_floor
from renyi.numerics.rounding import ULP, raised
from renyi.privacy.interval import Interval

Array = NDArray[np.float64]

LARGEST = 700.0
"""An epsilon beyond which e^epsilon is no float; a line from there would matter to error rates below 1e-300 only."""

ENDLESS = 1e12
"""An epsilon that stands for infinity: delta there is the probability of an infinite loss."""

TIGHT = 1e-10
"""How close, relatively, the search comes to the best line."""

_MOST = 30  # lines that are tried for one error rate
_DISTANCES = (1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 48, 100)  # from the best line, of those that it is compared with


class TradeOff:
    """The error rates of every attack on neighbouring datasets, bounded by a privacy profile.

    An attacker guesses which of two neighbours was used. The false-positive rate (``fpr``) is how often the second is
    taken for the first, the true-positive rate how often the first is recognised. With delta the profile of an adjacency,
    epsilon -> delta(epsilon) >= 0, every attack has, for every epsilon >= 0,

        tpr <= e^epsilon fpr + delta   and   1 - tpr >= e^-epsilon (1 - fpr - delta),

    and the supremum over epsilon of these lines is the smallest false-negative rate f(fpr): Dong, Roth & Su (2022),
    arXiv:1905.02383v3, Proposition 2.12 (Wasserman & Zhou 2010, arXiv:0811.2501v3, for one line). It is convex, falling and its
    own inverse, and the largest such function below every pair of neighbours; for one symmetric pair it is that pair's own.

    Every line is a bound by itself, so the upper end of a true-positive rate needs no search to be right, only to be
    tight. The lower end is what convexity leaves possible between the lines that were tried. Profiles that were asked for are
    remembered: many rates share the work.
    """

    def __init__(self, profile: Callable[[float], Interval], largest: float = math.inf) -> None:
        """A curve from its profile.

        ``profile`` gives the interval of delta at an epsilon >= 0, the worst of relations that hold both ways round. From the
        epsilon ``largest`` on it does not fall any more: the largest loss, where there is one.
        """
        self._profile = profile
        self._largest = largest
        self._known: dict[float, Interval] = {}
        self._found: dict[float, tuple[Interval, Interval]] = {}

    def delta(self, epsilon: float) -> Interval:
        """The profile, each epsilon asked once."""
        if epsilon not in self._known:
            self._known[epsilon] = self._profile(epsilon)
        return self._known[epsilon]

    @property
    def advantage(self) -> Interval:
        """The largest tpr - fpr: delta at epsilon 0, the total variation distance (Wasserman & Zhou 2010)."""
        return self.delta(0.0)

    def success(self, prior: float) -> Interval:
        """The largest probability to guess right, if the first dataset was chosen with probability ``prior``.

        With m and M the smaller and the larger of prior and 1 - prior it is M + m delta(log(M/m)): the guess "first" on an
        event S is right with m P(S) + M (1 - Q(S)), and P(S) - (M/m) Q(S) is at most delta.
        """
        rare, common = sorted((prior, 1.0 - prior))
        if rare == 0.0:
            return Interval(1.0, 1.0)
        delta = self.delta(max(math.log(common) - math.log(rare), 0.0))
        # An epsilon that is off by rounding turns m e^epsilon - M from 0 to that rounding.
        slack = 16.0 * ULP * (1.0 + abs(math.log(rare)))
        lower = max((common + rare * delta.lower) - slack, common)
        upper = min((common + rare * delta.upper) + slack, 1.0)
        return Interval(min(lower, upper), upper)

    def true_positive_rate(self, fpr: float) -> Interval:
        """The largest true-positive rate at a false-positive rate."""
        return self._rates(fpr)[0]

    def false_negative_rate(self, fpr: float) -> Interval:
        """The smallest false-negative rate f at a false-positive rate."""
        return self._rates(fpr)[1]

    def _rates(self, fpr: float) -> tuple[Interval, Interval]:
        if fpr not in self._found:
            self._found[fpr] = self._find(fpr)
        return self._found[fpr]

    def _find(self, fpr: float) -> tuple[Interval, Interval]:
        if fpr == 1.0:
            return Interval(1.0, 1.0), Interval(0.0, 0.0)
        if fpr == 0.0:
            escaped = self._escaped
            return escaped, _complement(escaped)
        side = _Side.of(fpr, self.advantage)
        found = side.reached(self._search(side), self._known)
        if side.rising:
            if found.lower == fpr:  # the best line may lie at infinity
                found = Interval(min(max(fpr, self._escaped.lower), found.upper), found.upper)
            return found, _complement(found)
        mirror = 0.5 * (1.0 - self.advantage.upper)
        if mirror > 0.0 and fpr <= 0.5 * (1.0 - self.advantage.lower):
            # On which side the curve's mirror image meets it is not known so exactly; but the curve falls.
            above = self._rates(mirror * (1.0 - ULP))[1].upper
            found = Interval(found.lower, max(min(above, side.rate), found.lower))
        spotted = _complement(found)
        return Interval(max(spotted.lower, fpr), max(spotted.upper, fpr)), found

    @property
    def _escaped(self) -> Interval:
        """The probability of an infinite loss."""
        return self.delta(min(self._largest, ENDLESS))

    def _search(self, side: _Side) -> list[float]:
        """The epsilons around the one whose line is best, close enough."""
        start, stride = side.guess(self.advantage)
        if self._largest <= LARGEST:
            self.delta(self._largest)
        points = sorted(e for e in self._known if e <= LARGEST)
        if not 1 <= bisect_left(points, start) <= len(points) - 2:
            points = self._with(points, start)
        for turn in range(_MOST):
            near = side.nearest(points, self._known)
            bracket = side.bracket(near, self._known)
            if bracket is None:
                if near[-1] >= LARGEST:
                    break
                stride *= 2.0
                points = self._with(points, min(near[-1] + stride, LARGEST))
                continue
            floor, lowest = side.floor(near, self._known, upper_only=not bracket.closed)
            width = bracket.high - bracket.low
            if bracket.value - floor <= 2.0 * bracket.tolerance or width <= 1e-13 * max(bracket.middle, 1e-3):
                break
            points = self._with(points, side.following(bracket, lowest, turn, self._known))
        return side.nearest(points, self._known)

    def _with(self, points: list[float], epsilon: float) -> list[float]:
        self.delta(epsilon)
        return sorted({*points, epsilon})


@dataclass(frozen=True, slots=True)
class _Side:
    """Which lines decide at a false-positive rate: the steep ones (``rising``), or those of the mirrored attacker.

    f meets its mirror image at (1 - delta(0))/2. Below it the lines tpr = e^epsilon fpr + delta are the lowest; above it
    those of the attacker who exchanges the two datasets. ``rate`` is fpr, or 1 - fpr on the other side. What is
    minimised is the rate gained, a sum of positive terms that is convex in e^epsilon (in e^-epsilon on the other side):

        rising:   tpr - fpr       = fpr (e^epsilon - 1) + delta
        falling:  (1 - fpr) - fnr = (1 - fpr) (1 - e^-epsilon) + e^-epsilon delta.

    Where little remains to be missed (``bare``), -fnr itself takes the place of the latter, for its digits.
    """

    fpr: float
    rising: bool
    bare: bool

    @classmethod
    def of(cls, fpr: float, advantage: Interval) -> _Side:
        rising = fpr <= 0.5 * (1.0 - advantage.upper)
        return cls(fpr, rising, not rising and advantage.upper > 0.5)

    @property
    def rate(self) -> float:
        return self.fpr if self.rising else 1.0 - self.fpr

    @property
    def sign(self) -> float:
        return 1.0 if self.rising else -1.0

    def guess(self, advantage: Interval) -> tuple[float, float]:
        """Where a Gaussian with this advantage has its best line, and a stride from there.

        Its separation mu has advantage 2 Phi(mu/2) - 1, and the loss at a threshold z standard deviations out is mu z - mu^2/2.
        """
        mu = min(2.0 * float(ndtri(min(0.5 + 0.5 * advantage.upper, 1.0 - 1e-16))), 16.0)
        z = -float(ndtri(self.fpr)) if self.rising else float(ndtri(self.fpr)) + mu
        start = min(max(mu * z - 0.5 * mu * mu, 0.05 * mu, 1e-12), LARGEST)
        return start, max(0.25 * mu, 0.05 * start)

    def gained(self, epsilon: Array, delta: Array) -> Array:
        """What is minimised, on the lines of these epsilons and deltas."""
        if self.rising:
            return self.rate * np.expm1(epsilon) + delta
        if self.bare:
            return np.exp(-epsilon) * (delta - self.rate)
        return np.exp(-epsilon) * delta - self.rate * np.expm1(-epsilon)

    def ends(self, points: list[float], known: dict[float, Interval]) -> tuple[Array, Array]:
        """The same from below and from above, rounding included, where delta is known."""
        epsilon = np.array(points)
        lower = self.gained(epsilon, np.array([known[e].lower for e in points]))
        upper = self.gained(epsilon, np.array([known[e].upper for e in points]))
        slack = 8.0 * ULP * (np.exp(-epsilon) * (self.rate + 1.0) if self.bare else upper)
        return lower - slack, upper + slack

    def bracket(self, points: list[float], known: dict[float, Interval]) -> _Bracket | None:
        """The best point between two that lie higher, for certain where that can be known; None if none does to the right."""
        lower, upper = self.ends(points, known)
        best = int(np.argmin(upper))
        value = float(upper[best])
        noise = float(np.max((upper - lower)[max(best - 1, 0) : best + 2]))
        if noise > 1e-3 * abs(value):
            noise = float(upper[best] - lower[best])
        closed = noise < 1e-3 * abs(value)
        higher = np.flatnonzero((lower if closed else upper) >= value)
        before, after = higher[higher < best], higher[higher > best]
        if not after.size:
            return None
        low, high = points[before[-1] if before.size else 0], points[after[0]]
        tolerance = max(TIGHT * abs(value), 4.0 * noise if closed else 0.0)
        return _Bracket(low, points[best], high, value, tolerance, closed)

    def nearest(self, points: list[float], known: dict[float, Interval]) -> list[float]:
        """The points around the best, ever fewer away from it, but both ends."""
        best = int(np.argmin(self.ends(points, known)[1]))
        chosen = {0, len(points) - 1, best}
        for distance in _DISTANCES:
            chosen |= {max(best - distance, 0), min(best + distance, len(points) - 1)}
        return [points[place] for place in sorted(chosen)]

    def floor(self, points: list[float], known: dict[float, Interval], *, upper_only: bool) -> tuple[float, float]:
        """How low what is minimised may lie between the points, and at which epsilon.

        ``upper_only`` takes the upper ends for the truth: what the search could still gain.
        """
        lower, upper = self.ends(points, known)
        lower = upper if upper_only else lower
        best = int(np.argmin(upper))
        # Places near the best one keep their digits; far away the rounding of the distance counts.
        distance = np.clip((np.array(points) - points[best]) * self.sign, -LARGEST, LARGEST)
        place = np.expm1(distance)
        spread = 2.0 * ULP * (np.exp(distance) * np.abs(distance) + np.abs(place))
        if not self.rising:
            # At e^-epsilon = 0 nothing is gained and all is missed.
            nothing = 0.0 if self.bare else self.rate
            place, spread = np.append(place, -1.0), np.append(spread, 0.0)
            lower, upper = np.append(lower, nothing), np.append(upper, nothing)
        kept = np.unique(place, return_index=True)[1]
        ends = (points[0] == 0.0, False) if self.rising else (True, points[0] == 0.0)
        floor, lowest = convex_floor(
            place[kept], spread[kept], lower[kept], upper[kept], left_end=ends[0], right_end=ends[1]
        )
        if lowest is None:
            return floor, points[best]
        return floor, points[best] + self.sign * math.log1p(max(lowest, -1.0 + 1e-15))

    def following(self, bracket: _Bracket, lowest: float, turn: int, known: dict[float, Interval]) -> float:
        """The epsilon to try next: the best of a smooth profile, one beside it, or where the floor is lowest, in turns."""
        low, middle, high = bracket.low, bracket.middle, bracket.high
        candidate, hair = lowest, 1e-13 * max(middle, 1e-6)
        if turn % 3 < 2 and low < middle:
            smooth, bent = self._smooth(low, middle, high, known)
            step = min(math.sqrt(bracket.tolerance / bent), 0.3 * (high - low))
            if abs(smooth - middle) > step:
                candidate, hair = smooth, 0.25 * step
            elif max(high - middle, middle - low) > 2.0 * step:
                right = high - middle > 2.0 * step and (lowest > middle or middle - low <= 2.0 * step)
                candidate = middle + (step if right else -step)
        if not low + hair < candidate < high - hair or abs(candidate - middle) < hair:
            candidate = 0.5 * (middle + (high if high - middle > middle - low else low))
        return candidate

    def _smooth(self, low: float, middle: float, high: float, known: dict[float, Interval]) -> tuple[float, float]:
        """The minimum under a parabola for log delta through three points, and the second derivative there."""
        logs = [math.log(max(known[e].upper, 5e-324)) for e in (low, middle, high)]
        left, right = (logs[1] - logs[0]) / (middle - low), (logs[2] - logs[1]) / (high - middle)
        bend = (right - left) / (high - low)
        slope = left + bend * (middle - low)

        def gained(step: Array) -> Array:
            return self.gained(middle + step, np.exp(np.minimum(logs[1] + step * (slope + bend * step), 0.0)))

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

    def reached(self, points: list[float], known: dict[float, Interval]) -> Interval:
        """The true-positive rate (the false-negative rate, on the other side) that these lines leave possible."""
        best = float(self.ends(points, known)[1].min())
        floor = self.floor(points, known, upper_only=False)[0]
        if self.rising:
            largest = min(raised(self.fpr + best, 2.0 * ULP), 1.0)
            return Interval(min(max((self.fpr + floor) * (1.0 - 4.0 * ULP), self.fpr), largest), largest)
        whole, slack = (0.0, 0.0) if self.bare else (self.rate, 4.0 * ULP * self.rate)
        smallest, largest = max(whole - best - slack, 0.0), min(whole - floor + slack, self.rate)
        return Interval(smallest, max(largest, smallest))


@dataclass(frozen=True, slots=True)
class _Bracket:
    """Where the best line lies: the best epsilon tried, its value, and those on either side that lie higher.

    ``tolerance`` is how far below the value the floor may lie, ``closed`` whether delta's interval is so narrow that this is
    asked of the floor under its lower ends.
    """

    low: float
    middle: float
    high: float
    value: float
    tolerance: float
    closed: bool


def _complement(rate: Interval) -> Interval:
    """One minus a rate, rounded outwards."""
    return Interval(
        max(math.nextafter(1.0 - rate.upper, -1.0), 0.0) if rate.upper > 0.0 else 1.0,
        min(math.nextafter(1.0 - rate.lower, 2.0), 1.0),
    )
