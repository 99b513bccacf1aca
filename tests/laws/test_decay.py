"""Bounds on how a transform decays lie above the transform, at the frequency that is asked and at every higher one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi.laws.decay import Decay, Windows
from renyi.mechanisms.laplace import LaplacePair, LaplaceTransform
from renyi.sampling.poisson.law_transform import SampledLawTransform

LAWS = [(0.5, 1e-3, 3e4), (2.0, 1e-3, 3e4), (1.0, 0.3, 5e3), (0.05, 0.01, 400.0), (30.0, 0.9, 2e3)]
"""Scale, rate, and a frequency up to which the transform is known."""


def true_decay(transform, tilt, frequency):
    """log |M(t + i w)/M(t)| by the transform's own line."""
    values = transform.line(tilt, frequency, 2).real
    return values[1] - values[0]


@pytest.mark.parametrize("adding", [False, True])
@pytest.mark.parametrize("tilt", [0.3, 20.0, 400.0])
@pytest.mark.parametrize(("scale", "rate", "highest"), LAWS)
def test_the_bound_lies_above_the_transform_of_sampled_laplace_noise(scale, rate, highest, tilt, adding):
    transform = SampledLawTransform(LaplacePair(scale), rate, adding)
    frequencies = np.geomspace(0.1, highest, 60)
    bounds = [transform.log_decay(tilt, frequency) for frequency in frequencies]
    truths = np.array([true_decay(transform, tilt, frequency) for frequency in frequencies])
    highest_beyond = np.maximum.accumulate(truths[::-1])[::-1]
    rounding = 1e-14 * (1.0 + abs(transform.cumulant(tilt)))  # of the difference of two logarithms
    assert np.all(bounds >= highest_beyond - rounding)
    assert np.all(np.diff(bounds) <= 0.0)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_all_records_are_a_sample_at_rate_one(scale):
    transform = LaplaceTransform(scale)
    for frequency in np.geomspace(0.1, 3e4, 60):
        assert transform.log_decay(2.5, frequency) >= true_decay(transform, 2.5, frequency) - 1e-14


def test_slow_waves_decay_like_those_of_a_normal_law():
    """Below 1/reach the bound is the variance's, all but lost to the variation of the density alone."""
    transform = SampledLawTransform(LaplacePair(0.5), 1e-3)
    for frequency in (1.0, 10.0, 50.0):
        truth = true_decay(transform, 20.0, frequency)
        assert truth <= transform.log_decay(20.0, frequency) <= 0.99 * truth


@pytest.mark.parametrize("seed", range(5))
def test_windows_of_atoms_lie_above_their_characteristic_function(seed):
    random = np.random.default_rng(seed)
    loss = np.sort(random.uniform(-1.0, 2.0, 40) ** 3)
    log_mass = random.normal(0.0, 3.0, 40)
    weight = np.exp(log_mass) / np.sum(np.exp(log_mass))
    windows = Windows.between(loss, log_mass, np.arange(3, 40, 3))
    decay = Decay(0.0, -math.inf, math.inf, windows)  # a variation that says nothing
    frequency = np.geomspace(0.01, math.pi / windows.reach[-1], 400)
    truth = np.log(np.abs(np.exp(1j * np.outer(frequency, loss)) @ weight))
    sizes = windows.log_sizes(frequency)
    assert np.all(np.min(sizes, axis=1) >= truth - 1e-12)
    assert np.all(np.isfinite(sizes[:, -1]))
    assert decay.at(float(frequency[0])) == 0.0  # beyond the last window nothing is known
