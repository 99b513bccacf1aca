"""Where a falling function of one variable crosses zero, to the last digit and on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable


def falling_root(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """The ends of an interval with function(low) > 0 >= function(high) that is a few units of the last digit wide.

    Secant steps between the ends, each a hair beyond the crossing that it predicts, on alternating sides, so that the interval
    closes from both; and a bisection whenever two steps have not cut it to a quarter.
    """
    at_low, at_high = function(low), function(high)
    if at_low <= 0.0:
        return low, low
    widths = [high - low] * 3
    for turn in range(400):
        width = high - low
        if width <= 4e-16 * abs(high):
            break
        middle = 0.5 * (low + high)
        if width <= 0.25 * widths[-3] or turn < 2:
            steep = at_low - at_high
            guess = low + width * (at_low / steep) if 0.0 < steep < math.inf else middle
            hair = max(1e-4 * width, 2e-16 * abs(high))
            guess += hair if turn % 2 else -hair
            middle = guess if low < guess < high else middle
        if not low < middle < high:
            break
        widths.append(width)
        value = function(middle)
        if value > 0.0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return low, high
