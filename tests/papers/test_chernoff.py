"""Chernoff's bound: 30 digits, never below the truth, closed form against search, conditions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import ApproximateDP, Gaussian, InvalidInput, Laplace, Relation
from renyi.laws.conversion import classic_log_delta
from renyi.papers.exposition.chernoff import (
    chernoff_delta,
    chernoff_noise,
    gaussian_chernoff_delta,
    gaussian_chernoff_order,
    sufficient_noise,
)
from tests.golden import golden


@pytest.mark.parametrize("case", golden("chernoff_gaussian_delta", "route2_delta"), ids=repr)
def test_gaussian(case):
    p = case.params
    computed = gaussian_chernoff_delta(noise=p["sigma"], epsilon=p["eps"], count=p.get("k", 1))
    assert case.close(computed)
    assert Fraction(computed) >= case.value


@settings(max_examples=80, deadline=None)
@given(st.floats(0.1, 100.0), st.integers(1, 10**6), st.floats(-1.0, 6.0))
def test_a_bound_on_the_exact_delta(noise, count, spread):
    sigma = noise / math.sqrt(count)
    epsilon = max(0.5 / sigma**2 + spread / sigma, 0.0)
    bound = gaussian_chernoff_delta(noise=noise, epsilon=epsilon, count=count)
    assert renyi.delta(Gaussian(noise) * count, epsilon=epsilon) <= bound
    if bound < 1.0:
        order = gaussian_chernoff_order(noise=sigma, epsilon=epsilon)
        at_order = math.exp(classic_log_delta(order, order / (2 * sigma**2), epsilon))
        assert at_order == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(
    ("noise", "count", "epsilon"), [(2.0, 1, 1.0), (10.0, 10, 2.0), (50.0, 100, 5.0), (1.0, 1, 0.4)]
)
def test_the_search_finds_the_closed_form(noise, count, epsilon):
    curve = Gaussian(noise).renyi(Relation.REMOVE)
    closed = gaussian_chernoff_delta(noise=noise, epsilon=epsilon, count=count)
    assert chernoff_delta(curve, epsilon=epsilon, count=count) == pytest.approx(closed, rel=1e-9)


def test_any_curve():
    curve = Laplace(2.0).renyi(Relation.REMOVE)
    bound = chernoff_delta(curve, epsilon=4.0, count=20)
    assert renyi.delta(Laplace(2.0) * 20, epsilon=4.0, accountant=renyi.Rdp()) < bound < 1.0
    assert chernoff_delta(curve, epsilon=4.0, count=0) == 0.0
    with pytest.raises(InvalidInput, match="failure mass"):
        chernoff_delta(ApproximateDP(0.1, 1e-3).renyi(Relation.REMOVE), epsilon=1.0)


def test_loose():
    """Noise 2, epsilon 1: 0.21627 where 0.0068296 is true."""
    assert gaussian_chernoff_delta(noise=2.0, epsilon=1.0) == pytest.approx(0.21627, abs=1e-5)
    assert renyi.delta(Gaussian(2.0), epsilon=1.0) == pytest.approx(0.0068296, abs=1e-7)


@settings(max_examples=80, deadline=None)
@given(st.floats(1e-3, 100.0), st.floats(1e-300, 0.5), st.integers(1, 10**6))
def test_sufficient_noise_suffices(epsilon, delta, count):
    least, enough = (f(epsilon=epsilon, delta=delta, count=count) for f in (chernoff_noise, sufficient_noise))
    assert least <= enough * (1 + 1e-14)
    assert gaussian_chernoff_delta(noise=least, epsilon=epsilon, count=count) <= delta * (1 + 1e-10)
    assert gaussian_chernoff_delta(noise=least * (1 - 1e-6), epsilon=epsilon, count=count) > delta * (1 - 1e-10)
    assert gaussian_chernoff_delta(noise=enough, epsilon=epsilon, count=count) <= delta * (1 + 1e-10)


def test_edges_and_conditions():
    assert gaussian_chernoff_delta(noise=1.0, epsilon=1e6) == 5e-324
    assert gaussian_chernoff_delta(noise=1.0, epsilon=0.0) == 1.0
    assert gaussian_chernoff_delta(noise=1e-9, epsilon=1e3) == 1.0
    assert gaussian_chernoff_delta(noise=1.0, epsilon=1.0, count=0) == 0.0
    assert gaussian_chernoff_order(noise=2.0, epsilon=1.0) == 4.5
    with pytest.raises(InvalidInput, match=r"epsilon > 1/\(2 noise\^2\)"):
        gaussian_chernoff_order(noise=1.0, epsilon=0.5)
    with pytest.raises(InvalidInput, match="noise must be > 0"):
        gaussian_chernoff_delta(noise=0.0, epsilon=1.0)
    for target in (sufficient_noise, chernoff_noise):
        with pytest.raises(InvalidInput, match="epsilon > 0"):
            target(epsilon=0.0, delta=0.1)
        with pytest.raises(InvalidInput, match="delta > 0"):
            target(epsilon=1.0, delta=0.0)
