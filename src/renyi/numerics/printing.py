"""Numbers as text, rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext


def rounded_up(value: float) -> str:
    """A nonnegative number to six digits, never below the number itself."""
    return _rounded(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """A nonnegative number to six digits, never above the number itself."""
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: float, towards: str) -> str:
    text = f"{value:.6g}"
    if float(text) == value:  # so that 1e-5, which is not a binary number, is written as it was given
        return text
    with localcontext() as context:
        context.prec, context.rounding = 6, towards
        return f"{float(+Decimal(value)):.6g}"
