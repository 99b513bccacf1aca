"""Budgets of concentrated DP: what they mean as an event, and what an event takes from them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import (
    ZCDP,
    Adjacency,
    ApproximateDP,
    ExponentialMechanism,
    Gaussian,
    InvalidInput,
    Poisson,
    UnsupportedError,
)
from renyi.interop import ZcdpBudget, from_zcdp, to_zcdp


def test_a_budget_as_an_event():
    assert from_zcdp(0.1) == ZCDP(0.1)
    assert from_zcdp(0.1, 1e-6) == ZCDP(0.1) + ApproximateDP(0.0, 1e-6)
    claim = from_zcdp(0.1, 1e-6, adjacency=Adjacency.REPLACE_ONE)
    assert claim == ZCDP(0.1, 0.0, Adjacency.REPLACE_ONE) + ApproximateDP(0.0, 1e-6, Adjacency.REPLACE_ONE)


@settings(max_examples=8, deadline=None)
@given(st.floats(1e-4, 5.0), st.sampled_from([1e-10, 1e-5]))
def test_our_epsilon_of_a_budget_is_below_the_formula_of_budgets(rho, delta):
    """Bun & Steinke (2016), Proposition 1.3: rho + 2 sqrt(rho log(1/delta))."""
    assert renyi.epsilon(from_zcdp(rho), delta=delta) < rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))


@pytest.mark.parametrize(
    ("event", "delta"),
    [(Gaussian(2.0) * 4, 0.0), (ExponentialMechanism(1.0) * 3, 0.0), (Gaussian(1.1).on(Poisson(0.01)) * 1000, 1e-9)],
    ids=repr,
)
def test_a_budget_that_an_event_took_never_costs_less_than_the_event(event, delta):
    budget = to_zcdp(event, delta=delta)
    assert budget == ZcdpBudget(renyi.rho(event, delta=delta), delta)
    for at in (1e-6, 1e-3):
        assert renyi.epsilon(from_zcdp(*budget), delta=at) >= renyi.epsilon(event, delta=at)


def test_an_approximate_budget_costs_no_less_than_its_failure():
    assert renyi.delta(from_zcdp(0.0, 1e-3), epsilon=10.0) == pytest.approx(1e-3)
    assert renyi.epsilon(from_zcdp(0.1, 1e-6), delta=1e-7) == math.inf


def test_sampled_noise_needs_a_delta_only_if_it_is_to_cost_less():
    run = Gaussian(1.1).on(Poisson(0.01)) * 1000
    assert to_zcdp(run, delta=1e-9).rho < to_zcdp(run).rho / 100


def test_wrong_budgets_are_refused():
    with pytest.raises(InvalidInput, match="rho"):
        from_zcdp(-1.0)
    with pytest.raises(InvalidInput, match="delta"):
        from_zcdp(1.0, 2.0)
    with pytest.raises(UnsupportedError, match="1e-12"):
        to_zcdp(ApproximateDP(1.0, 1e-6))
