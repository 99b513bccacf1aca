"""Shuffled batches: both ends, around the truth for data on which it can be integrated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from renyi import Adjacency, Exact, Gaussian, Laplace, Poisson, Shuffled, UnsupportedError, epsilon
from renyi.sampling.shuffled import largest_sum_pair

SETTINGS = [(1.0, 100, 1, 1e-5), (1.0, 1000, 10, 1e-6), (0.5, 1000, 1, 1e-5), (2.0, 10, 5, 1e-6)]


def two_batches(noise, level, replacing):
    """delta of the worst data known, of two batches, by integration over both sums."""
    x = np.arange(-8.0 * noise, 2.0 + 8.0 * noise, 0.01 * noise)

    def law(shift):
        one, none = norm.pdf(x, shift, noise), norm.pdf(x, 0.0, noise)
        return 0.5 * (np.outer(one, none) + np.outer(none, one))

    p, q = law(2.0), law(0.0 if replacing else 1.0)
    excess = np.maximum(p - math.exp(level) * q, 0.0), np.maximum(q - math.exp(level) * p, 0.0)
    return max(float(np.sum(one)) * (x[1] - x[0]) ** 2 for one in excess)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize(("noise", "level"), [(1.0, 0.5), (0.7, 2.0)])
def test_the_truth_for_two_batches_lies_between_the_ends(adjacency, noise, level):
    ends = Exact().delta(Gaussian(noise).on(Shuffled(2)), epsilon=level, adjacency=adjacency)
    truth = two_batches(noise, level, adjacency is Adjacency.REPLACE_ONE)
    assert 0.5 * truth < ends.lower <= truth * (1 + 1e-4)
    assert truth <= ends.upper


@pytest.mark.parametrize(("noise", "steps", "epochs", "delta"), SETTINGS)
def test_the_upper_end_is_that_of_one_release_an_epoch(noise, steps, epochs, delta):
    for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE):
        ends = Exact().epsilon(Gaussian(noise).on(Shuffled(steps)) * epochs, delta=delta, adjacency=adjacency)
        whole = epsilon(Gaussian(noise) * epochs, delta=delta, adjacency=adjacency)
        assert 0.0 < ends.lower <= ends.upper == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize(("noise", "steps", "epochs", "delta"), SETTINGS)
def test_a_poisson_epsilon_is_too_small_for_shuffled_batches(noise, steps, epochs, delta):
    """By how much at least is one call: the lower end beside the number for Poisson samples."""
    claimed = epsilon(
        Gaussian(noise).on(Poisson(1 / steps)) * (steps * epochs), delta=delta, adjacency=Adjacency.ZERO_OUT
    )
    shuffled = Exact().epsilon(Gaussian(noise).on(Shuffled(steps)) * epochs, delta=delta, adjacency=Adjacency.ZERO_OUT)
    assert shuffled.lower > 1.5 * claimed


@pytest.mark.parametrize("replacing", [False, True])
def test_the_lower_pair_is_no_better_than_its_best_threshold_and_no_worse(replacing):
    noise, steps, level = 0.8, 50, 1.0
    points = np.linspace(-3.0, 9.0, 20_001)
    shift = 0.0 if replacing else 1.0

    def above(mean):
        return 1.0 - norm.cdf((points - mean) / noise) * norm.cdf(points / noise) ** (steps - 1)

    best = float(np.max(above(2.0) - math.exp(level) * above(shift)))
    found = math.exp(largest_sum_pair(noise, steps, replacing).log_profile(np.array([level]))[0])
    assert best * (1 - 1e-3) <= found <= best * 1.1


def test_masses_of_the_lower_pair_sum_to_no_more_than_one():
    for noise, steps in ((0.05, 3), (1.0, 10**9), (50.0, 1000), (1e-3, 10**15)):
        pair = largest_sum_pair(noise, steps, False)
        assert 0.99 < float(np.sum(np.exp(pair.log_p))) <= 1.0


def test_one_batch_is_no_sampling_and_other_noise_has_an_upper_end_only():
    assert epsilon(Gaussian(1.0).on(Shuffled(1)), delta=1e-5) == epsilon(Gaussian(1.0), delta=1e-5)
    ends = Exact().epsilon(Laplace(2.0).on(Shuffled(10)), delta=1e-5, adjacency=Adjacency.ZERO_OUT)
    assert ends.lower == 0.0 < ends.upper
    with pytest.raises(UnsupportedError, match="others move into its"):
        epsilon(Gaussian(1.0).on(Shuffled(10)), delta=1e-5)
