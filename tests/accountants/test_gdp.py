"""The Gaussian that a run is no worse than: against eight digits computed elsewhere, closed forms and the run's own profile."""

from __future__ import annotations

import math

import numpy as np
import pytest

import renyi
from renyi import ZCDP, Adjacency, Gaussian, GaussianDP, Laplace, Poisson, PureDP, RandomizedResponse, UnsupportedError
from renyi.laws.pairs.gaussian import GaussianPair

RUNS = {
    "readme": Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063,
    "small": Gaussian(1.0).on(Poisson(0.01)) * 1000,
    "short": Gaussian(2.0).on(Poisson(0.05)) * 400,
}
KNOWN = [
    ("readme", 1e-5, 0.586178919, 0.003038455),
    ("readme", 1e-10, 0.595619525, 0.00484116),
    ("small", 1e-5, 0.462749127, 0.010979278),
    ("small", 1e-10, 0.528873721, 0.023769534),
    ("short", 1e-5, 0.556433343, 0.005645313),
    ("short", 1e-10, 0.573643715, 0.008943969),
]
"""mu and regret, to the digits given: integration on another machine, with another method."""


@pytest.mark.parametrize(("name", "floor", "mu", "regret"), KNOWN)
def test_mu_and_regret_agree_with_eight_digits(name, floor, mu, regret):
    found = renyi.gdp(RUNS[name], delta=floor)
    assert mu * (1 - 2e-9) <= found.mu.upper <= mu * (1 + 1e-6)
    assert mu * (1 - 1e-6) <= found.mu.lower <= mu * (1 + 2e-9)
    assert regret * (1 - 1e-6) <= found.regret <= regret * (1 + 2e-3)


@pytest.mark.parametrize(("name", "mu"), [("readme", 107.80684), ("small", 31.622777), ("short", 10.0)])
def test_without_a_floor_sampling_is_worth_nothing(name, mu):
    assert renyi.gdp(RUNS[name], delta=0.0).mu.upper == pytest.approx(mu, rel=1e-7)
    assert renyi.rho(RUNS[name]) == pytest.approx(mu * mu / 2, rel=1e-7)


@pytest.mark.parametrize(
    "event",
    [
        RUNS["small"],
        Laplace(2.0),
        RandomizedResponse(0.75) * 5,
        PureDP(0.3) + Gaussian(3.0),
        Laplace(1.0).on(Poisson(0.1)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("floor", [1e-3, 1e-9])
def test_the_gaussian_lies_above_the_run_wherever_it_says_so(event, floor):
    found = renyi.gdp(event, delta=floor)
    levels = np.linspace(0.0, 1.2 * renyi.epsilon(event, delta=floor), 41)
    run = renyi.delta(event, epsilon=levels)
    gaussian = np.exp(GaussianPair(1.0 / found.mu.upper).log_profile(levels))
    assert np.all(run <= np.maximum(gaussian, floor) * (1 + 1e-9))
    assert np.all((gaussian - run) / (1 + np.exp(levels)) <= found.regret * (1 + 1e-9) + 1e-15)


def test_gaussian_noise_is_its_own_gaussian():
    for adjacency, factor in ((Adjacency.ADD_OR_REMOVE, 1.0), (Adjacency.REPLACE_ONE, 2.0)):
        found = renyi.gdp(Gaussian(2.0) * 9, adjacency=adjacency)
        assert found.mu.upper == pytest.approx(1.5 * factor, rel=1e-12)
        assert found.regret == 0.0
    assert renyi.gdp(GaussianDP(0.7) * 4).mu.upper == pytest.approx(1.4, rel=1e-12)


def test_a_mechanism_of_a_mu_costs_what_the_noise_does():
    assert renyi.epsilon(GaussianDP(0.5), delta=1e-6) == pytest.approx(
        renyi.epsilon(Gaussian(2.0), delta=1e-6), rel=1e-14
    )
    assert renyi.delta(GaussianDP(0.0), epsilon=0.0) < 1e-290
    with pytest.raises(UnsupportedError):
        renyi.epsilon(GaussianDP(0.5), delta=1e-6, adjacency=Adjacency.REPLACE_ONE)


def test_calibrating_to_mu_meets_it():
    noise = renyi.calibrate(lambda x: Gaussian(x).on(Poisson(0.05)) * 400, mu=0.5, delta=1e-5, low=1.0, high=5.0)
    assert renyi.gdp(Gaussian(noise).on(Poisson(0.05)) * 400, delta=1e-5).mu.upper <= 0.5
    assert renyi.gdp(Gaussian(noise * 0.999).on(Poisson(0.05)) * 400, delta=1e-5).mu.upper > 0.5


def test_rho_adds_up_and_says_why_it_is_unknown():
    assert renyi.rho(ZCDP(0.3) * 4 + Gaussian(1.0)) == pytest.approx(1.7, rel=1e-12)
    assert renyi.rho(PureDP(0.2)) == pytest.approx(0.02, rel=1e-12)
    assert renyi.rho(renyi.ExponentialMechanism(0.2)) == pytest.approx(0.005, rel=1e-12)
    assert renyi.rho(renyi.DiscreteGaussian(5.0, sensitivity=2)) == pytest.approx(0.08, rel=1e-12)
    with pytest.raises(UnsupportedError, match="Give delta"):
        renyi.rho(ZCDP(0.3, xi=0.1))


def test_rho_outside_a_floor_is_an_approximate_zcdp_guarantee():
    """What a delta-approximate rho-zCDP mechanism may cost is no less than what the run costs."""
    run, floor = RUNS["small"], 1e-9
    rho = renyi.rho(run, delta=floor)
    for level in (0.5, 1.0, 2.0):
        promised = floor + (1 - floor) * renyi.delta(ZCDP(rho), epsilon=level)
        assert renyi.delta(run, epsilon=level) <= promised


def test_unbounded_losses_without_a_floor_are_refused_and_failures_cost_infinity():
    with pytest.raises(UnsupportedError, match="Give delta"):
        renyi.gdp(renyi.DiscreteGaussian(3.0), delta=0.0)
    assert renyi.gdp(renyi.ApproximateDP(0.1, 1e-3), delta=1e-5).mu.upper == math.inf


@pytest.mark.parametrize("event", [GaussianDP(0.0), GaussianDP(1e300), Gaussian(0.0), Laplace(1e-200)], ids=repr)
def test_the_ends_of_what_floats_hold(event):
    for floor in (0.0, 1e-12):
        found = renyi.gdp(event, delta=floor).mu
        assert 0.0 <= found.lower <= found.upper
    if event == GaussianDP(0.0):
        assert renyi.rho(event) > 0.0
