"""From a Renyi divergence of one order to (epsilon, delta), and back: one theorem, three named corners.

Let D bound the divergence of order alpha, s = alpha - 1, and x = dP/dQ. For every 0 <= x2 <= 1 and x1 > x2 the convex
function g(x) = A (x^alpha - x2^alpha - alpha x2^s (x - x2)) with A = 1/(alpha (x1^s - x2^s)) is nonnegative, and its tangent
at x1 is x - e^eps with e^eps = x1 - g(x1). So (x - e^eps)_+ <= g(x), and taking E_Q,

    delta(eps) <= A (e^(s D) - x2^alpha - alpha x2^s (1 - x2)).

x2 = 0 is the bound of Balle et al. (2020) and Canonne, Kamath & Steinke (2020), ``improved``; x2 = 1 is ``tangent``, a
sharpening of Asoodeh et al. (2021); the best x2 attains the exact answer for one order (the binary pair with ratios x1
and x2), ``optimal``; where that pair would need more than all of P's mass on x1, x2 is 0, x1 = e^D and
delta = 1 - e^(eps - D). Because every x2 is valid, an optimiser's last digit never matters. With x2 = e^-b, x1 = x2 e^d,

    N = e^(sD) - 1 + c(b),   c(b) = 1 - e^(-sb)(1 + s (1 - e^-b)) >= 0,
    e^(sd) - 1 = e^(sb) N/(alpha delta),         eps = F(d) - b,   F(d) = d + log(s/alpha) + log1p((1 - e^-d)/(e^(sd) - 1)),

in which nothing overflows or cancels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.logspace import log_expm1
from renyi.numerics.remainder import exp_remainder
from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]

_LARGEST_EXPONENT = 700.0
"""Exponents are cut here: e^700 does not overflow, and e^-700 is nothing beside 1."""


def classic_epsilon(order: float, divergence: float, log_delta: float) -> float:
    """D - log(delta)/(alpha - 1): Mironov (2017), arXiv:1702.07476v3, Proposition 3."""
    return divergence - log_delta / (order - 1.0)


def classic_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """(alpha - 1)(D - epsilon): Mironov's Proposition 3, solved for log delta."""
    return (order - 1.0) * (divergence - epsilon)


def improved_epsilon(order: float, divergence: float, log_delta: float) -> float:
    """D + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1), unclamped.

    Canonne, Kamath & Steinke (2020), arXiv:2004.00010v5, Proposition 12; Balle et al. (2020), arXiv:1905.09982v2, Theorem 21.
    """
    return _epsilon(order - 1.0, (order - 1.0) * divergence, log_delta, math.inf)


def improved_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """The bound of ``improved_epsilon``, solved for log delta, unclamped."""
    return _log_delta(order - 1.0, (order - 1.0) * divergence, epsilon, math.inf)


def tangent_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """The tangent bound, which wins where the divergence is much smaller than delta; epsilon > 0."""
    return _log_delta(order - 1.0, (order - 1.0) * divergence, epsilon, 0.0)


def corner_epsilons(order: Array, divergence: Array, log_delta: float) -> Array:
    """The smaller of ``improved`` and ``tangent`` at each of many orders: close to optimal, and quick to compare."""
    s = order - 1.0
    improved = divergence - (log_delta + np.log(order)) / s - np.log1p(1.0 / s)
    return np.minimum(improved, offset_epsilons(order, divergence, log_delta, np.zeros(order.shape)))


def offset_epsilons(order: Array, divergence: Array, log_delta: float, offset: Array) -> Array:
    """A valid epsilon for each order, divergence and x2 = e^-offset, whatever the offset: ``_epsilon`` of many at once."""
    s = order - 1.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        log_n = np.logaddexp(log_expm1(s * divergence), log_offset_cost(s, offset))
        spread = np.logaddexp(0.0, _log_growth(np, s, log_n, log_delta, offset))
        d = spread / s
        near = (d < 1.0) & (spread < _LARGEST_EXPONENT)
        f = np.where(
            near,
            _f_near(np, exp_remainder, s, np.minimum(d, 1.0)),
            _f_far(np, s, d, np.minimum(spread, _LARGEST_EXPONENT)),
        )
    return np.where(d > 0.0, f, 0.0) - offset


