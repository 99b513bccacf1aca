"""The root of a falling function, as an interval of two neighbouring floats or nearly so.

Both ends are returned, so a caller that needs a safe side takes the end on which the function has the right sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def falling_root(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Shrink [low, high] to a few units in the last place, keeping function(low) > 0 >= function(high).

    Each step is a secant between the two ends, moved a little to one side of the root that it predicts, left and right in turn,
    so that both ends close in. Whenever two steps have not cut the interval to a quarter, it is bisected instead. Returns
    (low, low) if the function is not positive at ``low``.
    """
    at_low, at_high = function(low), function(high)
    if at_low <= 0.0:
        return low, low
    widths = [high - low] * 3
    # The ends are valid after any number of steps; the limit only bounds the time.
    for turn in range(400):
        width = high - low
        if width <= 4e-16 * abs(high):
            break
        middle = 0.5 * (low + high)
        if width <= 0.25 * widths[-3] or turn < 2:
            drop = at_low - at_high
            guess = low + width * (at_low / drop) if 0.0 < drop < math.inf else middle
            overshoot = max(1e-4 * width, 2e-16 * abs(high))
            guess += overshoot if turn % 2 else -overshoot
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
