"""Logarithms of binomial weights, accurate in both tails.

The textbook form, log n! - log k! - log (n-k)! + k log q + (n-k) log(1-q), subtracts numbers of size n log n and loses their
leading digits. Loader (2000), "Fast and accurate computation of binomial probabilities", replaces each factorial by Stirling's
formula plus a small correction and gathers what is left in two deviances, which are nonnegative and computed without
cancellation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.work import spend

Array = NDArray[np.float64]

_STIRLING_ERRORS = np.array(
    [0.0] + [math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2.0 * math.pi) for n in range(1, 16)]
)
"""log n! minus Stirling's formula for n = 0, ..., 15. From n = 16 on the asymptotic series, cut after n^-9, is good to
1e-16."""


def log_binomial_weight(n: int | Array, k: Array, rate: float) -> Array:
    """log of C(n, k) rate^k (1-rate)^(n-k), for integers 0 <= k <= n and 0 <= rate < 1."""
    if rate == 0.0:
        return np.where(np.asarray(k) == 0, 0.0, -np.inf)
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    spend(15.0 * k.size)
    # Stirling's formula has no value at 0, so k = 0 and k = n are computed apart; there the weight is a plain power.
    inner = (k > 0) & (k < n)
    safe = np.where(inner, k, 1.0)
    rest = np.where(inner, n - k, 1.0)
    middle = (
        _stirling_error(n)
        - _stirling_error(safe)
        - _stirling_error(rest)
        - _deviance(safe, n * rate)
        - _deviance(rest, n * (1.0 - rate))
        + 0.5 * (np.log(n) - math.log(2.0 * math.pi) - np.log(safe) - np.log(rest))
    )
    ends = np.where(k == 0, n * math.log1p(-rate), n * math.log(rate))
    return np.where(inner, middle, ends)


def _stirling_error(n: Array) -> Array:
    """log n! minus Stirling's formula, for integers n >= 0."""
    table = _STIRLING_ERRORS[np.minimum(n, 15.0).astype(np.int64)]
    inverse = 1.0 / np.maximum(n, 1.0)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    return np.where(n <= 15.0, table, series)


def _deviance(x: Array, mean: Array) -> Array:
    """Deviance x log(x/mean) + mean - x, without cancellation near x = mean."""
    v = (x - mean) / (x + mean)
    # Loader's threshold: the ten terms below leave less than 1e-20 of the sum, and beyond it the direct form loses about
    # one digit. The series is that of log((1 + v)/(1 - v)) = log(x/mean).
    near = np.abs(v) < 0.1
    total = np.zeros_like(v)
    for j in range(10, 0, -1):
        total = (total + 1.0 / (2 * j + 1)) * (v * v)
    series = (x - mean) * v + 2.0 * x * v * total
    return np.where(near, series, x * np.log(x / mean) + mean - x)
