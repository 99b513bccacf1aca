"""The exponential mechanism, and any other mechanism of bounded range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.curves.curve import CurveFunction, RenyiCurve
from renyi.laws.pair import DominatingPair, law_error
from renyi.laws.ratio_law import log_mixed
from renyi.laws.relation import Adjacency, Relation
from renyi.laws.transform import LossTransform
from renyi.numerics.contours.complex_remainder import Numbers, sinh_remainder
from renyi.numerics.contours.power_sums import complex_log1p
from renyi.numerics.remainder import log_one_plus, log_remainder
from renyi.numerics.rounding import TINY, float_above, raised

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_GRID_FRACTIONS = np.linspace(0.0, 1.0, 65)
"""Places of a grid on its interval; each round narrows the interval by a factor of 32."""

_LAST_STEP = 1e-7
"""Step of the last grid, in logits: the supremum is missed by at most its square, which is added to the answer."""

_LARGE = 30.0
"""Exponent above which its exponential is taken out of a transform: it may overflow, and beside e^30 a 1 is nothing."""

_ORDERS_AT_ONCE = 4096
"""Orders in one array: larger arrays only take more memory."""


@dataclass(frozen=True, slots=True)
class ExponentialMechanism(Mechanism):
    """Selects an outcome with probability proportional to e^(epsilon u/(2 sensitivity of u)), u its utility.

    Its losses on any two neighbours lie in an interval of length ``epsilon`` (bounded range), half of what pure DP of that
    level allows. The worst case at each order is two outcomes with losses t and t - epsilon, for some t.
    """

    name = "exponential"
    words: ClassVar[str] = "the exponential mechanism (epsilon {epsilon})"
    monotone = {"epsilon": Trend(rising=True)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "exponential mechanism: one record moves every utility by at most the sensitivity that epsilon is relative to, "
        "and the set of outcomes does not depend on the data",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Dong, Durfee & Rogers (2020), arXiv:1909.13830v3: bounded range and its worst cases",
    )

    epsilon: float
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, epsilon=check.epsilon, adjacency=Adjacency.of)

    @classmethod
    def examples(cls) -> tuple[ExponentialMechanism, ...]:
        return cls(0.1), cls(2.0)

    def for_group(self, size: int) -> ExponentialMechanism | None:
        """Losses add along a chain of neighbours, and so do the lengths of the intervals that hold them."""
        epsilon = float_above(Fraction(self.epsilon) * size)
        return ExponentialMechanism(epsilon, self.adjacency) if math.isfinite(epsilon) else None

    def pair(self, relation: Relation) -> BoundedRangePair:
        self.adjacency.expect(relation, self)
        return BoundedRangePair(self.epsilon)


@dataclass(frozen=True, slots=True)
class BoundedRangePair(DominatingPair):
    """The least pair that dominates every pair whose losses lie in an interval of length ``epsilon``.

    No single mechanism attains it at all levels, because each level has its own worst t.
    """

    epsilon: float

    @property
    def attained(self) -> bool:
        return False

    @property
    def max_loss(self) -> float:
        return self.epsilon

    def reversed(self) -> BoundedRangePair:
        return self  # the family is the same for (Q, P), with epsilon - t for t

    def renyi(self) -> RenyiCurve:
        """The supremum over t of the two-point pair's divergence at each order, which is below that of the profile's pair."""
        if self.epsilon == 0.0:
            return RenyiCurve.zero()
        return RenyiCurve(partial(_divergence_upper, self.epsilon), limit=self.epsilon, covers_opposite=True)

    def sampled_divergence(self, rate: float, *, adding: bool) -> CurveFunction:
        """The supremum over t of the sampled two-point pair's divergence; it is smaller than that of the profile's pair."""
        return partial(_sampled_upper, self.epsilon, rate, adding)

    def log_profile(self, epsilon: Array) -> Array:
        """The supremum over t, at t = (epsilon + level)/2: (1 - e^((epsilon - level)/2))^2/(1 - e^-level)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.maximum(self.epsilon - epsilon, 0.0)
            inner = (
                2.0 * np.log(-np.expm1(-0.5 * gap)) - math.log(-math.expm1(-self.epsilon)) if self.epsilon else -np.inf
            )
            floor = np.log(-np.expm1(np.minimum(epsilon, 0.0)))
            return np.where(epsilon >= -self.epsilon, np.maximum(inner, floor), floor)

    @cached_property
    def transform(self) -> LossTransform | None:
        return BoundedRangeTransform(self.epsilon) if self.epsilon > 0.0 else None


