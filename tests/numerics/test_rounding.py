"""Outward rounding of exact values, against fractions and decimals."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from renyi.numerics.rounding import float_above, sum_above

PARTS = st.lists(st.tuples(st.floats(0.0, 1e300), st.integers(0, 10**20)), max_size=6)


@given(st.fractions())
def test_no_float_lies_between_an_exact_value_and_the_one_above_it(exact):
    found = float_above(exact)
    assert Fraction(math.nextafter(found, -math.inf)) < exact <= Fraction(found)


@given(PARTS)
def test_a_sum_is_the_smallest_float_that_is_not_below_it(parts):
    context = Context(prec=1000, rounding=ROUND_CEILING, Emax=10**6, Emin=-(10**6))
    exact = Decimal(0)
    for value, count in parts:
        exact = context.add(exact, context.multiply(Decimal(value), Decimal(count)))
    found = sum_above(parts)
    assert Decimal(found) >= exact > Decimal(math.nextafter(found, -math.inf))


def test_beyond_the_floats():
    largest = math.nextafter(math.inf, 0.0)
    assert float_above(Fraction(10) ** 400) == math.inf
    assert float_above(-(Fraction(10) ** 400)) == -largest
    assert float_above(Fraction(1, 10**400)) == 5e-324
    assert sum_above([(1e308, 2)]) == sum_above([(math.inf, 1), (1.0, 1)]) == math.inf
    assert sum_above([(math.inf, 0), (1.0, 1)]) == 1.0
    assert sum_above([]) == 0.0
