"""Outward rounding: a computed value with a known error, moved to the safe side."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Number = TypeVar("Number", float, Array)

ULP = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
"""The smallest normal number: what a positive value that underflowed is rounded up to."""


def raised(value: Number, relative_error: float | Array) -> Number:
    """A nonnegative value known up to a relative error, moved up by it (and by the rounding of doing so)."""
    return value * (1.0 + (relative_error + 2.0 * ULP))  # type: ignore[return-value]
