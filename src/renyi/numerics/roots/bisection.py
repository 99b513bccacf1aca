"""Bisection of many intervals at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.work import spend

Array = NDArray[np.float64]


def bisect(holds: Callable[[Array], NDArray[np.bool_]], low: Array, high: Array, tolerance: float) -> Array:
    """Where ``holds`` turns from true (at ``low``) to false (at ``high``), to within ``tolerance`` in every interval."""
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    widest = float(np.max(high - low, initial=0.0))
    for _ in range(max(0, math.ceil(math.log2(max(widest / tolerance, 1.0))))):
        spend(10.0 * low.size, calls=12)
        middle = 0.5 * (low + high)
        inside = holds(middle)
        low = np.where(inside, middle, low)
        high = np.where(inside, high, middle)
    return 0.5 * (low + high)
