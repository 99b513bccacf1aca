"""Composition in closed form: 30 digits, never below what it bounds, conditions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import InvalidInput, PureDP, RandomizedResponse, Relation
from renyi.accountants.classical.composition_theorems import (
    Level,
    advanced_composition,
    azuma_tail,
    basic_composition,
    heterogeneous_composition,
    hoeffding_tail,
    improved_advanced_composition,
    kl_bound,
    kl_of_pure,
)
from tests.golden import golden

ROUNDED = 1 - Fraction(1, 10**29)  # of a value to 30 digits


def not_below(case, computed):
    return Fraction(computed) >= case.value * ROUNDED and case.close(computed)


@pytest.mark.parametrize("case", golden("advanced_composition_eps"), ids=repr)
def test_advanced_composition(case):
    p = case.params
    level = advanced_composition(step_epsilon=p["eps"], step_delta=0.0, count=p["k"], slack=p["delta_slack"])
    assert not_below(case, level.epsilon)
    assert level.delta == pytest.approx(p["delta_slack"], rel=1e-15)


@pytest.mark.parametrize("case", golden("a_kl"), ids=repr)
def test_kl_bound(case):
    assert not_below(case, kl_bound(epsilon=case.params["eps"]))


@pytest.mark.parametrize("case", golden("azuma_tail"), ids=repr)
def test_azuma_tail(case):
    p = case.params
    assert not_below(case, azuma_tail(epsilon=p["eps"], step_epsilon=p["eps_step"], count=p["n"]))


def test_the_three_tails_of_thirty_randomized_responses():
    """Level 0.3, a loss of 5 or more: 0.00839 exactly, 0.0837 with the true mean and range, 0.706 as printed."""
    weight = [math.comb(30, k) * math.exp(0.3 * (30 - k)) / (1 + math.exp(0.3)) ** 30 for k in range(31)]
    exact = math.fsum(w for k, w in enumerate(weight) if (30 - 2 * k) * 0.3 >= 5)
    improved = hoeffding_tail([(0.3, 30)], epsilon=5.0)
    printed = azuma_tail(epsilon=5.0, step_epsilon=0.3, count=30)
    assert (exact, improved, printed) == pytest.approx((0.00839, 0.0837, 0.706), rel=1e-2)


@settings(max_examples=100, deadline=None)
@given(st.floats(-5.0, 1.5), st.integers(1, 10**7), st.floats(1.001, 30.0))
def test_improved_tails_are_below_printed_ones(log_step, count, factor):
    step = 10.0**log_step
    mean = count * kl_bound(epsilon=step)
    epsilon = mean + factor * step * math.sqrt(count)
    assert hoeffding_tail([(step, count)], epsilon=epsilon) <= azuma_tail(
        epsilon=epsilon, step_epsilon=step, count=count
    )


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-9, 20.0), st.integers(0, 10**9), st.floats(0.0, 1e-6), st.floats(1e-300, 0.5))
def test_improved_is_never_above_printed(step, count, failing, slack):
    printed = advanced_composition(step_epsilon=step, step_delta=failing, count=count, slack=slack)
    improved = improved_advanced_composition(step_epsilon=step, step_delta=failing, count=count, slack=slack)
    assert improved.epsilon <= printed.epsilon * (1 + 1e-14)
    assert improved.delta <= printed.delta * (1 + 1e-14)


def test_the_mean_loss_of_randomized_response_is_the_largest():
    for epsilon in (1e-6, 0.1, 1.0, 4.0, 30.0):
        mean = PureDP(epsilon).pair(Relation.REMOVE).ratio_law(2.0)
        assert kl_of_pure(epsilon=epsilon) == pytest.approx(float(mean.divergence(np.array([1.0]))[0]), rel=1e-12)
        assert kl_of_pure(epsilon=epsilon) <= kl_bound(epsilon=epsilon) * (1 + 1e-15)
    assert kl_of_pure(epsilon=1.0) == pytest.approx(0.4621, abs=1e-4)
    assert kl_bound(epsilon=1.0) == 1.0


def test_unlike_levels_contain_equal_ones():
    parts = [(Level(0.1, 1e-9), 5), (Level(0.1, 1e-9), 95)]
    equal = improved_advanced_composition(step_epsilon=0.1, step_delta=1e-9, count=100, slack=1e-6)
    unlike = heterogeneous_composition(parts, slack=1e-6)
    assert unlike == pytest.approx(equal, rel=1e-13)
    more = heterogeneous_composition([*parts, (Level(0.5, 0.0), 1)], slack=1e-6)
    assert more.epsilon > unlike.epsilon
    assert heterogeneous_composition([], slack=1e-6).epsilon == 0.0
    exact = RandomizedResponse(1 / (1 + math.exp(-0.1))) * 100 + RandomizedResponse(1 / (1 + math.exp(-0.5)))
    assert renyi.epsilon(exact, delta=1e-6) <= more.epsilon


def test_basic_and_edges():
    assert basic_composition(step_epsilon=0.1, step_delta=1e-7, count=10) == pytest.approx((1.0, 1e-6), rel=1e-14)
    assert basic_composition(step_epsilon=0.1, step_delta=1e-7, count=0) == (0.0, 0.0)
    assert basic_composition(step_epsilon=0.1, step_delta=0.5, count=10).delta == 1.0
    assert advanced_composition(step_epsilon=1e3, step_delta=0.0, count=1, slack=0.1).epsilon == math.inf
    assert improved_advanced_composition(step_epsilon=1e3, step_delta=0.0, count=1, slack=0.1).epsilon < 1e4
    assert advanced_composition(step_epsilon=0.0, step_delta=0.0, count=10**9, slack=0.1).epsilon == 0.0
    assert azuma_tail(epsilon=1.0, step_epsilon=0.1, count=0) == 0.0
    assert azuma_tail(epsilon=1e4, step_epsilon=0.1, count=3) == 5e-324
    assert 0.0 < hoeffding_tail([(1e-6, 10**9)], epsilon=1.0) < 1e-200
    values = [
        advanced_composition(step_epsilon=0.1, step_delta=0.0, count=k, slack=1e-6).epsilon for k in (0, 1, 9, 10**9)
    ]
    assert all(a < b for a, b in itertools.pairwise(values))


def test_conditions():
    with pytest.raises(InvalidInput, match=r"epsilon > k a\(e\).*optimal_composition_delta"):
        azuma_tail(epsilon=0.3, step_epsilon=0.5, count=10)
    with pytest.raises(InvalidInput, match=r"e tanh\(e/2\)"):
        hoeffding_tail([(0.5, 10)], epsilon=1.0)
    for compose in (advanced_composition, improved_advanced_composition):
        with pytest.raises(InvalidInput, match=r"slack > 0.*basic_composition"):
            compose(step_epsilon=0.1, step_delta=0.0, count=2, slack=0.0)
        for bad in (-0.1, 1.0, math.nan, "x", None, True):
            with pytest.raises(InvalidInput, match="slack"):
                compose(step_epsilon=0.1, step_delta=0.0, count=2, slack=bad)
            with pytest.raises(InvalidInput, match="step_delta"):
                compose(step_epsilon=0.1, step_delta=bad, count=2, slack=0.1)
