"""The sum of the largest losses, against fractions: exact where the losses are, and then rounded outwards once."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import renyi
from renyi import Classical, Exact, Grouped, Laplace, PureDP, RandomizedResponse, Rdp

SCALES = st.floats(1e-3, 1e3)
COUNTED = st.lists(st.tuples(SCALES, st.integers(1, 10**6)), min_size=1, max_size=5)


def composed(parts):
    return sum((Laplace(scale) * count for scale, count in parts[1:]), start=Laplace(parts[0][0]) * parts[0][1])


@given(COUNTED)
def test_laplace_losses_add_without_rounding(parts):
    exact = sum(count / Fraction(scale) for scale, count in parts)
    found = Exact().epsilon(composed(parts), delta=0.0)
    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert Fraction(math.nextafter(found.upper, 0.0)) < exact


@pytest.mark.parametrize(
    ("event", "largest"),
    [
        (Laplace(2.0) * 2, 1.0),
        (Laplace(10.0) * 10, 1.0),
        (Laplace(3.0) + Laplace(1.5), 1.0),
        (Laplace(2.0) + PureDP(0.25) * 2, 1.0),
        (PureDP(0.5) * 2, 1.0),
        (PureDP(0.1) * 10, math.nextafter(1.0, 2.0)),
    ],
    ids=repr,
)
def test_the_upper_end_is_the_sum_and_at_a_tiny_delta_no_more(event, largest):
    for delta in (0.0, 1e-300, 1e-30):
        assert renyi.epsilon(event, delta=delta) == largest
    assert renyi.delta(event, epsilon=largest) == 0.0


@pytest.mark.parametrize("accountant", [Exact(), Rdp(), Classical()], ids=repr)
@pytest.mark.parametrize("event", [Laplace(2.0) * 2, PureDP(0.5) * 2, Laplace(2.0) + Laplace(4.0) * 2], ids=repr)
def test_every_accountant_adds_exact_levels_exactly(accountant, event):
    assert renyi.epsilon(event, delta=0.0, accountant=accountant) == 1.0


def test_losses_with_an_error_keep_it_on_both_sides():
    ends = Exact().epsilon(RandomizedResponse(0.75) * 2, delta=0.0)
    nine = Fraction(2 * 10**40 * 1098612288668109691395245236922525704647 // 10**39, 10**40)  # 2 log 3, cut off
    assert Fraction(ends.lower) < nine
    assert nine + Fraction(1, 10**38) < Fraction(ends.upper)
    assert ends.upper - ends.lower < 2e-14


def test_one_loss_is_rounded_outwards():
    ends = Exact().epsilon(Laplace(3.0), delta=0.0)
    assert Fraction(ends.lower) < Fraction(1, 3) < Fraction(ends.upper)


def test_a_group_that_was_rounded_up_is_no_lower_end():
    ends = Exact().epsilon(Grouped(Laplace(3.0), 3) * 2, delta=0.0)
    assert ends.lower <= 2.0 <= ends.upper


def test_levels_whose_sum_no_float_holds():
    ends = Exact().epsilon(PureDP(1e308) + PureDP(1.1e308), delta=0.0)
    assert 1e308 < ends.lower < ends.upper == math.inf
