"""Points of a convex profile, held by logarithms: the slopes between them, the changes of slope, their lower hull.

The profile D(y), y = e^x, is held relative to the trivial one, max(0, 1 - y): see ``dots``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_MOST_ROUNDS = 24
"""Rounds in which all points above a chord of their neighbours are dropped at once; after them the rest of the hull is found
point by point, which costs as much as some seventy rounds (what each of them spends)."""


@dataclass(frozen=True, slots=True)
class Dots:
    """Points of a profile: losses ``x`` in rising order and ``log_v``, the logarithm of V there (see the module).

    ``place`` is where a point stands on a lattice, in units of the lattice's first step: a binary fraction.
    """

    x: Array
    log_v: Array
    place: Array
    split: float = 0.0
    """Where V turns from the excess over 1 - y into D itself: at 0, but further left for a law that dips below 1 - y."""

    @property
    def middle(self) -> int:
        """How many points lie left of the split."""
        return int(np.searchsorted(self.x, self.split))

    def kept(self, mask: NDArray[np.bool_] | NDArray[np.intp]) -> Dots:
        """Some of the points."""
        return Dots(self.x[mask], self.log_v[mask], self.place[mask], self.split)


@dataclass(frozen=True, slots=True)
class Slopes:
    """log of the slopes of V: rising left of 0 (interval j ends at point j), falling right of it.

    Interval ``middle`` crosses 0 and is the last of ``rise`` and the first of ``fall``; ``rise_error`` and ``fall_error`` bound
    the logs of its absolute errors, because the slope there is a sum with terms of both signs.
    """

    rise: Array
    fall: Array
    rise_error: float
    fall_error: float
    sinks: bool = False
    """Whether the interval across 0 falls faster than the trivial profile, so that its left end is above a chord."""
    climbs: bool = False
    """Whether it rises, so that its right end is above a chord."""


def log_width(x: Array) -> Array:
    """log(e^x_(i+1) - e^x_i)."""
    return x[:-1] + log_expm1(np.diff(x))


def slopes_between(points: Dots, infinite: float = 0.0) -> Slopes:
    """Slopes of V between points; the point (0, 0) precedes the first, and the slope after the last is 0.

    Right of 0 the values may be without ``infinite``.
    """
    x, v, m, n = points.x, points.log_v, points.middle, points.x.size
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        grow = np.fmax(np.diff(v[:m]), 0.0)
        left = v[1:m] + log1mexp(grow) - log_width(x[:m]) if m > 1 else np.empty(0)
        drop = np.fmax(-np.diff(v[m:]), 0.0)
        right = v[m:-1] + log1mexp(drop) - log_width(x[m:]) if n - m > 1 else np.empty(0)
        rise = np.concatenate([v[:1] - x[:1], left]) if m else np.empty(0)
    fall = np.concatenate([right, [-math.inf]]) if n > m else np.empty(0)
    x_a, v_a = (float(x[m - 1]), math.exp(v[m - 1])) if m else (-math.inf, 0.0)
    across = _across(x_a, v_a, float(x[m]), math.exp(v[m]) + infinite) if m < n else _Across(0.0, -math.inf)
    return Slopes(
        np.concatenate([rise, [-math.inf if math.isnan(across.rise) else across.rise]]),
        np.concatenate([[-math.inf if math.isnan(across.fall) else across.fall], fall]),
        across.rise_error,
        across.fall_error,
        sinks=m > 0 and math.isnan(across.rise),
        climbs=math.isnan(across.fall),
    )


class _Across(NamedTuple):
    """Of the interval across 0: the logs of how V rises and D falls, NaN where they do the opposite, and of their errors."""

    rise: float
    fall: float
    rise_error: float = -math.inf
    fall_error: float = -math.inf


def _across(x_a: float, v_a: float, x_b: float, v_b: float) -> _Across:
    """D falls from (1 - y_a) + V_a to V_b; all of it is divided by y_b, which may be too large for a float."""
    width, one_less = -math.expm1(x_a - x_b), -math.expm1(x_a)
    scale = -x_b - math.log(width)
    drop = one_less + v_a - v_b
    fall = log_positive(drop) + scale if drop >= 0.0 else math.nan
    fall_error = log_positive(8.0 * ULP * (one_less + v_a + v_b)) + scale
    if min(v_a, v_b) == 0.0 and max(v_a, v_b) <= one_less:
        fall_error = min(fall_error, fall + math.log(8.0 * ULP))
    # V rises by V_b - V_a - (1 - y_b).
    if x_b > 0.0:
        shrink, one, scale = math.exp(-x_b), -math.expm1(-x_b), -math.log(width)
    else:
        shrink, one = 1.0, math.expm1(x_b)
    climb = (v_b - v_a) * shrink + one
    rise = log_positive(climb) + scale if climb >= 0.0 else math.nan
    rise_error = log_positive(8.0 * ULP * ((v_a + v_b) * shrink + abs(one))) + scale
    return _Across(rise, fall, rise_error, fall_error)


def log_changes(points: Dots, slopes: Slopes) -> Array:
    """log of the change of slope at every point; NaN never, -inf where there is none."""
    with np.errstate(invalid="ignore"):
        before, after = slopes.rise[:-1], slopes.rise[1:]
        left = after + log1mexp(np.fmax(after - before, 0.0))
        before, after = slopes.fall[:-1], slopes.fall[1:]
        right = before + log1mexp(np.fmax(before - after, 0.0))
    return np.concatenate([left, right])


def hull(points: Dots, infinite: float = 0.0) -> Dots:
    """The lower convex hull: a point above the chord of its neighbours is not on it, so all such go at once, repeatedly."""
    for _ in range(_MOST_ROUNDS):
        spend(4.0 * points.x.size)
        slopes = slopes_between(points, infinite)
        bad = np.concatenate([slopes.rise[1:] < slopes.rise[:-1], slopes.fall[1:] > slopes.fall[:-1]])
        if slopes.sinks:
            bad[points.middle - 1] = True
        if slopes.climbs:
            bad[points.middle] = True
        bad[-1] = False
        if not bad.any():
            return points
        points = points.kept(~bad)
    return _hull_by_stack(points, infinite)


def falling(points: Dots, infinite: float) -> tuple[Dots, float]:
    """Points of a lowered profile and its limit, which no point left of 0 may lie below: else it would have to rise again.

    There the limit is the lowest of them, and all that lies right of 0.
    """
    m = points.middle
    if infinite == 0.0 or m in (0, points.x.size):
        return points, infinite
    lowest = float(np.min(np.exp(points.log_v[:m]) - np.expm1(points.x[:m])))
    if lowest >= infinite:
        return points, infinite
    log_v = points.log_v.copy()
    log_v[m:] = -math.inf
    return Dots(points.x, log_v, points.place, points.split), max(lowest * (1.0 - 1e-12), 0.0)


def spanned(points: Dots) -> Dots:
    """Less points between the trivial ends and where the tangents from them touch: the hull would drop them one by one.

    The edge of a lower hull that starts in its first point is the flattest chord from there.
    """
    x, v, m = points.x, points.log_v, points.middle
    keep = np.ones(x.size, dtype=np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        empty = np.flatnonzero(v[:m] == -math.inf)
        if empty.size:
            start = int(empty[-1]) + 1
            keep[:start] = v[:start] == -math.inf  # V is convex from (0, 0) on, so it is 0 up to there
            if start < m:
                chord = v[start:m] - x[start:m] - log1mexp(x[start:m] - x[start - 1])
                keep[start : start + int(np.argmin(chord))] = False
        empty = np.flatnonzero(v[m:] == -math.inf)
        if empty.size:
            stop = m + int(empty[0])
            keep[stop:] = v[stop:] == -math.inf  # and V falls right of 0
            if stop > m:
                chord = v[m:stop] - log1mexp(x[stop] - x[m:stop])
                keep[stop - int(np.argmin(chord[::-1])) : stop] = False
    return points.kept(keep)


def _hull_by_stack(points: Dots, infinite: float) -> Dots:
    """The lower convex hull, point by point, from the point (0, 0) on."""
    spend(270.0 * points.x.size)
    x, v, middle = points.x.tolist(), points.log_v.tolist(), points.middle
    slopes = slopes_between(points, infinite)
    beside = [*slopes.rise[1:].tolist(), *slopes.fall[1:].tolist()]  # of the interval after each point

    def slope(i: int, j: int, rising: bool) -> float:
        """Of V between two points, as a logarithm: its rise, or its fall."""
        if j < middle or i >= middle:
            if j == i + 1:
                return beside[i]
            change, width = abs(v[j] - v[i]) if v[i] != v[j] else 0.0, x[j] - x[i]
            return max(v[i], v[j]) + log_positive(-math.expm1(-change)) - x[j] - log_positive(-math.expm1(-width))
        across = _across(x[i], math.exp(v[i]), x[j], math.exp(v[j]) + infinite)
        return across.rise if rising else across.fall

    kept: list[int] = []
    edges: list[float] = []  # the slope before each of them
    for k in range(len(x)):
        edge = v[k] - x[k] if k < middle else math.inf
        while kept:
            j = kept[-1]
            rising = j < middle
            after = slope(j, k, rising)
            if after >= edges[-1] if rising else after <= edges[-1]:
                edge = after if rising == (k < middle) else slope(j, k, not rising)
                break
            kept.pop()
            edges.pop()
        kept.append(k)
        edges.append(edge)
    return points.kept(np.array(kept))


def log1mexp(x: ArrayLike) -> Array:
    """log(1 - e^-x) for x >= 0 to an absolute error of an ulp, which is all that is needed of a logarithm here."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-np.asarray(x, dtype=np.float64)))


def log_expm1(x: Array) -> Array:
    """log(e^x - 1) for x >= 0, to an absolute error of an ulp or two of x."""
    return x + log1mexp(x)


def log_positive(value: float) -> float:
    """log of a number, -inf where it is not positive."""
    return math.log(value) if value > 0.0 else -math.inf
