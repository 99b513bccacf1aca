"""Moments of a mean of log-normal ratios at complex powers: integration in the plane, closed forms, and their error bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi.errors import ConvergenceError
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.random_allocation.gaussian import powers
from renyi.sampling.random_allocation.gaussian.powers import MeanOfRatios
from renyi.sampling.random_allocation.gaussian.transform import AllocatedGaussianTransform
from renyi.sampling.random_allocation.moments import AddMoments, RemoveMoments


@pytest.mark.parametrize("noise", [0.7, 1.0, 3.0])
@pytest.mark.parametrize("power", [-6.0, -0.5, 1.5, 4.0])
def test_two_steps_by_integration_in_the_plane(noise, power):
    mean = MeanOfRatios(noise, 2)
    log_moment = float(mean.log_moments(np.array([power]))[0])
    values, errors, _ = mean.line(power, log_moment, 0.5, 9)
    axis = np.arange(-12.0 - 7.0 / noise, 12.0 + 7.0 / noise, 0.1 * min(noise, 1.0))
    x, y = np.meshgrid(axis, axis)
    log_q = -(x**2 + y**2) / 2 + 2 * math.log((axis[1] - axis[0]) / math.sqrt(2 * math.pi))
    log_s = np.logaddexp(x / noise, y / noise) - 0.5 / noise**2 - math.log(2.0)
    for j, value in enumerate(values):
        exact = np.sum(np.exp(log_q + power * log_s - log_moment) * np.exp(-0.5j * j * log_s))
        assert abs(value - exact) < errors[j] + 1e-13


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_one_step_is_gaussian(noise):
    for adding in (False, True):
        transform = AllocatedGaussianTransform(noise, 1, adding)
        t = 2.0 + 0.25j * np.arange(20)
        exact = t * (t + 1) / (2 * noise**2)
        found = transform.line(2.0, 0.25, 20)
        ratio = np.exp(found - exact)
        assert np.max(np.abs(ratio - 1) * np.exp(exact.real - exact.real[0])) < 1e-13
        assert transform.log_decay(2.0, 4.75) == pytest.approx(exact.real[-1] - exact.real[0], rel=1e-12)


@pytest.mark.parametrize(
    ("noise", "steps", "power", "length"), [(1.0, 1000, 9.0, 80.0), (1.0, 10**4, 7.0, 300.0), (0.7, 30, -8.3, 20.0)]
)
def test_other_rays_agree_within_the_bounds(noise, steps, power, length, monkeypatch):
    """Windows with other powers and angles have other roundings, and nothing in common but the truth."""
    mean, count = MeanOfRatios(noise, steps), 40
    log_moment = float(mean.log_moments(np.array([power]))[0])
    first, bound, _ = mean.line(power, log_moment, length / count, count)
    for orders, condition in (((5.0, 0.3, 30.0), 2.4), ((4.0, 0.4, 20.0), 3.5)):
        monkeypatch.setattr(powers, "_ORDERS", orders)
        monkeypatch.setattr(powers, "_LOG_CONDITION", math.log(condition))
        second, other, _ = mean.line(power, log_moment, length / count, count)
        assert np.all(np.abs(first - second) < bound + other)
    decay = AllocatedGaussianTransform(noise, steps).log_decay(1.0, length)
    assert abs(first[-1]) <= math.exp(decay * ((count - 1) / count) ** 2) * (1 + 1e-9) + bound[-1]


@pytest.mark.parametrize(("noise", "steps"), [(0.6, 4), (1.0, 1000), (5.0, 50)])
def test_real_moments_are_those_of_the_renyi_curve(noise, steps):
    mean, pair = MeanOfRatios(noise, steps), GaussianPair(noise)
    removing = RemoveMoments(steps, lambda order: order / (2 * noise**2))
    orders = np.array([2.0, 3.0, 7.0])
    assert mean.log_moments(orders) == pytest.approx((orders - 1) * removing(orders), rel=1e-10, abs=1e-13)
    tilts = np.array([0.3, 1.0, 4.5])
    adding = tilts * AddMoments(steps, pair.ratio_law)(1 + tilts)
    assert mean.log_moments(-tilts) == pytest.approx(adding, rel=1e-9, abs=1e-13)
    for power in (-3.0, -0.2, 0.4, 1.0, 2.5, 6.0):
        bound = mean.log_moment_upper(power)
        assert 0.0 < power <= 1.0 or float(mean.log_moments(np.array([power + (power == 1.0)]))[0]) >= 0.0
        if not 0.0 <= power <= 1.0:
            assert bound >= float(mean.log_moments(np.array([power]))[0]) * (1 - 1e-9)


def test_what_is_too_much_is_refused():
    with pytest.raises(ConvergenceError):
        MeanOfRatios(0.1, 10).reach(10.0)
    with pytest.raises(ConvergenceError):
        MeanOfRatios(1.0, 10**4).line(40.0, 500.0, 1e-4, 10**6)
    assert AllocatedGaussianTransform(1.0, 10, adding=True).cumulant(1e6) == math.inf
    assert np.all(AllocatedGaussianTransform(1.0, 10).small_cumulants(np.array([-0.5])) == 0.0)
