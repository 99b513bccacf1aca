"""The one Gaussian release that is like a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renyi.calibration.equivalent_gaussian import EquivalentGaussian, log_mean_at
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_remove


@given(st.floats(-9.0, 0.0), st.integers(1, 10**9), st.floats(-1.0, 3.0))
def test_there_and_back(log_rate, steps, log_noise):
    like = EquivalentGaussian(10.0**log_rate, steps)
    assert like.noise(like.log_mean(10.0**log_noise)) == pytest.approx(10.0**log_noise, rel=1e-9)


@pytest.mark.parametrize(
    ("rate", "noise", "steps"), [(0.01, 1.0, 10_000), (0.5, 10.0, 7), (1.0, 0.3, 3), (1e-4, 0.2, 1)]
)
def test_it_has_the_same_divergence_of_order_two(rate, noise, steps):
    divergence = steps * float(sampled_gaussian_remove(np.array([2.0]), rate=rate, noise=noise)[0])
    mean = math.exp(EquivalentGaussian(rate, steps).log_mean(noise))
    assert mean**2 == pytest.approx(divergence, rel=1e-12)  # order times mu^2/2


@given(st.floats(-4.0, 3.0), st.floats(-300.0, -0.5))
def test_the_mean_costs_what_was_asked(log_epsilon, log_delta):
    epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
    found = log_mean_at(epsilon, delta)
    profile = GaussianPair(math.exp(-found)).log_profile(np.array([epsilon]))[0]
    assert profile == pytest.approx(math.log(delta), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-300, 1e-5), (1e300, 1e-5), (1.0, 5e-324), (1e-3, 0.999)])
def test_extreme_costs_are_found_or_not_without_an_error(epsilon, delta):
    found = log_mean_at(epsilon, delta)
    assert math.isnan(found) or math.isfinite(EquivalentGaussian(1e-9, 10**9).noise(found))


@pytest.mark.parametrize("noise", [1e-300, 1e-3, 1.0, 1e300])
def test_extreme_noise(noise):
    assert math.isfinite(EquivalentGaussian(1e-9, 1).log_mean(noise))
