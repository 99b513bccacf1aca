"""The pair of something that is known by its Renyi curves alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.laws.conversion import log_offset_cost
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.dots.dots import dots
from renyi.laws.pair import DominatingPair
from renyi.numerics.logspace import log1mexp, log_expm1
from renyi.numerics.remainder import exp_remainder
from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_ORDERS_LESS_ONE = np.geomspace(1e-4, 1e6, 200)
"""Orders minus one at which a curve is converted: every order gives a valid bound, more of them a closer one."""

_SPREADS = np.geomspace(1e-9, 1e3, 120)
"""Values of d = log(x1/x2) in the tangent bound of conversion.py: every one gives a valid point."""

_OFFSETS = 48
"""Values of b = -log x2 that are tried for each order."""

_LEAST_OFFSET, _FAR_OFFSET = 1e-4, 25.0
"""The least of them, and the largest times 1/s: beyond, deltas are below 1e-4 or the bound is that of x2 = 0."""

_HALVINGS = 20
"""Halvings of a spread, to six digits: the bound is flat there, so that its last digits do not matter."""

_LARGEST_EXPONENT = 700.0
"""An exponent whose exponential floats hold."""

_EPSILON_CELLS = 1500
"""Cells in log epsilon, of each of which the best point of the tangent bound is kept."""

_FIRST_LEVELS = np.geomspace(1e-9, 60.0, 240)
"""Levels at which the corners of the hull are first sought, each about a tenth above the last."""

_LONG_EDGE = 0.1
"""Length of an edge of the hull, relative to its further end, from which on its ends are sought more closely."""

_CORNER_SEARCHES = (0.12, 241), (5e-3, 61), (5e-4, 41), (5e-5, 41)
"""How far about an end of a long edge a better one is sought (at first, up to the next level), and in how many steps."""

_EVALUATION_ERROR = 1e-12
"""Relative error allowed for evaluating the bounds: thousands of roundings, well above what was found."""


@dataclass(frozen=True, slots=True)
class CurvePair(DominatingPair):
    """A pair above everything with these Renyi curves, ``curve`` for (P, Q) and ``opposite`` for (Q, P).

    Its profile is at every level the least that a ladder of orders implies, by the theorem of conversion.py, with a ladder of
    x2 from 0 to 1. A profile is convex in e^epsilon, so that the lower hull holds too: across 0, where
    its chords reach from what one curve implies to what the other does, and wherever orders are few.
    """

    curve: RenyiCurve
    opposite: RenyiCurve
    mirrored: bool = field(default=False, compare=False, repr=False)
    """Whether its hull is that of the pair whose reversal it is, mirrored."""

    @property
    def attained(self) -> bool:
        return False

    @property
    def max_loss(self) -> float:
        return self.curve.limit if self.curve.mass == 0.0 else math.inf

    @property
    def infinite_mass(self) -> float:
        return self.curve.infinite_mass

    def reversed(self) -> CurvePair:
        return CurvePair(self.opposite, self.curve, not self.mirrored)

    def log_profile(self, epsilon: Array) -> Array:
        """As described for epsilon >= 0; 1 - e^epsilon + e^epsilon H_{e^-epsilon}(Q || P) below."""
        flat = np.asarray(epsilon, dtype=np.float64).ravel()
        direct = _with_trivial(flat, _log_excess(self.curve, self.opposite, flat))
        return np.minimum(direct, _log_on_hull(*self._corners(), flat)).reshape(epsilon.shape)

    def _corners(self) -> tuple[Array, Array]:
        """The corners of the hull, levels and log delta."""
        if self.mirrored:
            x, log_v = _hull(self.opposite, self.curve)
            x, log_v = -x[::-1], (log_v - x)[::-1]  # V(y) = y W(1/y), W of the reversed pair
        else:
            x, log_v = _hull(self.curve, self.opposite)
        return x, _with_trivial(x, log_v)


# Cached by curves, not held by the pair: a pair and its reversal share them, and curves of a part return in the whole. Without
# the hull an answer takes four to ten times as long, without the table up to three times, without this number a tenth more.
@lru_cache(maxsize=64)
def _log_at_zero(curve: RenyiCurve, opposite: RenyiCurve) -> float:
    """log of the total variation, which either curve bounds, and with it every delta at levels above 0, both ways."""
    zero = np.zeros(1)
    return float(min(_log_delta(curve, zero)[0], _log_delta(opposite, zero)[0]))


@lru_cache(maxsize=64)
def _hull(curve: RenyiCurve, opposite: RenyiCurve) -> tuple[Array, Array]:
    """The corners of the lower hull, levels and log V: where what the curves imply is not convex, chords lie below it.

    Where an edge passes over points, its ends are sought anew in finer steps.
    """
    x = np.concatenate([-_candidates(opposite)[::-1], [0.0], _candidates(curve)])
    with np.errstate(all="ignore"):
        log_v = _log_excess(curve, opposite, x)
        for reach, steps in _CORNER_SEARCHES:
            corners = dots(x, log_v)
            start, end = corners.x[:-1], corners.x[1:]
            long = _is_long(start, end) & (np.diff(np.searchsorted(x, corners.x)) > 1)
            ends = np.unique(np.concatenate([start[long], end[long]]))
            more = np.linspace(ends * (1.0 - reach), ends * (1.0 + reach), steps).ravel()
            x, first = np.unique(np.concatenate([corners.x, more]), return_index=True)
            log_v = np.concatenate([corners.log_v, _log_excess(curve, opposite, more)])[first]
        corners = dots(x, log_v)
    return corners.x, corners.log_v


def _candidates(curve: RenyiCurve) -> Array:
    """Levels above 0 at which the hull may have a corner."""
    kinks = np.append(_table(curve)[3], curve.limit)
    return np.unique(np.concatenate([_FIRST_LEVELS, kinks[(kinks > _FIRST_LEVELS[0]) & (kinks < _FIRST_LEVELS[-1])]]))


def _log_excess(curve: RenyiCurve, opposite: RenyiCurve, x: Array) -> Array:
    """log of what the profile has above the trivial one, max(0, 1 - e^x)."""
    at_zero = _log_at_zero(curve, opposite)
    right = x >= 0.0
    log_v = np.empty(x.shape)
    log_v[right] = np.minimum(_log_delta(curve, x[right]), at_zero)
    log_v[~right] = np.minimum(_log_delta(opposite, -x[~right]), at_zero) + x[~right]
    return log_v


def _with_trivial(x: Array, log_v: Array) -> Array:
    return np.minimum(np.logaddexp(log1mexp(np.maximum(-x, 0.0)), log_v), 0.0)


def _is_long(start: Array, end: Array) -> NDArray[np.bool_]:
    """Whether an edge is one whose ends are sought; what shorter ones pass over is next to nothing."""
    return np.asarray(end - start > _LONG_EDGE * np.maximum(np.abs(start), np.abs(end)))


def _log_on_hull(corners: Array, log_values: Array, epsilon: Array) -> Array:
    """log of the long edges of the hull, as a sum of positive terms; infinite elsewhere.

    Not of the short ones: their ends lie where points happened to be, so that a larger curve might have a lower chord.
    """
    at = np.clip(np.searchsorted(corners, epsilon, side="right") - 1, 0, corners.size - 2)
    x, z = corners[at], corners[at + 1]
    inside = (epsilon >= x) & (epsilon <= z) & _is_long(x, z)
    y = np.where(inside, epsilon, x)
    with np.errstate(divide="ignore"):
        behind, ahead = x + log_expm1(y - x), y + log_expm1(z - y)
        value = np.logaddexp(log_values[at] + ahead, log_values[at + 1] + behind) - np.logaddexp(behind, ahead)
    return np.where(inside, value + 4.0 * _EVALUATION_ERROR, math.inf)


def _log_delta(curve: RenyiCurve, epsilon: Array) -> Array:
    """log of a valid delta at each epsilon >= 0, its own rounding included."""
    result = np.zeros(epsilon.shape)
    s, moment, lines, knots, log_values = _table(curve)
    spend(80.0 * epsilon.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if s.size:
            result = np.minimum(lines(epsilon), 0.0)
            # All of P on x1 = e^D: delta = 1 - e^(epsilon - D) up to epsilon = D - log(1 + 1/s), by the first such order.
            reach = np.append(
                np.maximum.accumulate((moment / s) * (1.0 - _EVALUATION_ERROR) - np.log1p(1.0 / s)), math.inf
            )
            divergence = np.append(moment / s, math.inf)[np.searchsorted(reach, epsilon + _EVALUATION_ERROR)]
            result = np.minimum(result, log1mexp(divergence * (1.0 + _EVALUATION_ERROR) - epsilon))
        if knots.size:
            # The profile falls, so what holds at a knot holds beyond; it is convex in e^epsilon, so chords hold between knots.
            place = np.searchsorted(knots, epsilon, side="right") - 1
            inside = (place >= 0) & (place < knots.size - 1)
            at = np.clip(place, 0, knots.size - 2)
            width = log_expm1(knots[at + 1] - knots[at])
            share = np.exp(log_expm1(np.maximum(epsilon - knots[at], 0.0)) - width)
            before, after = log_values[at], log_values[at + 1]
            chord = (
                before
                + np.log1p(np.clip(share, 0.0, 1.0) * np.expm1(np.minimum(after - before, 0.0)))
                + _EVALUATION_ERROR
            )
            result = np.where(inside, np.minimum(result, chord), result)
            result = np.where(place >= knots.size - 1, np.minimum(result, log_values[-1]), result)
        if curve.limit < math.inf:
            # P <= e^limit Q.
            result = np.minimum(result, log1mexp(np.maximum(curve.limit - epsilon, 0.0) * (1.0 + _EVALUATION_ERROR)))
        if curve.mass > 0.0:
            result = np.minimum(np.log(curve.mass + (1.0 - curve.mass) * np.exp(result)) + _EVALUATION_ERROR, 0.0)
    return result


def _points(s: Array, moment: Array, b: Array, d: Array) -> tuple[Array, Array]:
    """epsilon = F(d) - b and log delta = log(N e^(sb)/(alpha (e^(sd) - 1))), one row for each order; valid whatever b and d."""
    s = s[:, None]
    sd = np.minimum(s * d, _LARGEST_EXPONENT)
    with np.errstate(all="ignore"):
        grown = np.expm1(sd)
        near = np.log1p((s * np.expm1(d) + (s * exp_remainder(d) - exp_remainder(sd)) / grown) / (1.0 + s))
        far = d - np.log1p(1.0 / s) + np.log1p(-np.expm1(-d) / grown)
        eps = np.where((d < 1.0) & (sd < _LARGEST_EXPONENT), near, far) - b
        log_n = np.logaddexp(log_expm1(moment)[:, None], log_offset_cost(s, b))
        return eps, log_n + s * b - np.log1p(s) - log_expm1(s * d)


def _spread(s: Array, moment: Array, b: Array) -> Array:
    """d = log(x1/x2) of the two-point pair with ratios x1 > 1 > x2 = e^-b whose divergence is D, by bisection.

    Q has (1 - x2)/(x1 - x2) on x1, so that its mean ratio is 1; the moment rises with x1.
    """
    s, moment = s[:, None], moment[:, None]
    log_rest = log1mexp(b)
    low, high = np.zeros(b.shape), (moment - log_rest) / s + 1.0
    spend(10.0 * _HALVINGS * b.size, calls=20 * _HALVINGS)
    for _ in range(_HALVINGS):
        y = 0.5 * (low + high)  # log x1
        log_moment = np.logaddexp(log_rest + (1.0 + s) * y, log_expm1(y) - (1.0 + s) * b) - (log_expm1(y + b) - b)
        below = log_moment < moment
        low, high = np.where(below, y, low), np.where(below, high, y)
    return high + b


@dataclass(frozen=True, slots=True)
class _Lines:
    """log delta as lines in epsilon, one for each order, of which the lowest at each epsilon holds: a concave envelope.

    ``turns`` are where one line of the envelope gives way to the next, which is steeper. Every line is a bound everywhere, so a
    turn that is a little off takes nothing from what holds.
    """

    height: Array
    slope: Array
    turns: Array

    @classmethod
    def of(cls, s: Array, moment: Array) -> _Lines:
        """x2 = 0: Canonne, Kamath & Steinke (2020), Proposition 12, with an error for its own rounding."""
        height = moment - np.log1p(s) - s * np.log1p(1.0 / s) + _EVALUATION_ERROR + 8.0 * ULP * (moment + 40.0)
        slope = s * (1.0 - 8.0 * ULP)
        kept: list[int] = []
        x, y = slope.tolist(), height.tolist()
        for k in range(s.size):  # lines on the envelope are corners of the lower hull of (slope, height)
            while len(kept) > 1 and _is_above(x, y, kept[-2], kept[-1], k):
                kept.pop()
            kept.append(k)
        height, slope = height[kept], slope[kept]
        return cls(height, slope, np.diff(height) / np.diff(slope))

    def __call__(self, epsilon: Array) -> Array:
        at = np.searchsorted(self.turns, epsilon)
        return np.asarray(self.height[at] - self.slope[at] * epsilon)


def _is_above(x: list[float], y: list[float], i: int, j: int, k: int) -> bool:
    """Whether point j is not below the chord from i to k."""
    return (y[j] - y[i]) * (x[k] - x[j]) >= (y[k] - y[j]) * (x[j] - x[i])


@lru_cache(maxsize=64)
def _table(curve: RenyiCurve) -> tuple[Array, Array, _Lines, Array, Array]:
    """Orders minus one with a finite moment, the logarithms of the moments, the lines of x2 = 0, and points (epsilon, log
    delta) of x2 > 0.

    For each order those of x2 = 1, which are the best where delta is small, and of a ladder of x2 with the x1 that goes best
    with it. All are pooled; of each cell in log epsilon the smallest delta is kept.
    """
    excesses = _ORDERS_LESS_ONE[curve.max_order >= _ORDERS_LESS_ONE + 1.0]
    if curve.max_order < math.inf and curve.max_order > 1.0:
        excesses = np.unique(np.append(excesses, curve.max_order - 1.0))
    whole = np.arange(1.0, 65.0)
    excesses = np.unique(np.concatenate([excesses, whole[whole + 1.0 <= curve.max_order]]))
    with np.errstate(all="ignore"):
        moment = excesses * curve(1.0 + excesses) if excesses.size else excesses
    finite = np.isfinite(moment)
    s, moment = excesses[finite], moment[finite]
    lines = _Lines.of(s, moment)
    if not s.size:
        return s, moment, lines, np.empty(0), np.empty(0)
    offset = np.geomspace(_LEAST_OFFSET, np.maximum(_FAR_OFFSET / s, _LEAST_OFFSET), _OFFSETS, axis=1)
    bounds = [_points(s, moment, np.zeros(1), _SPREADS), _points(s, moment, offset, _spread(s, moment, offset))]
    eps, log_delta = (np.concatenate([one.ravel() for one in part]) for part in zip(*bounds, strict=True))
    valid = np.isfinite(eps) & (eps > 0.0) & (log_delta < 0.0) & (log_delta > -math.inf)
    eps, log_delta = (
        eps[valid] * (1.0 + _EVALUATION_ERROR),
        log_delta[valid] + _EVALUATION_ERROR + 8.0 * ULP * np.abs(log_delta[valid]),
    )
    if not eps.size:
        return s, moment, lines, np.empty(0), np.empty(0)
    low, high = math.log(float(np.min(eps))), math.log(float(np.max(eps)))
    cell = np.minimum(((np.log(eps) - low) / max(high - low, 1e-9) * _EPSILON_CELLS).astype(np.int64), _EPSILON_CELLS)
    smallest = np.full(_EPSILON_CELLS + 1, math.inf)
    np.minimum.at(smallest, cell, log_delta)
    # Of the points of a cell keep the one with the smallest delta itself: it is a valid point.
    best = np.flatnonzero(log_delta <= smallest[cell])
    _, first = np.unique(cell[best], return_index=True)
    best = best[first]
    best = best[np.argsort(eps[best])]
    knots, values = eps[best], np.minimum.accumulate(log_delta[best])
    return s, moment, lines, knots, values
