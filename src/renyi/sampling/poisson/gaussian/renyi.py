"""The Renyi divergence of the Gaussian mechanism on a Poisson sample, at every real order.

Mironov, Talwar & Zhang (2019), arXiv:1908.10530v1. In units of the noise, with u standard normal under Q,

    R(u) = exp(u/sigma - 1/(2 sigma^2)),   x(u) = log(1 - q + q R(u)),   s = alpha - 1,
    remove:  D = log1p(s E[e^x kappa(s, x)])/s,        add:  D = log1p(s E[kappa(s, -x)])/s

(kappa in numerics/remainder.py). The integrands are nonnegative and analytic in a strip, so the trapezoidal rule
converges geometrically. What remains is to find the few places where an integrand is not negligible, its islands: they
lie far apart when the order is large, and move with the order, the rate and the noise.

Relative error of the divergence: below 1e-12 up to order 1000, growing with the order beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.laws.ratio_law import log_mixed
from renyi.numerics import double_double as dd
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.remainder import exp_remainder, log_one_plus, log_remainder, log_scaled_remainder
from renyi.numerics.roots.bisection import bisect
from renyi.numerics.work import spend

Array = NDArray[np.float64]

SMALLEST_NOISE = 0.02
"""Noise below which the islands are so sharp that poisson.py uses a bound instead of the integral."""

LARGEST_ADD_ORDER = 1e5
"""Order above which the add direction would take too many points; its limit at infinity is close and is used instead."""

FARTHEST = 1e9
"""Multiple of the noise beyond which orders are left to joint convexity; only large groups ask for such orders."""

_MOST_POINTS = 1_000_000
"""Points of one sum; an order that needs more is left to joint convexity."""

_LOG_DEPTH = 44.0
"""Terms below e^-44 = 8e-20 of the largest are left out: a million of them stay below 1e-13."""

_DENSITY_REACH = 9.5
"""Standard deviations over which a normal density falls by e^-45."""

_MERGED_BELOW = 40.0
"""Distance of islands, in standard deviations, below which one sum from the first to the last is cheaper than finding them."""

_ENTRIES_AT_ONCE = 1_000_000
"""Entries of one matrix of orders and points: larger ones outgrow the cache."""

_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)


def sampled_gaussian_remove(order: Array, *, rate: float, noise: float) -> Array:
    """D_order((1-q) N(0, noise^2) + q N(1, noise^2) || N(0, noise^2)) for 0 < q < 1; inf where it would take too long."""
    ratio = _Ratio(rate, noise)
    # The integrand is analytic for |Im u| < pi sigma, so this step has an aliasing error of about e^(-2 pi^2/0.45) = e^-44.
    step = min(0.45 * noise, 0.5)
    log_mean = np.empty(order.shape)
    near = np.maximum(order, 2.0) / noise <= _MERGED_BELOW
    if near.any():
        # The end is rounded up in strides, so that neighbouring orders share a cached lattice.
        end = 4.0 * math.ceil(0.25 * max(float(np.max(order[near])), 2.0) / noise) + _DENSITY_REACH
        log_mean[near] = _in_rows(
            order[near], lambda rows, _: _left_sum(ratio, rows, np.full(rows.shape, end), step), end / step
        )
    far = ~near & (order <= FARTHEST * noise)
    log_mean[~near & ~far] = math.inf
    if far.any():
        log_mean[far] = _in_rows(order[far], lambda rows, _: _island_sums(ratio, rows, step), 200.0 / step)
    return log_one_plus(order - 1.0, log_mean + (math.log(step) - _LOG_NORMAL))


def sampled_gaussian_add(order: Array, *, rate: float, noise: float) -> Array:
    """D_order(N(0, noise^2) || (1-q) N(0, noise^2) + q N(1, noise^2)) for 0 < q < 1; inf above LARGEST_ADD_ORDER.

    The log-integrand of R-powers is concave, with curvature below -1, about one peak in [-s/sigma, 0]; the
    remainder adds an island that reaches from 0 to 2/sigma. For rates near 1 the peak moves left with the order.
    """
    ratio = _Ratio(rate, noise)
    log_mean = np.empty(order.shape)
    for index, alpha in enumerate(order):
        log_mean[index] = _log_add_integral(ratio, float(alpha)) if alpha <= LARGEST_ADD_ORDER else math.inf
    return log_one_plus(order - 1.0, log_mean - _LOG_NORMAL)


@dataclass(frozen=True, slots=True)
class _Ratio:
    """The likelihood ratio r(u) = 1 - q + q exp(u/sigma - 1/(2 sigma^2)), q = ``rate``, sigma = ``noise``; x(u) is log r.

    u is the output in units of the noise, which is standard normal if the record is absent.
    """

    rate: float
    noise: float

    def log_ratio(self, u: Array) -> Array:
        """x at u."""
        return log_mixed((u - 0.5 / self.noise) / self.noise, self.rate)

    def share(self, u: Array) -> Array:
        """The probability q R/(1 - q + q R) that the record was drawn, given u; it equals sigma dx/du."""
        log_odds = float(dd.log_odds(self.rate)[0])
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-((u - 0.5 / self.noise) / self.noise + log_odds))))

    def inverse_share(self, log_odds: Array) -> Array:
        """The u at which the share has these log-odds."""
        return self.noise * (log_odds - float(dd.log_odds(self.rate)[0])) + 0.5 / self.noise

    def height(self, order: Array | float, u: Array) -> Array:
        """The log-integrand of the remove direction."""
        spend(20.0 * u.size, calls=10)
        x = self.log_ratio(u)
        return x - 0.5 * u * u + log_remainder(order - 1.0, x)


def _left_sum(ratio: _Ratio, order: Array, end: Array, step: float) -> Array:
    """log of the sum of the remove integrand over the lattice points from -9.5 to ``end``, which each order has its own of."""
    u, x, base, phi = _lattice(ratio, step, math.ceil(float(np.max(end)) / step))
    terms = base + log_remainder(order[:, None] - 1.0, x, phi)
    # All orders share the points of the longest sum; each drops those beyond its own end.
    if np.min(end) < np.max(end):
        terms[u > (np.ceil(end / step)[:, None] - 0.5) * step] = -math.inf
    return log_sum_exp(terms)


@lru_cache(maxsize=64)  # a search over orders asks for the same points with each of them: a tenth of an Rdp answer
def _lattice(ratio: _Ratio, step: float, stop: int) -> tuple[Array, Array, Array, Array]:
    """The points u from -9.5 to ``stop`` steps, with x, x - u^2/2 and phi(-x), which no order changes."""
    spend(30.0 * (_DENSITY_REACH / step + stop), calls=20)
    u = step * np.arange(math.floor(-_DENSITY_REACH / step), stop, dtype=np.float64)
    x = ratio.log_ratio(u)
    return u, x, x - 0.5 * u * u, exp_remainder(-x)


def _island_sums(ratio: _Ratio, order: Array, step: float) -> Array:
    """log of the sum of the remove integrand over its islands; inf for orders that need too many points."""
    islands = _find_islands(ratio, order)
    result = np.full(order.shape, -math.inf)
    few = islands.points(step) <= _MOST_POINTS
    if not few.all():
        result[~few] = math.inf
        if few.any():
            result[few] = _island_sums(ratio, order[few], step)
        return result
    lone = islands.lone_start > -_DENSITY_REACH
    for index in np.flatnonzero(lone):
        # One island far out: its own stretch of the lattice.
        first, last = math.floor(islands.lone_start[index] / step), math.ceil(islands.left_end[index] / step)
        u = step * np.arange(first, last, dtype=np.float64)
        result[index] = log_sum_exp(ratio.height(order[index], u))
    left = islands.left_counts & ~lone
    if left.any():
        ends = islands.left_end[left]
        result[left] = _in_rows(
            order[left], lambda rows, part: _left_sum(ratio, rows, ends[part], step), np.max(ends) / step
        )
    right = np.isfinite(islands.right_start)
    if right.any():
        start, end = islands.right_start[right], islands.right_end[right]
        inner = _in_rows(
            order[right],
            lambda rows, part: _right_sum(ratio, rows, start[part], end[part], step),
            float(np.max(end - start)) / step,
        )
        result[right] = np.logaddexp(result[right], inner)
    return result


@dataclass(frozen=True, slots=True)
class _Islands:
    """Where the remove integrand is not negligible, for each order: an island near 0 or R = 1, and one near order/sigma."""

    left_end: Array
    lone_start: Array
    """Start of the left island: -9.5, unless it is the only one and begins further right."""
    left_counts: NDArray[np.bool_]
    """Whether the left island is high enough to matter."""
    right_start: Array
    """inf where there is no right island."""
    right_end: Array

    def points(self, step: float) -> Array:
        """The number of lattice points on the islands, for each order."""
        right = np.where(np.isfinite(self.right_start), self.right_end - self.right_start, 0.0)
        return (np.maximum(self.left_end - self.lone_start, 0.0) + right) / step


def _find_islands(ratio: _Ratio, order: Array) -> _Islands:
    """Find where the remove integrand is within e^-44 of its largest value, for each order.

    The slope of the log-integrand lies between h(u) = -u + (order/sigma) share(u) and h(u) + 2/sigma =: H(u) for
    R > 1. The share is logistic, so h and H fall, rise between the two points u-, u+ where share (1 - share) =
    sigma^2/order, and fall again: their roots (a mode, a valley, a mode) are found by bisection between those points.
    """
    sigma = ratio.noise
    slope = order / sigma

    def h(u: Array) -> Array:
        return slope * ratio.share(u) - u

    def upper_h(u: Array) -> Array:
        return h(u) + 2.0 / sigma

    farthest = (order + 2.0) / sigma
    zero = np.zeros(order.shape)
    # share (1 - share) = sigma^2/order has roots only if bend < 1; the smaller one is written without cancellation.
    bend = 4.0 * sigma * sigma / order
    wavy = bend < 1.0
    small_share = np.where(wavy, 0.5 * bend / (1.0 + np.sqrt(np.maximum(1.0 - bend, 0.0))), 0.5)
    log_odds = np.log(small_share / (1.0 - small_share))
    u_minus = np.clip(ratio.inverse_share(log_odds), 0.0, farthest)
    u_plus = np.clip(ratio.inverse_share(-log_odds), 0.0, farthest)

    # h bounds the slope from below, H from above: a sign of the one or the other is a proof, not an estimate.
    two = wavy & (h(u_plus) > 0.0)  # a right mode certainly exists
    clean = two & (upper_h(u_minus) < 0.0)  # and a valley certainly separates it from the left one
    # To half a standard deviation: the islands reach at least ten beyond their modes anyway.
    right_mode = bisect(lambda u: h(u) > 0.0, np.where(two, u_plus, zero), slope, 0.5)
    right_top = bisect(lambda u: upper_h(u) > 0.0, np.where(two, u_plus, zero), farthest, 0.5)
    left_mode = bisect(lambda u: upper_h(u) > 0.0, zero, np.where(wavy, u_minus, farthest), 0.5)
    valley = bisect(lambda u: h(u) < 0.0, u_minus, u_plus, 0.5)
    valley_start = bisect(lambda u: upper_h(u) < 0.0, u_minus, u_plus, 0.5)
    # Where h never turns negative, the integrand climbs all the way from R = 1 to the right mode.
    divide = np.where(h(u_minus) < 0.0, valley, np.clip(u_minus, 0.5 / sigma, None))
    divide = np.minimum(divide, right_mode)

    height = [ratio.height(order, u) for u in (zero, np.full(order.shape, 2.0 / sigma), left_mode, right_top)]
    right_height = ratio.height(order, right_mode)
    left_height = np.maximum(np.maximum(height[0], height[1]), height[2])
    floor = np.maximum(np.maximum(left_height, right_height), height[3]) - _LOG_DEPTH

    def outward(centre: Array, limit: Array) -> Array:
        """The first of centre + 10, 15, 22, ... (towards the limit) at which the integrand is below the floor."""
        span = np.full(order.shape, _DENSITY_REACH + 0.5)
        sign = np.sign(limit - centre)
        for _ in range(60):
            high = (ratio.height(order, centre + sign * np.minimum(span, np.abs(limit - centre))) > floor) & (
                span < np.abs(limit - centre)
            )
            if not high.any():
                break
            span = np.where(high, 1.5 * span, span)
        return centre + sign * np.minimum(span, np.abs(limit - centre))

    right_start = np.where(two, outward(right_mode, divide), math.inf)
    right_end = outward(right_top, farthest + _DENSITY_REACH)
    # Without a certain right mode everything is one island, which may reach past the root of H.
    lone = np.where(
        height[3] > floor, right_end, outward(np.maximum(left_mode, 2.0 / sigma), farthest + _DENSITY_REACH)
    )
    lone_start = np.where(two, -_DENSITY_REACH, outward(left_mode, np.full(order.shape, -_DENSITY_REACH)))
    left_end = np.where(clean, outward(left_mode, valley_start), np.where(two, divide, lone))
    # Islands that touch share the divide between them, so that no point is lost or counted twice.
    joined = two & (ratio.height(order, divide) > floor)
    left_end = np.where(joined, divide, left_end)
    right_start = np.where(joined, divide, right_start)
    return _Islands(left_end, lone_start, (left_height > floor) | joined | ~two, right_start, right_end)


def _right_sum(ratio: _Ratio, order: Array, start: Array, end: Array, step: float) -> Array:
    """log of the sum of the remove integrand over the island near order/sigma, written about that point.

    With u = order/sigma + v the exponent order x - u^2/2 is order (c + log1p(e^-y)) - v^2/2, where
    c = (order - 1)/(2 sigma^2) + log q and y = v/sigma + (order - 1/2)/sigma^2 + log(q/(1-q)). These
    constants cancel and the order multiplies what is left of them, so they are formed with twice the digits.
    """
    rate, sigma = ratio.rate, ratio.noise
    square = dd.two_product(sigma, sigma)
    twice = (2.0 * square[0], 2.0 * square[1])
    c = sum(dd.add(dd.divide(dd.two_sum(order, -1.0), twice), dd.log_of(rate)))
    y0 = sum(dd.add(dd.divide(dd.two_sum(order, -0.5), square), dd.log_odds(rate)))
    first = np.ceil(start / step)
    count = float(np.max(np.ceil(end / step) - first)) + 1.0
    spend(20.0 * order.size * count, calls=40)
    v = (first * step - order / sigma)[:, None] + step * np.arange(int(count))
    y = v / sigma + np.asarray(y0)[:, None]
    # log1p(e^-y) equals -y to rounding long before e^-y overflows.
    rise = np.where(y > -700.0, np.log1p(np.exp(-np.maximum(y, -700.0))), -y)
    exponent = order[:, None] * rise - 0.5 * v * v
    # What is left of e^x kappa(s, x) beside e^(order x): 1/s, but for orders near 1 or for x near 0.
    s = order - 1.0
    s_x = s * (math.log1p(-rate) + y[:, 0] + rise[:, 0])
    plain = s_x > 40.0
    exponent[plain] -= np.log(s[plain])[:, None]
    if not plain.all():
        u = order[~plain, None] / sigma + v[~plain]
        exponent[~plain] += log_scaled_remainder(s[~plain, None], ratio.log_ratio(u))
    return log_sum_exp(exponent) + order * np.asarray(c)


def _log_add_integral(ratio: _Ratio, alpha: float) -> float:
    """log of the integral of the add integrand, times sqrt(2 pi)."""
    sigma = ratio.noise
    s = alpha - 1.0
    # Moving the path by iv multiplies the integrand by at most e^(v^2 (1 + alpha/(4 sigma^2))/2), since share (1 - share) <=
    # 1/4; at the best v this step has an aliasing error of e^-37 = e^(-74/2), below rounding.
    step = min(0.45 * sigma, 0.5, 2.0 * math.pi * sigma / (math.sqrt(74.0) * math.hypot(0.5 * math.sqrt(alpha), sigma)))
    # Only a peak further left than the reach of the density must be located; else one stretch of points covers everything.
    peak = 0.0
    if s / sigma > _DENSITY_REACH:
        found = bisect(lambda u: -u > (s / sigma) * ratio.share(u), np.array([-s / sigma]), np.array([0.0]), 0.01)
        peak = float(found[0])
    first = math.floor(
        (peak - s / sigma - _DENSITY_REACH if s / sigma <= _DENSITY_REACH else peak - _DENSITY_REACH) / step
    )
    last = math.ceil((2.0 / sigma + _DENSITY_REACH) / step)
    gap_start, gap_end = math.ceil((peak + _DENSITY_REACH) / step), math.floor(-_DENSITY_REACH / step)
    spend(20.0 * (last - first), calls=30)
    index = np.arange(first, last + 1)
    # A peak far to the left is summed apart from the island about 0; nothing lies between them.
    if gap_end > gap_start:
        index = np.concatenate([np.arange(first, gap_start), np.arange(gap_end, last + 1)])
    u: Array = step * index.astype(np.float64)
    terms = log_remainder(s, -ratio.log_ratio(u)) - 0.5 * u * u
    return float(log_sum_exp(terms)) + math.log(step)


def _in_rows(order: Array, work: Callable[[Array, slice], Array], width: float) -> Array:
    """Apply ``work`` to slices of the orders, so that no matrix outgrows the cache by much."""
    rows = max(1, int(_ENTRIES_AT_ONCE / max(width, 1.0)))
    slices = [slice(i, i + rows) for i in range(0, order.size, rows)]
    return np.concatenate([work(order[part], part) for part in slices])
