"""How low a convex function can lie between the places where it is known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]


def convex_floor(
    place: Array, lower: Array, upper: Array, *, left_end: bool, right_end: bool
) -> tuple[float, float | None]:
    """A lower bound on a convex function, and the place, between two that are known, where the bound itself is lowest.

    The function lies between ``lower`` and ``upper`` at each of the rising places. It is smallest between the nearest places
    on either side that certainly lie as high as the best one, or the ends of its domain, if the first or the last place is
    one. A chord, extended beyond its ends, stays below a convex function: of all chords to the left of a gap and to the
    right of it the steepest bound it from both sides, each taken with the ends of its intervals that make the bound weakest.
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
        rise = np.max((lower[i] - upper[:i]) / (place[i] - place[:i]), initial=-math.inf)
        fall = np.min((upper[i + 2 :] - lower[i + 1]) / (place[i + 2 :] - place[i + 1]), initial=math.inf)
        width = float(place[i + 1] - place[i])
        value, step = _lowest(float(lower[i]), float(rise), float(lower[i + 1]), float(fall), width)
        if value < floor:
            floor, where = value, float(place[i]) + step
    return floor, where


def _lowest(left: float, rise: float, right: float, fall: float, width: float) -> tuple[float, float]:
    """The lowest point of the larger of two lines on [0, width]: one rises from ``left``, the other ends at ``right``.

    An infinite slope stands for a line that is not there. The lines are lowered by what rounding may do to them.
    """

    def line(start: float, climb: float) -> float:
        return start + climb - 8.0 * ULP * (abs(start) + abs(climb)) if math.isfinite(climb) else -math.inf

    def higher(x: float) -> float:
        return max(
            line(left, rise * x if math.isfinite(rise) else rise),
            line(right, -fall * (width - x) if math.isfinite(fall) else -fall),
        )

    candidates = [0.0, width]
    if rise < fall and math.isfinite(fall - rise):
        crossing = (left - right + fall * width) / (fall - rise)
        if 0.0 < crossing < width:
            candidates.append(crossing)
    values = [higher(x) for x in candidates]
    lowest = values.index(min(values))
    return values[lowest], candidates[lowest]
