"""The optimal composition of equal (epsilon, delta) guarantees.

Kairouz, Oh & Viswanath (2015), arXiv:1311.0776v4, Theorem 3.3. ``count`` = k mechanisms, each (e, d)-differentially private
with e = ``step_epsilon`` and d = ``step_delta``, the later ones chosen as one likes after seeing the earlier outputs, are
together (epsilon, 1 - (1-d)^k (1 - D))-differentially private with

    D(epsilon) = sum_{l=0..k} C(k,l) [e^((k-l) e) - e^(epsilon + l e)]_+ / (1 + e^e)^k,

and no smaller delta is true of all such mechanisms: k answers of randomized response attain it. The sum is taken as

    D(epsilon) = sum over l <= m of w_l (1 - e^(-(g + 2 (m-l) e))),        w_l the weights of Bin(k, 1/(1 + e^e)),

where m is the last l whose loss (k-2l) e exceeds epsilon, by g > 0: g is found without rounding, the terms are positive, and
they are log-concave in l, so that what lies outside of a window is less than a geometric series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.errors import ConvergenceError
from renyi.laws.interval import Interval
from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.rounding import TINY, ULP
from renyi.numerics.work import remembered, spend

Array = NDArray[np.float64]

MOST_STEPS = 10**10
"""Beyond it the sum has too many terms; a closed form is as good there (composition_theorems.py)."""

_END_WORK = 1e8
"""What one end may take, in computed numbers."""

_CERTAIN = 600.0  # a loss whose opposite has probability e^-600
_DEPTH = 9.7  # standard deviations after which a normal density has fallen by e^-47
_FEW = 150  # terms that a short tail needs beyond that


def optimal_composition_delta(*, step_epsilon: float, step_delta: float = 0.0, count: int, epsilon: float) -> float:
    """The smallest delta that is true at ``epsilon`` of every composition, raised by its rounding error."""
    return optimal_delta(step_epsilon, step_delta, count, epsilon).upper


def optimal_composition_epsilon(*, step_epsilon: float, step_delta: float = 0.0, count: int, delta: float) -> float:
    """The smallest epsilon that is true at ``delta`` of every composition, raised by its rounding error; it may be infinite."""
    return _end(step_epsilon, step_delta, count, delta, 1.0)


def optimal_delta(step_epsilon: float, step_delta: float, count: int, epsilon: float) -> Interval:
    """The same with both ends."""
    step_epsilon, step_delta, count = _checked(step_epsilon, step_delta, count)
    epsilon = check.epsilon(epsilon=epsilon)
    fails = failure(step_delta, count)
    losses = _losses(step_epsilon, count, epsilon, epsilon)
    value, error = (0.0, 0.0) if losses is None else losses.delta(epsilon)
    lower, upper = value * (1.0 - error), value * (1.0 + error)
    if fails.upper == 0.0:
        return Interval(max(lower, 0.0), min(upper, 1.0))
    lower, upper = fails.lower + (1.0 - fails.lower) * lower, fails.upper + (1.0 - fails.upper) * upper
    upper = min(upper * (1.0 + 4.0 * ULP), 1.0)
    return Interval(min(max(lower * (1.0 - 4.0 * ULP), 0.0), upper), upper)


def optimal_composition_epsilon_lower(
    *, step_epsilon: float, step_delta: float = 0.0, count: int, delta: float
) -> float:
    """The same, lowered by its rounding error: what randomized response costs at least."""
    return _end(step_epsilon, step_delta, count, delta, -1.0)


def failure(step_delta: float, count: int) -> Interval:
    """1 - (1-d)^k: the probability that some step fails."""
    if step_delta == 0.0 or count == 0:
        return Interval(0.0, 0.0)
    value = -math.expm1(count * math.log1p(-step_delta))
    # Rounded in the logarithm, in its multiple and in the exponential; what is subnormal may be off by a whole unit.
    return Interval(max(value * (1.0 - 8.0 * ULP) - 1e-323, 0.0), min(value * (1.0 + 8.0 * ULP) + 1e-323, 1.0))


@remembered(maxsize=64, numbers=_END_WORK)  # one question is asked by several accountants
def _end(step: float, step_delta: float, count: int, delta: float, side: float) -> float:
    step, step_delta, count = _checked(step, step_delta, count)
    delta, fails = check.delta(delta=delta), failure(step_delta, count)
    left = _left(delta, fails.upper if side > 0.0 else fails.lower, 1.0 - 4.0 * ULP * side)
    return float(_epsilon(step, count, left, side))


def _left(delta: float, fails: float, rounding: float) -> float | None:
    """What is left for the steps that do not fail: (delta - fails)/(1 - fails); None where nothing is."""
    if fails == 0.0:
        return delta
    return (delta - fails) / (1.0 - fails) * rounding if delta > fails else None


def _epsilon(step: float, count: int, delta: float | None, side: float) -> float:
    """The root of D(epsilon) = delta, with D moved up (``side`` 1) or down (-1) by its error."""
    if delta is None:
        return math.inf
    largest = step * count
    away = 4.0 * ULP * side
    if delta == 0.0 or largest == 0.0:
        return largest * (1.0 + away)
    if step > _CERTAIN:  # all of P lies on the largest loss
        return max((largest + math.log1p(-delta)) * (1.0 + away), 0.0)
    highest = min(largest, _chernoff(step, count, delta))
    losses = _losses(step, count, 0.0, highest)
    if losses is None:
        return 0.0
    value, error = losses.delta(0.0)
    if value * (1.0 + side * error) <= delta:
        return 0.0
    # The last loss at which D does not yet exceed delta, then the crossing between it and the next.
    low, high = max(_last_above(step, count, highest), 0), _last_above(step, count, 0.0) + 1
    while high - low > 1:
        middle = (low + high) // 2
        value, error = losses.sum(middle, 0.0)
        low, high = (middle, high) if value * (1.0 + side * error) <= delta else (low, middle)
    below = losses.crossing(low, delta, side)
    return min(max((count - 2 * low) * step * (1.0 + away) - below, 0.0), largest * (1.0 + 4.0 * ULP))


def _chernoff(step: float, count: int, delta: float) -> float:
    """An epsilon at which D is at most delta: Hoeffding's bound, a hair above it."""
    mean = count * step * math.tanh(0.5 * step)
    return (mean + step * math.sqrt(-2.0 * count * math.log(delta))) * (1.0 + 1e-9)


