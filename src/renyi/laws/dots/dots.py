"""Connecting the dots: finite laws of the privacy loss above and below a pair, from its profile at finitely many points.

Let D(y) = H_y(P || Q) be the profile of a pair at y = e^x. It is convex and decreasing with D(0) = 1, and every convex
decreasing function with a limit m >= 0 is the profile of masses: at a kink y of slopes s before and s' after, Q has s' - s and
P has y (s' - s), and P has m where Q has nothing. Composition is monotone in each profile, since
H_y of a product is the mean under P2 of D1(y/y2); so whatever lies above D everywhere gives upper bounds, and whatever lies
below gives lower bounds, also if it is the profile of a measure with less mass than one.

Above: the chords between points of D (Doroshenko et al. 2022, arXiv:2207.04380v1), from (0, 1) on the left to the constant
D(y_n) on the right: what has a smaller loss than the first point moves up to it, D(y_n) becomes infinite loss.

Below: on [y_i, y_(i+1)] a convex D lies above the neighbouring chords extended, so it falls short of its own chord by at most
h_i = a b w/(a + b), with a, b the changes of slope at the ends and w the width. Lower every point by the larger of
its two h: the chords between lowered points stay below D. That excess is second order in the spacing, like the one above.

Everything is held relative to the trivial profile max(0, 1 - y), through log V with V = D(y) for y >= 1 and
V = D(y) - (1 - y) = y H_{1/y}(Q || P) for y < 1. Second differences of V and D agree on each side, so that masses on both sides
keep their relative accuracy, down to where they underflow and far below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.laws.dots.convex_dots import (
    Dots,
    falling,
    hull,
    log1mexp,
    log_changes,
    log_positive,
    log_width,
    slopes_between,
    spanned,
)
from renyi.laws.pair import DominatingPair
from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

PROFILE_ERROR = 1e-12
"""Relative error of a pair's profile, and of its excess over the trivial one."""

_CHORD_AT_RIGHT_END = 1e-5
"""Length of the chord that shows the slope at the right end, as a share of the interval there: all losses of the law below are
lowered by it, while the rounding of a shorter one would hide the slope."""

_CHORDS_AT_LEFT_END = np.geomspace(1e-9, 0.1, 17)
"""Lengths of the chords of which the best shows the slope at the left end, as shares of the interval there."""


@dataclass(frozen=True, slots=True)
class LossMasses:
    """Masses e^``log_p`` of P at the losses ``x``, and ``infinite`` at infinite loss; Q has ``behind`` where P has none."""

    x: Array
    log_p: Array
    place: Array
    infinite: float
    behind: float = 0.0


def excess(pair: DominatingPair, x: Array) -> Array:
    """log V of a pair at each loss; NaN where the pair's own formula fails."""
    spend(4.0 * x.size)
    result = np.empty(x.shape)
    right = x >= 0.0
    with np.errstate(all="ignore"):
        if right.any():
            result[right] = np.minimum(pair.log_profile(x[right]), 0.0)
        if not right.all():
            left = x[~right]
            result[~right] = left + np.minimum(pair.reversed().log_profile(-left), 0.0)
    return result


def dots(x: Array, log_v: Array, place: Array | None = None) -> Dots:
    """Points made monotone and convex: what lies above a chord of its neighbours can only be an error."""
    valid = ~np.isnan(log_v)
    place = (x if place is None else place)[valid]
    x, log_v = x[valid], log_v[valid]
    middle = int(np.searchsorted(x, 0.0))
    log_v = log_v.copy()
    # V rises to the left of 0 and falls to the right of it.
    log_v[:middle] = np.minimum.accumulate(log_v[:middle][::-1])[::-1]
    log_v[middle:] = np.minimum.accumulate(log_v[middle:])
    return hull(Dots(x, log_v, place))


