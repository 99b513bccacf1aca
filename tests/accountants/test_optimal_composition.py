"""The optimal composition theorem: 30 digits, brute force in 60, edges, conditions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import binomial, exp, mp, mpf

from renyi import ConvergenceError, InvalidInput, PureDP
from renyi.accountants.classical.composition_theorems import basic_composition, improved_advanced_composition
from renyi.accountants.classical.optimal_composition import (
    MOST_STEPS,
    optimal_composition_delta,
    optimal_composition_epsilon,
    optimal_composition_epsilon_lower,
    optimal_delta,
)
from renyi.accountants.exact import Exact
from tests.golden import golden


def printed_sum(step, count, epsilon):
    """The theorem as it is printed, in 80 digits."""
    with mp.workdps(80):
        e, g, total = mpf(step), mpf(epsilon), mpf(0)
        for ell in range(count + 1):
            term = exp((count - ell) * e) - exp(g + ell * e)
            if term <= 0:
                break
            total += binomial(count, ell) * term
        return min(total / (1 + exp(e)) ** count, mpf(1))


@pytest.mark.parametrize("case", golden("kov_delta"), ids=repr)
def test_30_digits(case):
    p = case.params
    computed = optimal_composition_delta(step_epsilon=p["eps"], count=p["k"], epsilon=p["eps_g"])
    assert case.close(computed)
    assert Fraction(computed) >= case.value
    assert Fraction(optimal_delta(p["eps"], 0.0, p["k"], p["eps_g"]).lower) <= case.value


@settings(max_examples=80, deadline=None)
@given(st.floats(-6.0, 1.5), st.sampled_from([1, 2, 3, 10, 100, 1000]), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_both_ends_hold_the_printed_sum(log_step, count, share, power):
    step = 10.0**log_step
    epsilon = share * count ** (1.0 - 0.5 * power) * step
    truth = printed_sum(step, count, epsilon)
    ends = optimal_delta(step, 0.0, count, epsilon)
    assert ends.lower <= truth <= ends.upper
    if truth > 1e-300:
        assert ends.upper <= float(truth) * (1 + 1e-11)
    if 1e-300 < truth < 0.9:
        back = optimal_composition_epsilon(step_epsilon=step, count=count, delta=float(truth))
        below = optimal_composition_epsilon_lower(step_epsilon=step, count=count, delta=float(truth))
        assert below * (1 - 1e-14) <= epsilon <= back * (1 + 1e-14)
        assert back - below <= 1e-8 * (1 + epsilon)


@settings(max_examples=60, deadline=None)
@given(st.floats(-4.0, 1.0), st.integers(1, 10**6), st.floats(-40.0, -0.1), st.floats(-40.0, -3.0))
def test_never_above_basic_and_advanced_composition(log_step, count, log_delta, log_share):
    """With the same total delta: of each step, and of the composition itself."""
    step, slack = 10.0**log_step, 10.0**log_delta
    failing = slack * 10.0**log_share / count
    total = improved_advanced_composition(step_epsilon=step, step_delta=failing, count=count, slack=slack)
    epsilon = optimal_composition_epsilon(step_epsilon=step, step_delta=failing, count=count, delta=total.delta)
    basic = basic_composition(step_epsilon=step, step_delta=failing, count=count)
    assert epsilon <= total.epsilon * (1 + 1e-12)
    assert epsilon <= basic.epsilon * (1 + 1e-12)


def test_one_step_is_randomized_response():
    for step in (1e-9, 0.1, 1.0, 5.0, 40.0):
        p = 1.0 / (1.0 + math.exp(-step))
        computed = optimal_composition_delta(step_epsilon=step, count=1, epsilon=0.25 * step)
        assert computed == pytest.approx(p * -math.expm1(-0.75 * step), rel=1e-12)


@pytest.mark.parametrize(
    ("step", "count", "delta"), [(1e-3, 10**6, 1e-9), (1e-5, 10**9, 1e-6), (0.5, 1000, 1e-300), (0.1, 50, 0.3)]
)
def test_the_exact_accountant_says_the_same(step, count, delta):
    exact = Exact().epsilon(PureDP(step) * count, delta=delta)
    upper = optimal_composition_epsilon(step_epsilon=step, count=count, delta=delta)
    lower = optimal_composition_epsilon_lower(step_epsilon=step, count=count, delta=delta)
    assert exact.lower * (1 - 1e-14) <= upper
    assert lower <= exact.upper * (1 + 1e-14)
    assert upper - lower <= 1e-9 * upper
    assert exact.upper - exact.lower <= 1e-4 * upper


def test_edges():
    delta, epsilon = optimal_composition_delta, optimal_composition_epsilon
    assert delta(step_epsilon=0.5, count=0, epsilon=0.0) == 0.0
    assert epsilon(step_epsilon=0.5, count=0, delta=0.0) == 0.0
    assert delta(step_epsilon=0.0, count=10**9, epsilon=0.0) == 0.0
    assert epsilon(step_epsilon=0.5, count=3, delta=0.0) == pytest.approx(1.5, rel=1e-14)
    assert epsilon(step_epsilon=0.5, count=3, delta=0.0) >= 1.5
    assert delta(step_epsilon=0.5, count=3, epsilon=1.5) == 0.0
    assert 0.0 < delta(step_epsilon=0.5, count=3, epsilon=math.nextafter(1.5, 0.0)) < 1e-15
    assert epsilon(step_epsilon=0.5, count=3, delta=1e-300) == pytest.approx(1.5, rel=1e-14)
    assert delta(step_epsilon=1e300, count=2, epsilon=1.0) == 1.0
    assert delta(step_epsilon=1000.0, count=3, epsilon=2999.0) == pytest.approx(-math.expm1(-1.0), rel=1e-14)
    assert epsilon(step_epsilon=1000.0, count=3, delta=0.5) == pytest.approx(3000.0 - math.log(2.0), rel=1e-14)
    assert epsilon(step_epsilon=1e-9, count=4, delta=0.5) == 0.0
    assert 0.0 < delta(step_epsilon=1.0, count=3000, epsilon=2900.0) < 1e-300


def test_failures_of_the_steps():
    """1 - (1-d)^k (1-D)."""
    alone = optimal_composition_delta(step_epsilon=0.1, count=30, epsilon=1.0)
    both = optimal_composition_delta(step_epsilon=0.1, step_delta=1e-4, count=30, epsilon=1.0)
    assert both == pytest.approx(1 - (1 - 1e-4) ** 30 * (1 - alone), rel=1e-12)
    assert optimal_composition_delta(step_epsilon=0.1, step_delta=1e-4, count=30, epsilon=9.0) >= 1 - (1 - 1e-4) ** 30
    assert optimal_composition_epsilon(step_epsilon=0.1, step_delta=1e-3, count=100, delta=1e-5) == math.inf
    assert optimal_composition_epsilon(step_epsilon=0.1, step_delta=1e-300, count=100, delta=1e-5) < 5.0


def test_too_many_steps_are_sent_to_a_closed_form():
    with pytest.raises(ConvergenceError, match="improved_advanced_composition"):
        optimal_composition_epsilon(step_epsilon=1e-9, count=MOST_STEPS + 1, delta=1e-6)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "1", None, True], ids=repr)
def test_bad_input(value):
    with pytest.raises(InvalidInput, match="step_epsilon"):
        optimal_composition_delta(step_epsilon=value, count=2, epsilon=1.0)
    with pytest.raises(InvalidInput, match="epsilon"):
        optimal_composition_delta(step_epsilon=0.1, count=2, epsilon=value)
    with pytest.raises(InvalidInput, match="delta"):
        optimal_composition_epsilon(step_epsilon=0.1, count=2, delta=value)
    with pytest.raises(InvalidInput, match="step_delta"):
        optimal_composition_delta(step_epsilon=0.1, step_delta=value, count=2, epsilon=1.0)
    with pytest.raises(InvalidInput, match="count"):
        optimal_composition_delta(step_epsilon=0.1, count=value, epsilon=1.0)