@dataclass(frozen=True, slots=True)
class BoundedRangeTransform(LossTransform):
    """The loss transform in closed form.

    By its profile, the pair's loss has a density under P, proportional to e^(loss/2) on [-level, level]. So with
    S(z) = sinh(z)/z, M(t) = S((t + 1/2) level)/S(level/2).
    """

    level: float

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        moved = self.level * np.maximum(tilt, -1.0 - tilt)  # M is symmetric about -1/2
        near = (moved > -1.0) & (moved < _LARGE)  # further left M may be far below 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.where(near, np.log1p(self._excess(moved)), self._log_large(moved))

    def line(self, tilt: float, step: float, count: int) -> Complex:
        moved = np.asarray(self.level * (tilt + 1j * step * np.arange(count)), dtype=np.complex128)
        return self._log_large(moved) if self.level * tilt > _LARGE else complex_log1p(self._excess(moved))

    def log_decay(self, tilt: float, frequency: float) -> float:
        """With x = (tilt + 1/2) level and y = frequency level, |S(x + iy)/S(x)|^2 = (1 + (sin y/sinh x)^2)/(1 + (y/x)^2).

        |sin y| is at most 1, and up to y = pi at most y e^(-y^2/6), by its product over its zeros. With either bound the
        quotient falls with y, because sinh x > x.
        """
        x, y = (tilt + 0.5) * self.level, frequency * self.level
        log_s = math.log(math.sinh(x) / x) if x < _LARGE else x - math.log(2.0 * x)

        def far(y: float) -> float:
            return min(math.log(math.hypot(1.0, math.exp(-log_s) / x)) - math.log(math.hypot(1.0, y / x)), 0.0)

        if y == 0.0 or y >= math.pi:
            return far(y)
        share = 1.0 / (1.0 + (x / y) ** 2)
        near = 0.5 * math.log1p(share * math.expm1(-y * y / 3.0 - 2.0 * log_s))
        return max(min(near, far(y)), far(math.pi))

    def _excess(self, moved: Numbers) -> Numbers:
        """M - 1 at t = moved/level. With h = level/2, it is the sum of

            h (cosh(moved) - 1),    (h coth(h) - 1) sinh(moved)    and    sinh(moved) - moved

        over h + moved; none of them is negative at t > 0.
        """
        half = 0.5 * self.level
        bend = self.level * np.sinh(0.5 * moved) ** 2
        return (bend + _coth_excess(half) * np.sinh(moved) + sinh_remainder(moved)) / (half + moved)

    def _log_large(self, moved: Numbers) -> Numbers:
        """log M with the exponential taken out, which may overflow."""
        both = self.level + 2.0 * moved
        return moved + np.log(self.level / both * (np.expm1(-both) / math.expm1(-self.level)))


def _coth_excess(x: float) -> float:
    """x coth(x) - 1 at x > 0."""
    if x > 1.0:
        return x / math.tanh(x) - 1.0
    return x * math.tanh(0.5 * x) - float(sinh_remainder(np.array([x]))[0]) / math.sinh(x)


def bounded_range_divergence(order: Array, level: float) -> Array:
    """The largest divergence of two-point pairs with losses t and t - level, at finite orders.

    P gives the loss t the probability (1 - e^(t - level))/(1 - e^-level). With c = e^(-s level), s = order - 1,
    the log-moment is s t + log(A - B e^t), A = c + (1-c)/(1 - e^-level), B = (1-c) e^-level/(1 - e^-level),
    largest at e^t = s A/(order B); the divergence at that t is then a sum of nonnegative terms.
    """
    s = order - 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Divide A and B by 1 - c; c/(1-c) = 1/(e^(s level) - 1), so that s A tends to 1/level as s does to 0.
        s_a = np.where(s > 0.0, s / np.expm1(s * level), 1.0 / level) - s / math.expm1(-level)
        t = np.clip(np.log(s_a) - np.log(order) + level + math.log(-math.expm1(-level)), 0.0, level)
    return log_one_plus(s, _two_point_log_excess(s, t, level - t, 1.0, adding=False))