def upper_masses(points: Dots) -> LossMasses:
    """The law whose profile connects the dots, raised by their error."""
    raised = points.log_v + _error(points)
    raised[points.middle :] = np.minimum(raised[points.middle :], 0.0)
    points = hull(Dots(points.x, raised, points.place))
    slopes = slopes_between(points)
    log_q = log_changes(points, slopes)
    middle = points.middle
    if middle > 0:
        log_q[middle - 1] = np.logaddexp(log_q[middle - 1], slopes.rise_error)
    if middle < points.x.size:
        log_q[middle] = np.logaddexp(log_q[middle], slopes.fall_error)
    behind = math.exp(min(float(slopes.rise[0]), 0.0))  # across 0 where the hull has no point left of it
    infinite = math.exp(min(float(points.log_v[-1]), 0.0))
    return LossMasses(points.x, log_q + points.x + _cancelled(points.x), points.place, infinite, behind)


@dataclass(frozen=True, slots=True)
class EndSlopes:
    """log of the slopes with which V leaves 0 on the left (``rise``) and reaches 0 again on the right (``fall``).

    They show the atoms that a pair has at the ends of its losses. Each is the slope of a chord between the last point at which
    V is 0 and one that is a small w <= ``shift`` away, so beyond that one V lies above the chord extended. In between V may
    lie below, but a law with all losses lowered by ``shift`` has its profile W(y e^shift) below D there too: at the right end
    because it is 0 already, at the left end because 1 - y falls by more than the chord rises, if its slope is at most
    (e^shift - 1)/(e^(shift + w) - 1).
    """

    rise: float = -math.inf
    fall: float = -math.inf
    shift: float = 0.0


def end_slopes(pair: DominatingPair, points: Dots, dear: float = 1e4) -> EndSlopes:
    """The slopes at both ends, from below; a shift costs ``dear`` times what it would take from the profile at 0."""
    x, v, m = points.x, points.log_v, points.middle
    rise = fall = -math.inf
    shift = 0.0
    empty = np.flatnonzero(v[:m] == -math.inf)
    if empty.size and empty[-1] + 1 < x.size:
        start = float(x[empty[-1]])
        rise, shift = _rise(pair, start, min(float(x[empty[-1] + 1]), 0.0) - start, dear)
    empty = np.flatnonzero(v[m:] == -math.inf)
    if empty.size and m + empty[0] > 0:
        end = float(x[m + empty[0]])
        start = end - _CHORD_AT_RIGHT_END * (end - max(float(x[m + empty[0] - 1]), 0.0))
        if end > start:
            fall = float(_log_chord(pair, start, end, np.array([start]))[0])
            shift = max(shift, end - start)
    return EndSlopes(rise, fall, shift if max(rise, fall) > -math.inf else 0.0)


def _rise(pair: DominatingPair, start: float, span: float, dear: float) -> tuple[float, float]:
    """log of a slope at the left end and the shift that it needs, which is large if nearly all of Q is an atom there.

    Of a ladder of widths the one that leaves the most at the end of the interval, after the shift, is taken.
    """
    ends = start + span * _CHORDS_AT_LEFT_END
    ends = ends[ends > start]
    if not ends.size:
        return -math.inf, 0.0
    width = ends - start
    rise = _log_chord(pair, start, ends, ends)
    slope = np.exp(np.minimum(rise, 0.0))
    shift = 1.01 * np.maximum(slope / np.maximum(1.0 - slope, 1e-6), 1.0) * width
    rise = np.minimum(rise, np.log(np.expm1(shift) / np.expm1(shift + width)) - 1e-9)
    worth = np.exp(rise) * span - dear * shift
    best = int(np.argmax(worth))
    return (float(rise[best]), float(shift[best])) if worth[best] > 0.0 else (-math.inf, 0.0)