@dataclass(frozen=True, slots=True)
class _Losses:
    """The weights of the losses (k-2l) e for consecutive l, from ``first`` on."""

    step: float
    count: int
    first: int
    log_weight: Array
    error: Array
    """Of each logarithm, by its rounding."""

    def delta(self, epsilon: float) -> tuple[float, float]:
        """D and a bound on its relative error."""
        if self.step > _CERTAIN:
            return -math.expm1(-_gap(self.step, self.count, 0, epsilon)), 4.0 * ULP
        last = _last_above(self.step, self.count, epsilon)
        return self.sum(last, _gap(self.step, self.count, last, epsilon)) if last >= 0 else (0.0, 0.0)

    def sum(self, last: int, gap: float) -> tuple[float, float]:
        """The same where the loss of index ``last`` exceeds epsilon by ``gap``."""
        log_w, far = self._up_to(last)
        return self._total(log_w, -np.expm1(-(gap + 2.0 * self.step * far)), last)

    def crossing(self, last: int, delta: float, side: float) -> float:
        """By how much epsilon lies below the loss ``last`` where D, moved by its error, is delta; up to the next loss.

        There D is its value at that loss plus (1 - e^-gap) times the sum of w_l e^(-2 (last-l) e), without any cancellation.
        """
        log_w, far = self._up_to(last)
        with np.errstate(under="ignore"):
            slope, slope_error = self._total(log_w, np.exp(-2.0 * self.step * far), last)
        value, error = self.sum(last, 0.0)
        moved = 1.0 + side * max(error, slope_error)
        if slope == 0.0 or moved <= 0.0:  # nothing that a float could hold: anywhere between the two losses
            return 0.0 if side > 0.0 else 2.0 * self.step
        share = (delta / moved - value) / slope
        share = min(max(share, 0.0), -math.expm1(-2.0 * self.step))
        return -math.log1p(-share) * (1.0 - 4.0 * ULP * side)

    def _up_to(self, last: int) -> tuple[Array, Array]:
        """The logarithmic weights of the losses up to ``last``, and their distance from it."""
        size = min(last - self.first + 1, self.log_weight.size)
        return self.log_weight[:size], float(last - self.first) - np.arange(float(size))

    def _total(self, log_w: Array, factor: Array, last: int) -> tuple[float, float]:
        """The sum of weights times a factor that is log-concave too, and a bound on its relative error."""
        size, peak = log_w.size, float(np.max(log_w))
        spend(3.0 * size)
        with np.errstate(under="ignore"):
            terms = np.exp(log_w - peak) * factor
            total = float(np.sum(terms))
            error = float(np.sum(terms * self.error[:size])) / total if total > 0.0 else 0.0
        if total <= 0.0:
            return 0.0, 0.0
        left_out = _beyond(float(terms[0]), float(terms[min(1, size - 1)])) if self.first > 0 else 0.0
        left_out += _beyond(float(terms[-1]), float(terms[max(size - 2, 0)])) if self.first + size <= last else 0.0
        log_value = math.log(total) + peak
        error += 1e-14 + 2.0 * ULP * abs(log_value) + left_out / total
        value = math.exp(min(log_value, 700.0))
        return max(value, TINY), error if value >= TINY else 1.0


