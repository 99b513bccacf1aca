"""Sums, products and quotients with twice the digits, as unevaluated pairs (high, low).

Used where two large terms cancel before a long exponent is formed, such as
(alpha - 1)/(2 sigma^2) + log q, which an order of thousands then multiplies.
Knuth's two-sum and Dekker's product; each function is exact or good to about 30 digits.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

_SPLIT = 134217729.0  # 2^27 + 1


def two_sum(a: ArrayLike, b: ArrayLike) -> Pair:
    """A + b exactly."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    high = a + b
    virtual = high - a
    return high, (a - (high - virtual)) + (b - virtual)


def two_product(a: ArrayLike, b: ArrayLike) -> Pair:
    """A times b exactly, as long as nothing over- or underflows."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    high = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


def add(x: Pair, y: Pair) -> Pair:
    """X + y."""
    high, low = two_sum(x[0], y[0])
    return two_sum(high, low + (x[1] + y[1]))


def divide(x: Pair, y: Pair) -> Pair:
    """X / y."""
    first = x[0] / y[0]
    product, error = two_product(first, y[0])
    rest = (((x[0] - product) - error) + x[1]) - first * y[1]
    return two_sum(first, rest / y[0])


@lru_cache(maxsize=256)
def log_of(x: float) -> Pair:
    """log x for one float x > 0."""
    with localcontext() as context:
        context.prec = 40
        return _pair(Decimal(x).ln())


@lru_cache(maxsize=256)
def log_odds(x: float) -> Pair:
    """log(x / (1 - x)) for one float 0 < x < 1."""
    with localcontext() as context:
        context.prec = 40
        return _pair((Decimal(x) / (1 - Decimal(x))).ln())


def _pair(value: Decimal) -> Pair:
    high = float(value)
    return np.float64(high), np.float64(float(value - Decimal(high)))  # type: ignore[return-value]


def _halves(a: Array) -> Pair:
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high
