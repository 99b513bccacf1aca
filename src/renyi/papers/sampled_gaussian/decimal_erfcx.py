"""The scaled complementary error function erfcx in decimal arithmetic of any precision."""

from __future__ import annotations

from decimal import Decimal, getcontext, localcontext
from functools import lru_cache

_HALF = Decimal("0.5")


def erfcx(x: Decimal) -> Decimal:
    """e^(x^2) erfc(x), to the precision of the current decimal context.

    Near 0 it comes from the Taylor series of e^(x^2) erf(x), whose terms are all positive, computed with the extra digits that
    its difference from e^(x^2) loses. Far out it comes from the continued fraction, whose convergents lie alternately on either
    side of the value, so that two of them bound the error.
    """
    digits = getcontext().prec
    size = x.copy_abs()
    square = int(size * size) + 1
    near = square <= digits
    with localcontext() as context:
        context.prec = digits + 8 + (square // 2 if near else len(str(square)))
        value = _by_series(size) if near else _by_fraction(size, digits)
        if x < 0:
            value = 2 * (size * size).exp() - value
    return +value


def _by_series(x: Decimal) -> Decimal:
    """e^(x^2) - (2/sqrt(pi)) sum of 2^n x^(2n+1)/(2n+1)!!."""
    square = x * x
    smallest = Decimal(10) ** -getcontext().prec
    term = total = x
    n = 0
    while n < square or term > smallest * total:
        n += 1
        term *= 2 * square / (2 * n + 1)
        total += term
    return square.exp() - 2 * total / _root_of_pi(getcontext().prec)


def _by_fraction(x: Decimal, digits: int) -> Decimal:
    """(1/sqrt(pi)) times 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...))))."""
    smallest = Decimal(10) ** -(digits + 2)
    above, below = (
        (Decimal(0), Decimal(1)),
        (Decimal(1), x),
    )  # numerators and denominators of two neighbouring convergents
    half = Decimal(0)
    while True:
        half += _HALF
        above = above[1], x * above[1] + half * above[0]
        below = below[1], x * below[1] + half * below[0]
        value = above[1] / below[1]
        if abs(value - above[0] / below[0]) <= smallest * value:
            return value / _root_of_pi(getcontext().prec)


@lru_cache(maxsize=64)
def _root_of_pi(digits: int) -> Decimal:
    """The square root of pi, by the arithmetic-geometric mean (Brent 1976, Salamin 1976)."""
    with localcontext() as context:
        context.prec = digits + 10
        a, b, t, p = Decimal(1), _HALF.sqrt(), Decimal("0.25"), Decimal(1)
        while abs(a - b) > Decimal(10) ** -(digits // 2 + 6):
            middle = (a + b) / 2
            b = (a * b).sqrt()
            t -= p * (a - middle) ** 2
            a, p = middle, 2 * p
        return ((a + b) ** 2 / (4 * t)).sqrt()
