"""Concentrated notions: each implication against the definitions, the exact answers and the printed misprints."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import TCDP, ZCDP, Gaussian, InvalidInput, PureDP, RandomizedResponse
from renyi.papers.exposition.concentrated import (
    cdp_to_epsilon,
    cdp_to_zcdp,
    gaussian_to_cdp,
    gaussian_to_zcdp,
    loss_moment,
    pure_to_divergence,
    pure_to_zcdp,
    tcdp_to_epsilon,
    zcdp_to_delta,
    zcdp_to_divergence,
    zcdp_to_epsilon,
)
from tests.golden import golden

ORDERS = np.array([1.0 + 1e-6, 1.5, 2.0, 3.0, 10.0, 100.0, 1e4])


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 30.0))
def test_pure_dp_is_zcdp(epsilon):
    """Every level: the curve of randomized response lies below both lines."""
    rho = pure_to_zcdp(epsilon=epsilon).rho
    exact = renyi.divergence(PureDP(epsilon), order=ORDERS)
    assert (exact <= rho * ORDERS * (1 + 1e-11)).all()
    for order, value in zip(ORDERS, exact, strict=True):
        assert value <= pure_to_divergence(float(order), epsilon=epsilon) * (1 + 1e-11)


def test_half_of_the_square_is_the_best_factor():
    """At small levels nothing smaller holds: D_2 of randomized response is 2 rho (1 - O(epsilon^2))."""
    epsilon = 1e-3
    assert renyi.divergence(PureDP(epsilon), order=2.0) / (2 * pure_to_zcdp(epsilon=epsilon).rho) == pytest.approx(
        1, abs=1e-5
    )


@pytest.mark.parametrize("case", golden("gaussian_eps_classic_opt"), ids=repr)
def test_the_gaussian_passes_through_zcdp(case):
    p = case.params
    rho = p["k"] * gaussian_to_zcdp(noise=p["sigma"]).rho
    assert case.close(zcdp_to_epsilon(rho=rho, delta=p["delta"]))
    mu, tau = gaussian_to_cdp(noise=p["sigma"] / math.sqrt(p["k"]))
    assert case.close(cdp_to_epsilon(mu=mu, tau=tau, delta=p["delta"]))


@settings(max_examples=80, deadline=None)
@given(st.floats(1e-8, 50.0), st.floats(0.0, 5.0), st.floats(-300.0, -0.01))
def test_zcdp_read_both_ways_and_above_the_accountant(rho, xi, log_delta):
    delta = 10.0**log_delta
    epsilon = zcdp_to_epsilon(rho=rho, xi=xi, delta=delta)
    assert zcdp_to_delta(rho=rho, xi=xi, epsilon=epsilon) <= delta * (1 + 1e-6)
    assert renyi.epsilon(ZCDP(rho, xi), delta=delta, accountant=renyi.Rdp()) <= epsilon * (1 + 1e-12)


@settings(max_examples=80, deadline=None)
@given(st.floats(1e-6, 20.0), st.floats(1.01, 1e4), st.floats(-300.0, -0.01))
def test_tcdp(rho, omega, log_delta):
    delta = 10.0**log_delta
    epsilon = tcdp_to_epsilon(rho=rho, omega=omega, delta=delta)
    assert renyi.epsilon(TCDP(rho, omega), delta=delta, accountant=renyi.Rdp()) <= epsilon * (1 + 1e-12)
    assert epsilon >= zcdp_to_epsilon(rho=rho, delta=delta) * (1 - 1e-12)
    by_hand = min(rho * a - math.log(delta) / (a - 1) for a in 1 + np.geomspace(1e-4, omega - 1, 4000))
    assert epsilon == pytest.approx(by_hand, rel=1e-4)


def test_cdp_is_zcdp_with_an_offset():
    gaussian = gaussian_to_cdp(noise=3.0)
    xi, rho = cdp_to_zcdp(mu=gaussian.mu, tau=gaussian.tau)
    assert (xi, rho) == pytest.approx((0.0, gaussian_to_zcdp(noise=3.0).rho), abs=1e-15)
    for order in ORDERS:
        exact = renyi.divergence(Gaussian(3.0), order=float(order))
        assert exact <= zcdp_to_divergence(float(order), rho=rho, xi=xi) * (1 + 1e-12)
    xi, rho = cdp_to_zcdp(mu=0.1, tau=1.0)
    assert xi == pytest.approx(-0.4)
    assert zcdp_to_divergence(1.1, rho=rho, xi=xi) == pytest.approx(0.15)


def test_the_centred_loss_is_what_is_subgaussian():
    """As printed, without centring, not even Gaussian noise would be (mu, tau)-CDP: M_1 = e^(2 mu) > e^(tau^2/2)."""
    mu, tau = gaussian_to_cdp(noise=1.0)
    log_moment = float(renyi.divergence(Gaussian(1.0), order=2.0))
    assert log_moment > tau**2 / 2
    assert log_moment - mu == pytest.approx(tau**2 / 2)


def test_equation_14_and_its_misprint():
    """P = (.7, .3), Q = (.2, .8): M_2 = 8.61719 = e^(2 D_3(P || Q)); with P and Q exchanged it would be 5.70522."""
    p, q = (0.7, 0.3), (0.2, 0.8)
    assert loss_moment(2.0, p=p, q=q) == pytest.approx(8.61719, abs=1e-5)
    assert loss_moment(2.0, p=q, q=p) == pytest.approx(5.70522, abs=1e-5)
    direct = sum(a**3 / b**2 for a, b in zip(p, q, strict=True))
    assert loss_moment(2.0, p=p, q=q) == pytest.approx(direct, rel=1e-14)
    level = RandomizedResponse(0.7)
    alpha = 4.0
    moment = loss_moment(alpha - 1, p=(0.7, 0.3), q=(0.3, 0.7))
    assert math.log(moment) / (alpha - 1) == pytest.approx(renyi.divergence(level, order=alpha), rel=1e-12)
    assert loss_moment(1.0, p=(0.5, 0.5), q=(1.0, 0.0)) == math.inf


def test_the_sampled_gaussian_has_no_amplified_zcdp():
    """Its slope at large orders is that of the unsampled one, whatever the rate."""
    event = Gaussian(1.0).on(renyi.Poisson(1e-3))
    slope = renyi.divergence(event, order=1e4) / 1e4
    assert slope == pytest.approx(gaussian_to_zcdp(noise=1.0).rho, rel=2e-3)
    assert renyi.divergence(event, order=2.0) < 1e-5


def test_edges_and_conditions():
    assert pure_to_zcdp(epsilon=0.0) == (0.0, 0.0)
    assert zcdp_to_epsilon(rho=0.0, delta=0.1) == 0.0
    assert zcdp_to_epsilon(rho=0.1, xi=-9.0, delta=0.5) == 0.0
    assert zcdp_to_delta(rho=0.0, epsilon=0.0) == 0.0
    assert zcdp_to_delta(rho=0.0, xi=1.0, epsilon=0.5) == 1.0
    assert zcdp_to_delta(rho=1.0, epsilon=0.5) == 1.0
    assert zcdp_to_delta(rho=1e-9, epsilon=1e3) == 5e-324
    assert tcdp_to_epsilon(rho=0.0, omega=2.0, delta=0.1) == pytest.approx(math.log(10), rel=1e-14)
    for call in (
        lambda: zcdp_to_epsilon(rho=0.1, delta=0.0),
        lambda: cdp_to_epsilon(mu=0.1, tau=0.1, delta=0.0),
        lambda: tcdp_to_epsilon(rho=0.1, omega=2.0, delta=0.0),
    ):
        with pytest.raises(InvalidInput, match="delta must be > 0"):
            call()
    with pytest.raises(InvalidInput, match="omega must be above 1"):
        tcdp_to_epsilon(rho=0.1, omega=1.0, delta=0.1)
    with pytest.raises(InvalidInput, match="order"):
        zcdp_to_divergence(1.0, rho=0.1)
    for of_gaussian in (gaussian_to_cdp, gaussian_to_zcdp):
        with pytest.raises(InvalidInput, match="noise must be > 0"):
            of_gaussian(noise=0.0)
    with pytest.raises(InvalidInput, match="same outcomes"):
        loss_moment(1.0, p=(0.5, 0.5), q=(1.0,))
    with pytest.raises(InvalidInput, match="rho"):
        zcdp_to_epsilon(rho=-1.0, delta=0.1)
