"""How low a convex function can lie between the places where it is known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]


def convex_floor(
    place: Array, spread: Array, lower: Array, upper: Array, *, left_end: bool, right_end: bool
) -> tuple[float, float | None]:
    """A lower bound on a convex function, and the place, between two that are known, where the bound itself is lowest.

    The function lies between ``lower`` and ``upper`` at each of the rising places, and these are known up to ``spread``. It is
    smallest between the nearest places on either side that certainly lie as high as the best one, or the ends of its domain,
    if the first or the last place is one. A chord, extended beyond its ends, stays below a convex function: of all chords to
    the left of a gap and to the right of it the steepest bound it from both sides, each taken with the ends of its intervals
    that make the bound weakest.
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
        away, unsure = place[i] - place[:i], spread[i] + spread[:i]
        rise = np.max(_moved((lower[i] - upper[:i]) / away, unsure / away, -1.0), initial=-math.inf)
        away, unsure = place[i + 2 :] - place[i + 1], spread[i + 2 :] + spread[i + 1]
        fall = np.min(_moved((upper[i + 2 :] - lower[i + 1]) / away, unsure / away, 1.0), initial=math.inf)
        value, step = _lowest(
            (float(lower[i]), float(rise)),
            (float(lower[i + 1]), float(fall)),
            float(place[i + 1] - place[i]),
            float(spread[i] + spread[i + 1]),
        )
        if value < floor:
            floor, where = value, float(place[i]) + step
    return floor, where


def _moved(slope: Array, relative_error: Array, sign: float) -> Array:
    """Slopes moved to the side on which their lines bound less; beyond an error of one half there is no line."""
    return np.where(relative_error < 0.5, slope + sign * np.abs(slope) * 2.0 * relative_error, sign * math.inf)


def _lowest(left: tuple[float, float], right: tuple[float, float], width: float, spread: float) -> tuple[float, float]:
    """A lower bound on the larger of two lines on [0, width], and where it is lowest, about.

    Each line is the value at its end of the interval and its slope; an infinite slope stands for a line that is not there. Of
    a falling and a rising line the larger is nowhere below the smaller of their values at any one place, whatever
    rounding did to that place. The lines themselves are lowered by what rounding may do to them, and to the interval.
    """
    (start, rise), (end, fall) = left, right

    def first(x: float) -> float:
        return _lowered(start, rise * x, rise * spread) if math.isfinite(rise) else -math.inf

    def second(x: float) -> float:
        return _lowered(end, -fall * (width - x), fall * spread) if math.isfinite(fall) else -math.inf

    if rise >= 0.0 or fall <= 0.0:
        from_left, from_right = start if rise >= 0.0 else -math.inf, end if fall <= 0.0 else -math.inf
        return (from_left, 0.0) if from_left >= from_right else (from_right, width)
    bounds = [(first(width), width), (second(0.0), 0.0)]
    if math.isfinite(fall - rise):
        crossing = min(max((start - end + fall * width) / (fall - rise), 0.0), width)
        bounds.append((min(first(crossing), second(crossing)), crossing))
    return max(bounds)


def _lowered(start: float, climb: float, unsure: float) -> float:
    return start + climb - 8.0 * ULP * (abs(start) + abs(climb)) - abs(unsure)
