"""The three routes: 30 digits, corrected forms above the truth, printed ones refused where they are false, the comparison."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import Gaussian, InvalidInput, Poisson
from renyi.papers.exposition.claim_26 import claim_26_constant, claim_26_moment
from renyi.papers.exposition.routes import (
    claim_28,
    route_1_delta,
    route_1_delta_exact,
    route_2_delta,
    route_3_delta,
    routes,
)
from tests.golden import golden


def not_below(case, computed):
    return Fraction(computed) >= case.value and case.close(computed)


@pytest.mark.parametrize("case", golden("route1_delta"), ids=repr)
def test_route_1(case):
    p = case.params
    assert not_below(case, route_1_delta(noise=p["sigma"], rate=p["r"], epochs=p["k"], epsilon=p["eps"]))


@pytest.mark.parametrize("case", golden("route2_delta"), ids=repr)
def test_route_2(case):
    p = case.params
    assert not_below(case, route_2_delta(noise=p["sigma"], epochs=p["k"], epsilon=p["eps"]))


@pytest.mark.parametrize("case", golden("route3_delta_corrected"), ids=repr)
def test_route_3(case):
    p = case.params
    order = p["c2"] * p["sigma"] ** 2
    assert not_below(case, route_3_delta(order=order, steps=p["T"], epsilon=p["eps"], log_constant=math.log(p["C"])))


@pytest.mark.parametrize("case", golden("route3_delta_printed"), ids=repr)
def test_claim_28(case):
    p = case.params
    log_constant = {(1.0, 4.0): math.log(1.8), (2.0, 3.0): math.log(34.1), (1.0, 10.0): math.log(1.8)}[
        p["c2"], p["sigma"]
    ]
    found = claim_28(c2=p["c2"], noise=p["sigma"], epsilon=p["eps"], log_constant=log_constant)
    assert not_below(case, found.delta)
    corrected = route_3_delta(
        order=p["c2"] * p["sigma"] ** 2, steps=found.steps, epsilon=p["eps"], log_constant=log_constant
    )
    assert corrected <= found.delta


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 1.5), st.floats(0.2, 1.8), st.floats(1.8, 30.0), st.floats(0.01, 20.0))
def test_claim_28_is_true_where_it_is_given(c1, c2, noise, epsilon):
    if noise < c1 or c2 * noise**2 < 1.01:
        return
    moment = claim_26_moment(c1=c1, c2=c2, noise=noise)
    try:
        found = claim_28(c2=c2, noise=noise, epsilon=epsilon, log_constant=moment)
    except InvalidInput:
        return
    event = Gaussian(noise).on(Poisson(c1 / noise)) * found.steps
    assert renyi.delta(event, epsilon=epsilon, accountant=renyi.Rdp()) <= found.delta


def test_claim_28_is_refused_where_it_is_false():
    """r = 1, sigma = 0.1, lambda = 1.01: the printed delta would be 0.19 where 0.999997 is true."""
    c1, c2, noise = 0.1, 101.0, 0.1
    moment = claim_26_moment(c1=c1, c2=c2, noise=noise)
    assert math.exp(moment) == pytest.approx(1.657, abs=1e-3)
    epsilon = 2 * math.exp(moment) / (c2 * noise**2) * (1 + 1e-9)  # one step
    assert math.exp(-0.5 * c2 * noise**2 * epsilon) == pytest.approx(0.1907, abs=1e-4)
    assert renyi.delta(Gaussian(noise), epsilon=epsilon) == pytest.approx(0.999997, abs=1e-6)
    with pytest.raises(InvalidInput, match=r"c2 noise\^2 >= 2C/\(C - log C\).*route_3_delta"):
        claim_28(c2=c2, noise=noise, epsilon=epsilon, log_constant=moment)
    assert route_3_delta(order=1.01, steps=1, epsilon=epsilon, log_constant=moment) == 1.0
    with pytest.raises(InvalidInput, match=r"T = .* >= 1"):
        claim_28(c2=1.0, noise=4.0, epsilon=1e-3, log_constant=0.5)


def test_3_17_is_always_enough():
    for log_constant in (0.0, 0.1, 0.5, 1.0, 1.5, 3.0, 50.0):
        assert 2 / (1 - log_constant * math.exp(-log_constant)) <= 3.17
    assert 2 / (1 - math.exp(-1.0)) > 3.16


def test_the_comparison():
    """Route 2 is not always better than Route 1; the accountant is below both by far."""
    rows = {
        (20.0, 0.001, 10, 1.0): (3.19e-31, 3.39e-9),
        (10.0, 0.01, 10, 2.0): (4.892e-9, 5.533e-9),
        (4.0, 0.01, 1, 2.0): (1.76e-7, 3.4e-14),
    }
    for (noise, rate, epochs, epsilon), (first, second) in rows.items():
        found = routes(noise=noise, rate=rate, epochs=epochs, epsilon=epsilon)
        assert found.route_1 == pytest.approx(first, rel=5e-3)
        assert found.route_2 == pytest.approx(second, rel=7e-3)
        assert found.exact <= found.renyi <= found.route_3 < 1e-120
        assert found.route_3 < found.route_1_exact < found.route_1
        assert found.route_2 < found.route_2_sampled == 1.0


def test_routes_are_above_the_truth_where_it_is_not_tiny():
    for noise, rate, epochs, epsilon in ((1.0, 0.01, 1, 1.0), (2.0, 0.1, 3, 3.0), (1.5, 0.5, 2, 5.0)):
        found = routes(noise=noise, rate=rate, epochs=epochs, epsilon=epsilon)
        assert found.exact > 1e-60
        for name, delta in found._asdict().items():
            if name != "route_2":
                assert delta >= found.exact, name


def test_route_3_with_the_constant_of_claim_26():
    """C over all noises bounds the moment of the run, so its delta is larger; both are true."""
    c1, c2, noise, steps, epsilon = 0.5, 1.0, 4.0, 20, 2.0
    constant, moment = claim_26_constant(c1=c1, c2=c2), claim_26_moment(c1=c1, c2=c2, noise=noise)
    by_constant, by_moment = (
        route_3_delta(order=c2 * noise**2, steps=steps, epsilon=epsilon, log_constant=log)
        for log in (constant.log_value, moment)
    )
    truth = renyi.delta(Gaussian(noise).on(Poisson(c1 / noise)) * steps, epsilon=epsilon)
    assert truth < by_moment < by_constant < 1e-10


def test_edges_and_conditions():
    assert route_1_delta(noise=4.0, rate=0.01, epochs=0, epsilon=1.0) == 0.0
    assert route_1_delta(noise=4.0, rate=0.01, epochs=1, epsilon=0.0) == 1.0
    assert route_1_delta(noise=0.0, rate=0.01, epochs=1, epsilon=1.0) == 1.0
    assert route_1_delta(noise=0.1, rate=0.5, epochs=10, epsilon=0.1) == 1.0
    assert 0.0 < route_1_delta_exact(noise=300.0, rate=1.0, epochs=1, epsilon=50.0) < 1e-300
    assert route_3_delta(order=2.0, steps=0, epsilon=0.0, log_constant=1.0) == 1.0
    assert route_3_delta(order=2.0, steps=1, epsilon=1e6, log_constant=1.0) == 5e-324
    with pytest.raises(InvalidInput, match="not a whole number"):
        route_1_delta(noise=4.0, rate=0.3, epochs=1, epsilon=1.0)
    with pytest.raises(InvalidInput, match="rate=0"):
        route_1_delta(noise=4.0, rate=0.0, epochs=1, epsilon=1.0)
    with pytest.raises(InvalidInput, match="order must be > 1"):
        route_3_delta(order=1.0, steps=1, epsilon=1.0, log_constant=0.1)
    with pytest.raises(InvalidInput, match="log_constant"):
        route_3_delta(order=2.0, steps=1, epsilon=1.0, log_constant=-0.1)