def _log_chord(pair: DominatingPair, start: float | Array, end: float | Array, at: Array) -> Array:
    """log of slopes of chords from a point where V is 0 to ``at``, from below: V moves with the rounding of ``at``."""
    error = 4.0 * PROFILE_ERROR + 32.0 * ULP * (np.abs(at) + ULP) / (end - start)
    value = excess(pair, at)
    with np.errstate(invalid="ignore"):
        slope = value + np.log1p(-np.minimum(error, 0.5)) - end - log1mexp(end - start)
    return np.where(np.isnan(value) | (error > 0.5), -math.inf, slope)


def lower_masses(points: Dots, infinite: float = 0.0, ends: EndSlopes | None = None) -> LossMasses:
    """A law whose profile stays below the true one, with a true mass ``infinite`` at infinite loss.

    On every interval the chord between the lowered values must stay below D. Either both ends are lowered by its h. Or, where h
    is not small against V, as in a tail that falls steeply from point to point, D lies above the neighbouring chord that comes
    from the steeper side of V's own end (from the right of an interval right of 0, from the left of one left of 0), extended:
    then the far end is lowered until the interval is no steeper than that extension, and the near end may be anything below D.
    Before the first point the extension is V = 0 and after the last it is the constant ``infinite``; where V is 0 it is the
    chord of ``EndSlopes``, and all losses are lowered by its shift. Across 0 the extension is
    taken from the right; if it ends below the trivial profile 1 - y, so does the law, from (0, 1) on: that point is D's own.
    The lower convex hull of the points lies below their chords. There has to be a point left of 0; where a hull has left it out
    the profile is a line up to the first point.
    """
    x, m, n = points.x, points.middle, points.x.size
    ends = ends if ends is not None else EndSlopes()
    error = _error(points)
    width = log_width(x)
    log_v = points.log_v.copy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        log_h = _log_shortfalls_upper(points) + 1e-9
        if infinite > 0.0:
            log_v[m:] = log_v[m:] + log1mexp(np.maximum(log_v[m:] - math.log(infinite) - 2.0 * PROFILE_ERROR, 0.0))
        # The interval from a point to the next is compared with V at the end where V is smaller.
        near = np.concatenate([log_v[: max(m - 1, 0)], np.minimum(log_v[m - 1 : m], log_v[m : m + 1]), log_v[m + 1 :]])
        steep = (log_h > near[: n - 1] - math.log(1.1)) if m else (log_h > log_v[1:] - math.log(1.1))
        flat_h = np.where(steep, -math.inf, log_h)
        around = np.concatenate([[-math.inf], flat_h, [-math.inf]])
        log_e = np.logaddexp(np.maximum(around[1:], around[:-1]), points.log_v + np.log(4.0 * error))
        gap = np.where(log_v > -math.inf, log_v - log_e, 0.0)
        value = np.where(gap > 0.0, log_v + log1mexp(np.maximum(gap, 0.0)), -math.inf)
        # Slopes of chords from below: of V rising to each point, and falling from it.
        low, high = log_v + np.log1p(-error), log_v + np.log1p(error)
        rise = low[1:] + log1mexp(np.fmax(low[1:] - high[:-1], 0.0)) - width
        rise = np.concatenate([low[:1] - x[:1], rise])
        fall = low[:-1] + log1mexp(np.fmax(low[:-1] - high[1:], 0.0)) - width
        fall = np.concatenate([fall, [-math.inf]])
        empty = np.flatnonzero(points.log_v[:m] == -math.inf)
        if empty.size:
            rise[empty[-1]] = max(rise[empty[-1]], ends.rise)
        empty = np.flatnonzero(points.log_v[m:] == -math.inf)
        if empty.size:
            fall[m + empty[0]] = max(fall[m + empty[0]], ends.fall)
    if m:
        value[0] = -math.inf
    value[-1] = -math.inf
    places = np.flatnonzero(steep)
    with np.errstate(invalid="ignore"):
        for j in places[places < m - 1]:
            value[j + 1] = _smaller(value[j + 1], np.logaddexp(value[j], rise[j] + width[j]))
        for j in places[places >= m][::-1]:
            value[j] = _smaller(value[j], np.logaddexp(value[j + 1], fall[j + 1] + width[j]))
    lowered = Dots(x, value, points.place)
    if 0 < m < n and steep[m - 1]:
        extended = np.logaddexp(value[m], fall[m] + width[m - 1])
        height = math.exp(min(extended, 0.0)) + infinite
        trivial = -math.expm1(x[m - 1])
        if height > trivial:
            value[m - 1] = min(value[m - 1], log_positive((height - trivial) * (1.0 - 1e-9)))
        else:
            value[m - 1] = extended
            lowered = Dots(x[m - 1 :], value[m - 1 :], points.place[m - 1 :], split=-math.inf)
    lowered, infinite = falling(lowered, infinite)
    lowered = hull(spanned(lowered), infinite)
    log_p = log_masses_lower(lowered, infinite)
    return LossMasses(lowered.x - ends.shift, log_p, lowered.place, infinite)


