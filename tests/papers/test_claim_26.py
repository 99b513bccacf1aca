"""Claim 26's moment and its constant: 30 digits, monotone, limits, conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import Gaussian, InvalidInput, Poisson
from renyi.papers.exposition.claim_26 import (
    claim_26_constant,
    claim_26_constant_integer,
    claim_26_moment,
    claim_26_printed_sum,
    claim_27,
)
from tests.golden import golden


@pytest.mark.parametrize("case", golden("G_lambda"), ids=repr)
def test_moment(case):
    p = case.params
    assert case.close(math.exp(claim_26_moment(c1=p["c1"], c2=p["c2"], noise=math.sqrt(p["sigma_sq"]))))


@pytest.mark.parametrize("case", golden("C_printed_sum"), ids=repr)
def test_printed_sum(case):
    p = case.params
    assert case.close(math.exp(claim_26_printed_sum(p["n"], c1=p["c1"], c2=p["c2"])))


@pytest.mark.parametrize("case", golden("C_sup_integer"), ids=repr)
def test_constant_over_integers(case):
    p = case.params
    found = claim_26_constant_integer(c1=p["c1"], c2=p["c2"], highest_order=p["lambda_range"][1])
    assert case.close(found.value)
    assert found.order == p["argmax_lambda"]
    over_all = claim_26_constant(c1=p["c1"], c2=p["c2"])
    assert found.value <= over_all.value * (1 + 1e-12)
    assert over_all.value == pytest.approx(found.value, rel=3e-5)  # the integers come that near


@settings(max_examples=25)
@given(st.floats(0.1, 1.5), st.floats(0.3, 2.0), st.floats(0.0, 4.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_constant_bounds_every_admitted_moment(c1, c2, log_noise, rate_share, order_share):
    constant = claim_26_constant(c1=c1, c2=c2)
    noise = max(c1, 1.01 / math.sqrt(c2)) * math.exp(log_noise)
    order = 1.0 + order_share * (c2 * noise**2 - 1.0)
    rate = rate_share * c1 / noise
    if order > 1.0 + 1e-6 and rate > 1e-9:
        moment = (order - 1.0) * float(renyi.divergence(Gaussian(noise).on(Poisson(rate)), order=order))
        assert moment <= constant.log_value * (1 + 1e-9) + 1e-12


def test_the_limit_is_not_zero():
    """exp(c1^2 c2^2/2), where the printed proof has 0; the printed sum tends to exp(c1^2 c2/2)."""
    assert claim_26_moment(c1=1.0, c2=1.0, noise=1000.0) == pytest.approx(0.5, rel=2e-3)
    assert claim_26_moment(c1=0.5, c2=2.0, noise=1000.0) == pytest.approx(0.5, rel=2e-3)
    assert claim_26_printed_sum(10**6, c1=0.5, c2=2.0) == pytest.approx(0.25, rel=1e-2)


def test_the_constant_explodes_in_c2():
    values = {
        c: claim_26_constant(c1=c[0], c2=c[1]).value for c in ((0.5, 1), (1, 1), (1, 2), (2, 1), (0.5, 4), (1, 4))
    }
    assert values[0.5, 1] == pytest.approx(1.14431, abs=1e-5)
    assert values[1, 1] == pytest.approx(1.79816, abs=1e-5)
    assert values[1, 2] == pytest.approx(34.1802, abs=1e-4)
    assert values[2, 1] == pytest.approx(12.6084, abs=1e-4)
    assert values[0.5, 4] == pytest.approx(33833.8, rel=1e-5)
    assert values[1, 4] == pytest.approx(1.01e20, rel=1e-2)
    assert math.log(values[1, 4]) == pytest.approx(0.5 * 4 * math.exp(3), rel=0.2)


def test_claim_27_is_the_moment_and_starts_at_zero():
    """Summed from 1, as printed, it would lie below 1: r = 0.01, sigma = 4, lambda = 2 gives 0.0199."""
    moment = claim_27(2, rate=0.01, noise=4.0)
    assert moment == pytest.approx(math.log1p(1e-4 * math.expm1(1 / 16)), rel=1e-12)
    assert math.exp(moment) - 0.99**2 == pytest.approx(0.0199, abs=1e-4)
    for order in (2, 3, 17, 200):
        exact = (order - 1) * float(renyi.divergence(Gaussian(4.0).on(Poisson(0.01)), order=order))
        assert claim_27(order, rate=0.01, noise=4.0) == pytest.approx(exact, rel=1e-11)
    assert claim_27(5, rate=0.0, noise=1.0) == 0.0
    assert claim_27(5, rate=1.0, noise=1.0) == 10.0


def test_real_orders_join_integer_ones():
    whole = claim_26_moment(c1=1.0, c2=1.0, noise=4.0)
    beside = [claim_26_moment(c1=1.0, c2=1.0, noise=4.0 * (1 + h)) for h in (-1e-7, 1e-7)]
    assert np.mean(beside) == pytest.approx(whole, rel=1e-9)
    assert claim_26_moment(c1=4.0, c2=1.0, noise=4.0) == 16 * 15 / 32


def test_conditions():
    with pytest.raises(InvalidInput, match=r"rate c1/noise <= 1"):
        claim_26_moment(c1=2.0, c2=1.0, noise=1.5)
    with pytest.raises(InvalidInput, match=r"order c2 noise\^2 > 1"):
        claim_26_moment(c1=0.1, c2=1.0, noise=1.0)
    with pytest.raises(InvalidInput, match="highest_order above"):
        claim_26_constant_integer(c1=20.0, c2=1.0, highest_order=10)
    with pytest.raises(InvalidInput, match=r"c1 <= sqrt\(n\)"):
        claim_26_printed_sum(4, c1=2.1, c2=1.0)
    for bad in (0.0, -1.0, math.nan, "1", None):
        with pytest.raises(InvalidInput, match="c1"):
            claim_26_constant(c1=bad, c2=1.0)
        with pytest.raises(InvalidInput, match="c2"):
            claim_26_constant_integer(c1=1.0, c2=bad)
        with pytest.raises(InvalidInput, match="noise"):
            claim_27(2, rate=0.1, noise=bad)
