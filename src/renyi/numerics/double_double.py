"""Arithmetic with twice the digits: a number is the unevaluated sum of a pair of floats (high, low).

It serves where two large terms cancel and the difference is then multiplied by a large number, as in
(alpha - 1)/(2 sigma^2) + log q, multiplied by an order alpha of thousands. Sums are Knuth's, products Dekker's; ``two_sum`` and
``two_product`` are exact, the other functions are good to about 30 digits.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

_SPLITTER = 134217729.0
"""2^27 + 1, Dekker's constant: it splits 53 bits into two halves of 26, whose products are exact."""

_DECIMAL_DIGITS = 40
"""Digits of the logarithms that are computed in decimal: a pair holds 32, the rest is a margin."""


def two_sum(a: ArrayLike, b: ArrayLike) -> Pair:
    """Return a + b exactly."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    high = a + b
    virtual = high - a
    return high, (a - (high - virtual)) + (b - virtual)


def two_product(a: ArrayLike, b: ArrayLike) -> Pair:
    """Return a b exactly, as long as nothing overflows or underflows."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    high = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


def add(x: Pair, y: Pair) -> Pair:
    """Return x + y, rounded to a pair."""
    high, low = two_sum(x[0], y[0])
    return two_sum(high, low + (x[1] + y[1]))


def divide(x: Pair, y: Pair) -> Pair:
    """Return x / y, rounded to a pair."""
    # One step of long division: the remainder of the first quotient, with its rounding errors, gives the low part.
    first = x[0] / y[0]
    product, error = two_product(first, y[0])
    rest = (((x[0] - product) - error) + x[1]) - first * y[1]
    return two_sum(first, rest / y[0])


@lru_cache(maxsize=256)
def log_of(x: float) -> Pair:
    """log x for one float x > 0."""
    with localcontext() as context:
        context.prec = _DECIMAL_DIGITS
        return _pair(Decimal(x).ln())


@lru_cache(maxsize=256)
def log_odds(x: float) -> Pair:
    """log(x / (1 - x)) for one float 0 < x < 1."""
    with localcontext() as context:
        context.prec = _DECIMAL_DIGITS
        return _pair((Decimal(x) / (1 - Decimal(x))).ln())


def _pair(value: Decimal) -> Pair:
    """Round a decimal number to the nearest float and the float nearest to what is left of it."""
    high = float(value)
    return np.float64(high), np.float64(float(value - Decimal(high)))  # type: ignore[return-value]


def _halves(a: Array) -> Pair:
    """Split a into two floats of at most 26 bits each (Veltkamp)."""
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