def sampled_bounded_range_divergence(order: Array, level: float, rate: float, *, adding: bool) -> Array:
    """The largest divergence on a Poisson sample of pairs whose losses lie in an interval of length level > 0.

    Let r be the likelihood ratio of such a pair, with values in [a, b], a = e^(t-level), b = e^t; its mean under Q is 1. The
    moment of the sampled pair is E_Q[phi(r)], where phi(r) is (1-q+q r)^alpha removing and (1-q+q r)^(1-alpha) adding (at order
    1, the derivative in alpha). It is convex, so it lies below its chord over [a, b], and the moment is at most the value of
    that chord at the mean 1: call it V(t). The law on a and b alone attains it; that is the pair with losses t and t - level,
    which is itself of bounded range. So the answer is the supremum of V over 0 <= t <= level.

    V has one peak. With m the mean slope of phi over [a, b] and p = b(1-a)/(b-a), P's probability of b, the derivative is V' =
    p phi'(b) + (1-p) phi'(a) - m, of the sign of p - theta, theta = (m - phi'(a))/(phi'(b) - phi'(a)) = (b - E y)/(b - a) with
    y distributed on [a, b] with density n proportional to phi'', that is to (1-q+q y)^k, k = alpha - 2 removing and -alpha - 1
    adding. As t grows, p falls from 1 to 0. If k <= 0, theta never falls, because y/a has a falling likelihood ratio in a. If k
    > 0, n rises and is log-concave; at a zero of V', which is where a b = E y, theta - p rises, because its slope is a positive
    multiple of a b - Cov(y, y n'/n) = a b + E y - (b - E y) b n(b) - (E y - a) a n(a), in which the third term is at most b,
    because the failure rate of b - y rises, the last is less than a, because n rises, and E y >= (a + b)/2 likewise. Either way
    V' changes sign once.

    So the peak is found by narrowing a grid around its largest value. The grid is even in log(t/(level - t)), in which the
    logarithm of the divergence has a second derivative of at most 1.2 in size at the peak (measured over levels 1e-6 to 1e5,
    rates from 1e-12, orders to 1e6): with the last step h the value is within h^2 of the supremum, relatively.
    """
    values = [
        _sampled_peak(order[i : i + _ORDERS_AT_ONCE, None], level, rate, adding)
        for i in range(0, order.size, _ORDERS_AT_ONCE)
    ]
    return np.concatenate(values) if values else np.zeros(order.shape)


def _sampled_peak(order: Array, level: float, rate: float, adding: bool) -> Array:
    """The largest divergence over t at each order, by narrowing a grid in log(t/(level - t)) around its best value."""
    s = order - 1.0
    # At high orders the best t or level - t is about 1/order, never much less: e^-20 leaves a wide margin.
    reach = 20.0 + np.log(order) + max(math.log(level), 0.0)
    low, high = -reach, reach
    while True:
        z = low + (high - low) * _GRID_FRACTIONS
        t, gap = level / (1.0 + np.exp(-z)), level / (1.0 + np.exp(z))
        log_excess = _two_point_log_excess(s, t, gap, rate, adding=adding)
        best = np.argmax(log_excess, axis=1)[:, None]
        if (high - low).max() <= _LAST_STEP * (_GRID_FRACTIONS.size - 1):
            return log_one_plus(s[:, 0], np.take_along_axis(log_excess, best, axis=1)[:, 0])
        # V has one peak, so it lies between the neighbours of the best grid point.
        low = np.take_along_axis(z, np.maximum(best - 1, 0), axis=1)
        high = np.take_along_axis(z, np.minimum(best + 1, _GRID_FRACTIONS.size - 1), axis=1)


def _two_point_log_excess(s: Array, t: Array, gap: Array, rate: float, *, adding: bool) -> Array:
    """log of (moment - 1)/s for the sampled pair with losses t and -gap, as a sum of remainders (numerics/remainder.py)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_both = np.log(-np.expm1(-(t + gap)))
        # P's weights of the two outcomes; Q's are e^-loss times them.
        log_top = np.log(-np.expm1(-gap)) - log_both
        log_bottom = np.log(-np.expm1(-t)) - gap - log_both
    top, bottom = log_mixed(t, rate), log_mixed(-gap, rate)
    if adding:
        return np.logaddexp(log_top - t + log_remainder(s, -top), log_bottom + gap + log_remainder(s, -bottom))
    return np.logaddexp(
        log_top + (top - t) + log_remainder(s, top), log_bottom + (bottom + gap) + log_remainder(s, bottom)
    )


def _divergence_upper(level: float, order: Array) -> Array:
    return np.maximum(raised(bounded_range_divergence(order, level), law_error(order)), TINY)


def _sampled_upper(level: float, rate: float, adding: bool, order: Array) -> Array:
    if level == 0.0:
        return np.zeros(order.shape)
    # The grid misses the supremum by at most the square of its last step.
    value = sampled_bounded_range_divergence(order, level, rate, adding=adding)
    return np.maximum(raised(value, law_error(order) + _LAST_STEP**2), TINY)