def _smaller(first: float, second: float) -> float:
    """The smaller of two logarithms, and nothing where one is not a number."""
    return min(first, second) if first == first and second == second else -math.inf


def log_masses_lower(points: Dots, infinite: float = 0.0) -> Array:
    """log of the masses of P that make a convex profile of points, right of 0 without ``infinite``, rounded down across 0."""
    slopes = slopes_between(points, infinite)
    log_q = log_changes(points, slopes)
    m = points.middle
    with np.errstate(invalid="ignore"):
        if m > 0:
            log_q[m - 1] += log1mexp(max(log_q[m - 1] - slopes.rise_error, 0.0))
        if m < points.x.size:
            log_q[m] += log1mexp(max(log_q[m] - slopes.fall_error, 0.0))
    return np.nan_to_num(log_q + points.x - _cancelled(points.x), nan=-math.inf, posinf=math.inf, neginf=-math.inf)


def _cancelled(x: Array) -> Array:
    """The error of a mass of P, whose slope in y is as small as y = e^x is large: both are rounded before they meet."""
    return 3.0 * ULP * np.abs(x)


def log_shortfalls(points: Dots, log_q: Array) -> Array:
    """log of h of every interval between two points, from the changes of slope: how far the profile may lie below its chord."""
    a, b = log_q[:-1], log_q[1:]
    with np.errstate(invalid="ignore"):
        return np.where((a > -math.inf) & (b > -math.inf), a + b - np.logaddexp(a, b) + log_width(points.x), -math.inf)


def _log_shortfalls_upper(points: Dots) -> Array:
    """log of h of every interval, with the errors of the points: h is concave in (a, b), so its gradient bounds its change."""
    log_q = log_changes(points, slopes_between(points))
    width = log_width(points.x)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        log_error = points.log_v + np.log(_error(points))
        slope = np.logaddexp(log_error[1:], log_error[:-1]) - width
        slope = np.concatenate([log_error[:1] - points.x[:1], slope, [-math.inf]])
        change = np.logaddexp(slope[1:], slope[:-1])  # of the change of slope at a point
        a, b = log_q[:-1], log_q[1:]
        total = np.logaddexp(a, b)
        share_a = np.where(total > -math.inf, 2.0 * (b - total), -math.log(2.0))
        share_b = np.where(total > -math.inf, 2.0 * (a - total), -math.log(2.0))
        moved = np.logaddexp(share_a + change[:-1], share_b + change[1:])
        harmonic = np.where((a > -math.inf) & (b > -math.inf), a + b - total, -math.inf)
        # h is never more than the smaller change of slope times the width, either.
        smaller = np.minimum(np.logaddexp(a, change[:-1]), np.logaddexp(b, change[1:]))
        return np.minimum(np.logaddexp(harmonic, moved), smaller) + width


def _error(points: Dots) -> Array:
    """Relative error of V: the profile's own, and that of exponentials of large logarithms."""
    size = np.where(np.isfinite(points.log_v), np.abs(points.log_v), 0.0) + np.abs(points.x)
    return PROFILE_ERROR + 16.0 * ULP * size
