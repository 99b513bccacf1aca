"""Sums and differences of numbers that are given by their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi.numerics.work import spend

Array = NDArray[np.float64]


def log_expm1(x: ArrayLike) -> Array:
    """log(e^x - 1) for x >= 0, without overflow; -inf at 0."""
    x = np.asarray(x, dtype=np.float64)
    # Any threshold between 1 and 700 serves: below it e^x does not overflow, above it x + log(1 - e^-x) loses nothing.
    with np.errstate(divide="ignore"):
        return np.where(x < 30.0, np.log(np.expm1(np.minimum(x, 30.0))), x + np.log1p(-np.exp(-np.maximum(x, 30.0))))


def log1mexp(x: ArrayLike) -> Array:
    """log(1 - e^-x) for x >= 0; -inf at 0."""
    x = np.asarray(x, dtype=np.float64)
    # Maechler (2012), "Accurately computing log(1 - exp(-|a|))": log 2 is where the errors of the two forms are equal.
    with np.errstate(divide="ignore"):
        return np.where(x < 0.6931471805599453, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))


def log_sum_exp(x: Array, axis: int = -1) -> Array:
    """log of the sum of e^x along an axis; an all -inf slice gives -inf and any +inf gives +inf."""
    spend(2.0 * x.size, calls=8)
    peak = np.max(x, axis=axis, keepdims=True)
    # An infinite peak cannot be subtracted: inf - inf is not a number.
    anchor = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        total: Any = np.log(np.sum(np.exp(x - anchor), axis=axis))
    return np.asarray(total + np.squeeze(anchor, axis=axis), dtype=np.float64)
