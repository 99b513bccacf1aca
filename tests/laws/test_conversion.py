"""Conversions between a Renyi divergence and (epsilon, delta)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import Gaussian, Laplace, Poisson, RandomizedResponse, Rdp
from renyi.laws import conversion
from tests.golden import golden


@pytest.mark.parametrize("case", golden("conv_classic_eps", "conv_improved_eps"), ids=repr)
def test_epsilon_at_one_order(case):
    function = conversion.classic_epsilon if "classic" in case.formula else conversion.improved_epsilon
    assert case.close(function(case.params["alpha"], case.params["rdp"], math.log(case.params["delta"])))


DELTAS = golden("conv_classic_delta", "conv_improved_delta", "conv_tangent_delta", "conv_optimal_delta")


@pytest.mark.parametrize("case", DELTAS, ids=repr)
def test_delta_at_one_order(case):
    function = getattr(conversion, case.formula.removeprefix("conv_").removesuffix("_delta") + "_log_delta")
    computed = math.exp(function(float(case.params["alpha"]), case.params["rdp"], case.params["eps"]))
    assert case.close(computed)


@pytest.mark.parametrize("case", golden("conv_optimal_delta"), ids=repr)
def test_published_delta_and_epsilon_at_one_order(case):
    order, divergence, epsilon = float(case.params["alpha"]), case.params["rdp"], case.params["eps"]
    assert case.published(math.exp(conversion.optimal_log_delta_upper(order, divergence, epsilon)))
    back = conversion.optimal_epsilon_upper(order, divergence, math.log(float(case.value)))
    assert epsilon * (1 - 1e-14) <= back <= epsilon * (1 + 3e-12)


def best_over_orders(case) -> float:
    """The improved conversion at the best order, by brute force over a fine ladder around the published optimum."""
    event, delta = Gaussian(case.params["sigma"]) * case.params["k"], case.params["delta"]
    at = renyi.guarantee(event, delta=delta, accountant=Rdp()).order - 1
    orders = 1 + at * np.exp(np.linspace(-0.7, 0.7, 20001))
    convert = conversion.classic_epsilon if "classic" in case.formula else conversion.improved_epsilon
    rho = case.params["k"] / (2 * case.params["sigma"] ** 2)
    return min(convert(float(order), rho * float(order), math.log(delta)) for order in orders)


@pytest.mark.parametrize("case", golden("gaussian_eps_classic_opt", "gaussian_eps_improved_opt"), ids=repr)
def test_gaussian_at_the_best_real_order(case):
    """Against the closed-form optimum; the accountant's conversion is never worse, and never below the exact answer."""
    assert best_over_orders(case) == pytest.approx(float(case.value), rel=1e-6)
    event = Gaussian(case.params["sigma"]) * case.params["k"]
    published = renyi.epsilon(event, delta=case.params["delta"])
    assert published <= float(case.value) * (1 + 1e-12)


@pytest.mark.parametrize("case", golden("accountant_eps_classic", "accountant_eps_improved"), ids=repr)
def test_accountant_over_integer_orders(case):
    """The golden optimum over a list of integer orders, reproduced at that order; real orders are never worse."""
    kinds = {"gaussian": Gaussian, "laplace": Laplace, "rr": RandomizedResponse}
    params = case.params
    event = kinds[params["mechanism"]](params["param"]).on(Poisson(params["q"])) * params["steps"]
    convert = conversion.classic_epsilon if "classic" in case.formula else conversion.improved_epsilon
    order = params["argmin_order"]
    at_order = convert(float(order), renyi.divergence(event, order=order), math.log(params["delta"]))
    assert float(case.value) * (1 - 1e-12) <= at_order <= float(case.value) * (1 + 3e-12)
    assert renyi.epsilon(event, delta=params["delta"], accountant=Rdp()) <= float(case.value) * (1 + 3e-12)


@pytest.mark.parametrize("case", golden("eps_gaussian"), ids=repr)
def test_renyi_is_never_below_the_exact_answer(case):
    assert renyi.epsilon(Gaussian(case.params["sigma"]), delta=case.params["delta"]) >= float(case.value)


def binary_optimum(order: float, divergence: float, epsilon: float) -> float:
    """max p - e^eps q over binary pairs whose divergence of this order is at most the given one, by brute force."""
    best = 0.0
    bound = (order - 1) * divergence
    for q in np.concatenate([np.geomspace(1e-9, 0.5, 4000), 1 - np.geomspace(1e-9, 0.5, 100)]):
        low, high = q, 1.0
        for _ in range(60):
            p = 0.5 * (low + high)
            with np.errstate(divide="ignore"):
                terms = [order * np.log(p) + (1 - order) * np.log(q), order * np.log1p(-p) + (1 - order) * np.log1p(-q)]
            low, high = (p, high) if np.logaddexp(*terms) <= bound else (low, p)
        best = max(best, low - math.exp(epsilon) * q)
    return best


@pytest.mark.parametrize(
    ("order", "divergence", "epsilon"), [(2.0, 0.5, 1.0), (1.3, 1.0, 2.0), (8.0, 0.1, 0.5), (3.0, 4.0, 1.0)]
)
def test_optimal_is_the_best_binary_pair(order, divergence, epsilon):
    brute = binary_optimum(order, divergence, epsilon)
    computed = math.exp(conversion.optimal_log_delta(order, divergence, epsilon))
    assert brute <= computed * (1 + 1e-9)
    assert computed == pytest.approx(brute, rel=1e-4)


orders = st.floats(1e-4, 1e4).map(lambda s: 1.0 + s)
divergences = st.floats(1e-8, 50.0)


@settings(max_examples=300, deadline=None)
@given(orders, divergences, st.floats(1e-3, 30.0))
def test_optimal_below_tangent_and_improved_below_classic(order, divergence, epsilon):
    optimal = conversion.optimal_log_delta(order, divergence, epsilon)
    tangent = conversion.tangent_log_delta(order, divergence, epsilon)
    improved = conversion.improved_log_delta(order, divergence, epsilon)
    classic = conversion.classic_log_delta(order, divergence, epsilon)
    slack = 1e-9 * (1 + abs(classic))
    assert optimal <= min(tangent, improved) + slack
    assert improved <= classic + slack


@settings(max_examples=300, deadline=None)
@given(orders, divergences, st.floats(-690.0, -0.01))
def test_epsilon_and_delta_invert_each_other(order, divergence, log_delta):
    epsilon = conversion.optimal_epsilon(order, divergence, log_delta)
    if epsilon > 1e-6:
        back = conversion.optimal_log_delta(order, divergence, epsilon)
        assert back == pytest.approx(log_delta, rel=1e-6, abs=1e-7)


@settings(max_examples=200, deadline=None)
@given(orders, divergences, st.floats(0.01, 20.0))
def test_no_binary_pair_beats_the_bound(order, divergence, epsilon):
    """Random binary pairs on the boundary of the constraint stay below the published delta."""
    delta = math.exp(conversion.optimal_log_delta_upper(order, divergence, epsilon))
    s = order - 1.0
    for q in (1e-6, 1e-3, 0.1, 0.5):
        low, high = q, 1.0 - 1e-15
        for _ in range(50):
            p = 0.5 * (low + high)
            moment = np.logaddexp(order * math.log(p) - s * math.log(q), order * math.log1p(-p) - s * math.log1p(-q))
            low, high = (p, high) if moment <= s * divergence else (low, p)
        assert low - math.exp(epsilon) * q <= delta * (1 + 1e-9) + 1e-15
