"""A rigorous lower bound on a convex function that is known, within intervals, at a few places."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]


def convex_floor(
    place: Array, spread: Array, lower: Array, upper: Array, *, left_end: bool, right_end: bool
) -> tuple[float, float | None]:
    """A lower bound on a convex function, and where between two known places that bound is attained (None: at a known place).

    The function lies between ``lower`` and ``upper`` at each ``place``, in rising order, and each place is known up to
    ``spread``. ``left_end`` and ``right_end`` say whether the first and the last place are the ends of its domain; where they
    are not, and the function may still fall beyond them, there is no bound and (-inf, None) is returned.

    The minimum lies between the nearest places on either side whose lower value is at least the best upper value. In each gap
    there, chords bound the function: a chord extended beyond its ends stays below a convex function. The steepest chord on the
    left of the gap and the steepest on its right are used, each drawn through the ends of the intervals that make it weakest.
    """
    best = int(np.argmin(upper))
    high = np.flatnonzero(lower >= upper[best])
    before, after = high[high < best], high[high > best]
    first = int(before[-1]) if before.size else 0 if left_end else None
    last = int(after[0]) if after.size else place.size - 1 if right_end else None
    if first is None or last is None:
        return -math.inf, None
    floor, where = float(lower[best]), None
    for i in range(first, last):
        distance, uncertainty = place[i] - place[:i], spread[i] + spread[:i]
        rise = np.max(
            _weakened_slopes((lower[i] - upper[:i]) / distance, uncertainty / distance, -1.0), initial=-math.inf
        )
        distance, uncertainty = place[i + 2 :] - place[i + 1], spread[i + 2 :] + spread[i + 1]
        fall = np.min(
            _weakened_slopes((upper[i + 2 :] - lower[i + 1]) / distance, uncertainty / distance, 1.0), initial=math.inf
        )
        value, step = _floor_of_two_lines(
            (float(lower[i]), float(rise)),
            (float(lower[i + 1]), float(fall)),
            float(place[i + 1] - place[i]),
            float(spread[i] + spread[i + 1]),
        )
        if value < floor:
            floor, where = value, float(place[i]) + step
    return floor, where


def _weakened_slopes(slope: Array, relative_error: Array, sign: float) -> Array:
    """Move slopes by twice their relative error to the side that weakens the bound.

    With an error of one half or more the chord says nothing: its slope becomes infinite, which stands for no line.
    """
    return np.where(relative_error < 0.5, slope + sign * np.abs(slope) * 2.0 * relative_error, sign * math.inf)


def _floor_of_two_lines(
    left: tuple[float, float], right: tuple[float, float], width: float, spread: float
) -> tuple[float, float]:
    """A lower bound on the maximum of two lines on [0, width], and roughly where that maximum is lowest.

    Each line is given by its value at its own end of the interval and its slope; an infinite slope stands for no line. The
    maximum of a falling and a rising line is nowhere below the smaller of their values at any one place, so the bound holds
    wherever rounding puts their crossing. The lines themselves are lowered by the rounding of their values and of the interval.
    """
    (start, rise), (end, fall) = left, right

    def first(x: float) -> float:
        return _rounded_down(start, rise * x, rise * spread) if math.isfinite(rise) else -math.inf

    def second(x: float) -> float:
        return _rounded_down(end, -fall * (width - x), fall * spread) if math.isfinite(fall) else -math.inf

    # A left line that does not fall, or a right line that does not rise, is lowest at its own end.
    if rise >= 0.0 or fall <= 0.0:
        from_left, from_right = start if rise >= 0.0 else -math.inf, end if fall <= 0.0 else -math.inf
        return (from_left, 0.0) if from_left >= from_right else (from_right, width)
    bounds = [(first(width), width), (second(0.0), 0.0)]
    if math.isfinite(fall - rise):
        crossing = min(max((start - end + fall * width) / (fall - rise), 0.0), width)
        bounds.append((min(first(crossing), second(crossing)), crossing))
    return max(bounds)


def _rounded_down(start: float, climb: float, uncertainty: float) -> float:
    """Return start + climb, lowered by the uncertainty of the climb and by a margin for rounding."""
    return start + climb - 8.0 * ULP * (abs(start) + abs(climb)) - abs(uncertainty)
