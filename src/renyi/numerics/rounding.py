"""Outward rounding: a computed value with a known error, moved to the safe side."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Number = TypeVar("Number", float, Array)

ULP = float(np.finfo(np.float64).eps)
"""Distance from 1 to the next float, 2^-52: twice the largest relative error of one rounded operation."""

TINY = float(np.finfo(np.float64).tiny)
"""The smallest normal number: what a positive value that underflowed is rounded up to."""


def raised(value: Number, relative_error: float | Array) -> Number:
    """A nonnegative value known up to a relative error, moved up by it (and by the rounding of doing so)."""
    return value * (1.0 + (relative_error + 2.0 * ULP))  # type: ignore[return-value]


def float_above(exact: Fraction) -> float:
    """The smallest float that is not below an exact value: infinity if the value exceeds the largest float."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -float(np.finfo(np.float64).max)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def sum_above(counted: Iterable[tuple[float, int]]) -> float:
    """The smallest float that is not below a sum of (value, count) pairs: ``count`` copies of each nonnegative ``value``."""
    parts = [(value, count) for value, count in counted if count > 0]
    if any(math.isinf(value) for value, _ in parts):
        return math.inf
    return float_above(sum((count * Fraction(value) for value, count in parts), start=Fraction(0)))