def _losses(step: float, count: int, smallest: float, largest: float) -> _Losses | None:
    """The losses that matter for epsilons between ``smallest`` and ``largest``; None where none exceeds the smallest."""
    if count == 0 or step == 0.0 or _last_above(step, count, smallest) < 0:
        return None
    if step > _CERTAIN:
        return _Losses(step, count, 0, np.empty(0), np.empty(0))
    if count > MOST_STEPS:
        raise ConvergenceError(
            f"the optimal composition is summed up to {MOST_STEPS:.0e} steps; got {count}. "
            "Use improved_advanced_composition, which is as good there, or accountant=renyi.Exact()."
        )
    rate = math.exp(-step) / (1.0 + math.exp(-step))
    mean = count * rate
    width = math.ceil(_DEPTH * math.sqrt(mean * (1.0 - rate))) + _FEW
    centre = math.floor(mean)
    top = min(_last_above(step, count, smallest), centre + width)
    bottom = max(min(_last_above(step, count, largest), centre) - width, 0)
    ell = np.arange(float(bottom), float(top) + 1.0)
    log_weight = log_binomial_weight(count, ell, rate)
    error = 4e-16 * (8.0 + 8.0 * np.abs(log_weight) + 2.0 * np.abs(ell - mean) / (1.0 - rate))
    return _Losses(step, count, bottom, log_weight, error)


def _last_above(step: float, count: int, epsilon: float) -> int:
    """The last l with (k-2l) e > epsilon, -1 if there is none; without rounding."""
    if step == 0.0:
        return -1
    return min(math.ceil((count - Fraction(epsilon) / Fraction(step)) / 2) - 1, count)


def _gap(step: float, count: int, ell: int, epsilon: float) -> float:
    """(k-2l) e - epsilon, correctly rounded."""
    return float((count - 2 * ell) * Fraction(step) - Fraction(epsilon))


def _beyond(outer: float, inner: float) -> float:
    """What log-concave terms add up to beyond the outer of two neighbours."""
    return outer * (outer / (inner - outer)) if outer < inner else (0.0 if outer == 0.0 else math.inf)


def _checked(step_epsilon: float, step_delta: float, count: int) -> tuple[float, float, int]:
    return (
        check.epsilon(step_epsilon=step_epsilon),
        check.delta(step_delta=step_delta),
        check.count(count=count),
    )