def log_offset_cost(s: Array, offset: Array) -> Array:
    """log of c(b) at many s = order - 1 and offsets b: what an x2 below 1 adds to the moment."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        c = np.where(
            s * offset < 1.0, _c_near(np, exp_remainder, s, np.minimum(offset, 1.0 / s)), _c_far(np, s, offset)
        )
        return np.log(np.maximum(c, 0.0))


def best_offset(order: float, divergence: float, log_delta: float) -> float:
    """The offset at which ``offset_epsilons`` is smallest (0 where the conversion needs none)."""
    s = order - 1.0
    if not math.isfinite(s * divergence) or log_delta >= -math.log1p(s):
        return 0.0
    return _offsets(s, s * divergence, log_delta=log_delta)[1]


def optimal_epsilon(order: float, divergence: float, log_delta: float) -> float:
    """The smallest epsilon that the divergence of one order implies, unclamped below zero."""
    return min(value for value, _ in _epsilons(order, divergence, log_delta))


def optimal_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """log of the smallest delta that the divergence of one order implies, at most 0."""
    return min(0.0, *(value for value, _ in _log_deltas(order, divergence, epsilon)))


def optimal_epsilon_upper(order: float, divergence_upper: float, log_delta: float) -> float:
    """``optimal_epsilon`` with the rounding of its own evaluation added, at least 0."""
    return max(0.0, min(value + slack for value, slack in _epsilons(order, divergence_upper, log_delta)))


def optimal_log_delta_upper(order: float, divergence_upper: float, epsilon: float) -> float:
    """``optimal_log_delta`` with the rounding of its own evaluation added, at most 0."""
    return min(0.0, *(value + slack for value, slack in _log_deltas(order, divergence_upper, epsilon)))


def _epsilons(order: float, divergence: float, log_delta: float) -> list[tuple[float, float]]:
    """Valid epsilons, each with a bound on its rounding."""
    s = order - 1.0
    moment = s * divergence
    if not math.isfinite(moment):
        return [(math.inf, 0.0)]
    if log_delta >= -math.log1p(s):  # delta >= 1/alpha: P lives on x1 alone
        kept = math.log(-math.expm1(log_delta)) if log_delta < 0.0 else -math.inf
        return [(divergence + kept, 4.0 * ULP * (divergence - kept))] if log_delta < 0.0 else [(-math.inf, 0.0)]
    found = []
    for b in _offsets(s, moment, log_delta=log_delta):
        value = _epsilon(s, moment, log_delta, b)
        logs = abs(log_delta) + math.log1p(s) + _size(moment)
        if b == math.inf:
            slack = (moment + logs) / s + math.log1p(1.0 / s)
        else:
            # An error in the logarithms moves d by at most min(d, 1/s) times it; F is good to a few units relatively.
            d = _spread(s, moment, log_delta, b)
            slack = (logs + s * b) * min(d, 1.0 / s) + 2.0 * d + b
        found.append((value, 4.0 * ULP * (abs(value) + slack)))
    return found


def _log_deltas(order: float, divergence: float, epsilon: float) -> list[tuple[float, float]]:
    """Valid logarithms of delta, each with a bound on its rounding."""
    s = order - 1.0
    moment = s * divergence
    if not math.isfinite(moment):
        return [(0.0, 0.0)]
    corner = -math.log1p(1.0 / s)
    if epsilon <= divergence + corner:
        missed = -math.expm1(min(epsilon - divergence, corner))  # of large numbers the difference may be lost, and be 0
        value = math.log(missed)
        return [(value, 4.0 * ULP * (1.0 + divergence / missed + abs(value)))]
    found = []
    for b in _offsets(s, moment, epsilon=epsilon):
        value = _log_delta(s, moment, epsilon, b)
        terms = 8.0 + math.log1p(s) + _size(moment) + abs(value)
        if b == math.inf:
            terms += moment + s * epsilon + s * math.log1p(1.0 / s)
        elif math.isfinite(value):
            terms += s * b + 4.0 * s * _inverse_f(s, epsilon + b)
        found.append((value, 4.0 * ULP * terms if math.isfinite(value) else 0.0))
    return found


def _size(moment: float) -> float:
    """How large log(e^moment - 1 + c) can be, for bounding its rounding."""
    return abs(_log_expm1(moment)) + 1.0 if moment > 0.0 else 800.0


def _epsilon(s: float, moment: float, log_delta: float, b: float) -> float:
    if b == math.inf:
        return (moment - log_delta - math.log1p(s)) / s - math.log1p(1.0 / s)
    return _f(s, _spread(s, moment, log_delta, b)) - b


def _log_delta(s: float, moment: float, epsilon: float, b: float) -> float:
    if b == math.inf:
        return moment - s * epsilon - math.log1p(s) - s * math.log1p(1.0 / s)
    d = _inverse_f(s, epsilon + b)
    return _log_n(s, moment, b) + s * b - math.log1p(s) - _log_expm1(s * d)


def _spread(s: float, moment: float, log_delta: float, b: float) -> float:
    """D = log(x1/x2) from delta."""
    z = _log_growth(math, s, _log_n(s, moment, b), log_delta, b)
    return (z + math.log1p(math.exp(-z)) if z > 0.0 else math.log1p(math.exp(z))) / s


def _log_n(s: float, moment: float, b: float) -> float:
    """log(e^moment - 1 + c(b))."""
    log_excess = _log_expm1(moment)
    if b == 0.0:
        return log_excess
    c = _c_near(math, _phi, s, b) if s * b < 1.0 else _c_far(math, s, b)
    if c <= 0.0:
        return log_excess
    log_c = math.log(c)
    high, low = max(log_excess, log_c), min(log_excess, log_c)
    return high + math.log1p(math.exp(low - high))


def _f(s: float, d: float) -> float:
    """F(d), to a few units in the last place also where it is tiny: F(d) is d/2 at first."""
    if d <= 0.0:
        return 0.0
    sd = s * d
    return (
        _f_near(math, _phi, s, d)
        if d < 1.0 and sd < _LARGEST_EXPONENT
        else _f_far(math, s, d, min(sd, _LARGEST_EXPONENT))
    )


# The formulas once for numbers and for arrays: m is math or numpy, phi(y) its e^y - 1 - y.


def _c_near(m: Any, phi: Any, s: Any, b: Any) -> Any:
    """c(b), where s b is small."""
    return m.exp(-s * b) * (phi(s * b) + s * phi(-b))


def _c_far(m: Any, s: Any, b: Any) -> Any:
    return -m.expm1(m.log1p(-s * m.expm1(-b)) - s * b)


def _log_growth(m: Any, s: Any, log_n: Any, log_delta: float, b: Any) -> Any:
    """log(e^(sd) - 1) from delta."""
    return s * b + log_n - m.log1p(s) - log_delta


def _f_near(m: Any, phi: Any, s: Any, d: Any) -> Any:
    """F(d), where d is small."""
    return m.log1p((s * m.expm1(d) + (s * phi(d) - phi(s * d)) / m.expm1(s * d)) / (1.0 + s))


def _f_far(m: Any, s: Any, d: Any, sd: Any) -> Any:
    return d - m.log1p(1.0 / s) + m.log1p(-m.expm1(-d) / m.expm1(sd))


def _f_slope(s: float, d: float) -> float:
    sd = s * d
    if sd > 700.0:
        return 1.0
    grown, g = math.expm1(sd), -math.expm1(-d)
    return 1.0 + (math.exp(-d) - g * s * (1.0 + grown) / grown) / (grown + g)


def _inverse_f(s: float, target: float) -> float:
    """D > 0 with F(d) = target, by Newton kept inside a shrinking bracket."""
    low, high = max(target, 0.0), target + math.log1p(1.0 / s)
    d = high
    for _ in range(200):
        miss = _f(s, d) - target
        if miss > 0.0:
            high = d
        else:
            low = d
        slope = _f_slope(s, d)
        step = d - miss / slope if slope > 0.0 else low
        step = step if low < step < high else 0.5 * (low + high)
        if abs(step - d) <= ULP * d:
            return step
        d = step
    return low  # a smaller spread is a larger delta: the safe side


def _offsets(s: float, moment: float, log_delta: float | None = None, epsilon: float | None = None) -> list[float]:
    """Values of b worth trying: both corners, and the stationary point between them."""

    def slope(log_b: float) -> float:
        """Negative where a larger b is better: F'(d) (1 - e^(-sd)) (1 + N'/(sN)) - 1."""
        b = math.exp(log_b)
        d = _spread(s, moment, log_delta, b) if log_delta is not None else _inverse_f(s, (epsilon or 0.0) + b)
        if d <= 0.0:
            return -1.0
        growth = (1.0 + s) * -math.expm1(-b) * math.exp(-s * b - _log_n(s, moment, b)) if b > 0.0 else 0.0
        return _f_slope(s, d) * -math.expm1(-s * d) * (1.0 + growth) - 1.0

    # Beyond s b = 25 the bound is the x2 = 0 corner to the last digits; below e^-40 it is the x2 = 1 corner.
    bottom, top = -40.0, max(math.log(25.0 / s), -39.0)
    likely = log_delta if log_delta is not None else _log_delta(s, moment, epsilon or 0.0, 0.0)
    start = min(max(likely + math.log1p(s), bottom), top)  # x2 is nearly 1 - P[bad event]
    # The gain over the corners is about e^start, and errs by the square of the error in log b.
    tolerance = min(max(1e-7 * math.exp(-0.5 * start), 1e-6), 0.5)
    low = high = start
    f_low = f_high = slope(start)
    while f_low >= 0.0 and low > bottom:
        high, f_high, low = low, f_low, max(low - 2.0, bottom)
        f_low = slope(low)
    while f_high < 0.0 and high < top:
        low, f_low, high = high, f_high, min(high + 2.0, top)
        f_high = slope(high)
    if f_low < 0.0 <= f_high:
        for step in range(60):
            if high - low < tolerance:
                break
            secant = (low * f_high - high * f_low) / (f_high - f_low)
            # A hair inside the bracket, so that it closes from both sides; bisect now and then.
            middle = (
                0.5 * (low + high) if step % 3 == 2 else min(max(secant, low + 0.4 * tolerance), high - 0.4 * tolerance)
            )
            value = slope(middle)
            if value < 0.0:
                low, f_low = middle, value
            else:
                high, f_high = middle, value
    return [0.0, math.exp(0.5 * (low + high)), math.inf]


def _log_expm1(x: float) -> float:
    if x <= 0.0:
        return -math.inf
    return math.log(math.expm1(x)) if x < 30.0 else x + math.log1p(-math.exp(-x))


def _phi(y: float) -> float:
    """e^y - 1 - y."""
    if abs(y) > 0.2:
        return math.expm1(y) - y
    total = 1.0
    for n in range(13, 2, -1):
        total = 1.0 + total * (y / n)
    return 0.5 * y * y * total
