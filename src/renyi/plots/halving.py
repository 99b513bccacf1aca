"""Adaptive sampling of a curve for drawing: even at first, then denser where it bends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def halved(
    curve: Callable[[Array], Array],
    first: Array,
    visible: Callable[[Array, Array, Array, Array], NDArray[np.bool_]],
    narrowest: float,
) -> tuple[Array, Array]:
    """Points (x, y) of a curve: at the rising places ``first``, and halfway between neighbours as long as it shows.

    ``visible(x, y, middle, found)`` says at which of the midpoints the line through the points x, y so far visibly differs from
    the value found there. Both halves of such a gap are halved again, down to the width ``narrowest``.
    """
    x, y = first, curve(first)
    left, right = x[:-1], x[1:]
    while left.size:
        middle = 0.5 * (left + right)
        found = curve(middle)
        coarse = visible(x, y, middle, found) & (right - left > 2.0 * narrowest)
        order = np.argsort(np.concatenate([x, middle]))
        x, y = np.concatenate([x, middle])[order], np.concatenate([y, found])[order]
        left, middle, right = left[coarse], middle[coarse], right[coarse]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return x, y
