"""What a claim allows of guesses in one run: mechanisms whose right guesses can be counted exactly never exceed it."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache

import numpy as np
import pytest
from scipy import stats

import renyi
from renyi import Adjacency, ApproximateDP, Gaussian, PureDP
from renyi.training.auditing.guessing import Lines, epsilon_lower, probability_upper

RUNS = 4_000


def answers(guesses: int, epsilon: float) -> np.ndarray:
    """P[C >= c] for c = 0..guesses, if each coin is told by randomized response."""
    return stats.binom.sf(np.arange(guesses + 1) - 1, guesses, 1.0 / (1.0 + math.exp(-epsilon)))


@cache
def releases(guesses: int, noise: float) -> np.ndarray:
    """The same of a hundred coins that normal noise is added to, the most certain ones guessed: counted in RUNS runs."""
    generator = np.random.default_rng(2)
    coins = generator.integers(0, 2, (RUNS, 100))
    seen = coins + noise * generator.standard_normal(coins.shape) - 0.5
    chosen = np.argsort(-np.abs(seen), axis=1)[:, :guesses]
    right = np.take_along_axis((seen > 0.0) == coins, chosen, 1).sum(1)
    return np.array([np.mean(right >= count) for count in range(guesses + 1)])


def leaks(guesses: int, epsilon: float, delta: float) -> np.ndarray:
    """The same, if all coins are told with probability delta, and by randomized response otherwise."""
    return delta + (1.0 - delta) * answers(guesses, epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("guesses", [1, 7, 20])
def test_under_pure_dp_nobody_guesses_better_than_randomized_response_tells(epsilon, guesses):
    for right, wanted in enumerate(answers(guesses, epsilon)):
        found = probability_upper(guesses, right, 20, epsilon=epsilon, delta=0.0)
        assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.01), (1.0, 1e-3), (2.0, 0.1)])
@pytest.mark.parametrize("guesses", [1, 7, 20])
def test_telling_everything_with_probability_delta_stays_within_both_bounds(epsilon, delta, guesses):
    event = ApproximateDP(epsilon, delta)
    lines = Lines.of(event, Adjacency.ADD_OR_REMOVE)
    for right, there in enumerate(leaks(guesses, epsilon, delta)):
        assert probability_upper(guesses, right, 20, epsilon=epsilon, delta=delta) >= there * (1.0 - 1e-9)
        assert not lines.refuted(guesses, right, 20, there * (1.0 - 1e-9))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("guesses", [5, 20])
def test_the_refined_bound_is_never_below_randomized_response_and_close_to_it(epsilon, guesses):
    lines = Lines.of(PureDP(epsilon), Adjacency.ADD_OR_REMOVE)
    for right, there in enumerate(answers(guesses, epsilon)):
        assert not lines.refuted(guesses, right, 20, there * (1.0 - 1e-9))
    assert lines.refuted(guesses, guesses, 20, min(1.0, 12.0 * there))  # all right: the rarest of these


@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("guesses", [10, 100])
def test_guesses_from_normal_noise_stay_within_the_refined_bound(noise, guesses):
    lines = Lines.of(Gaussian(noise), Adjacency.ADD_OR_REMOVE)
    for right, there in enumerate(releases(guesses, noise)):
        surely = there - 5.0 * math.sqrt(there * (1.0 - there) / RUNS)  # five deviations of what was counted
        assert there < 0.01 or not lines.refuted(guesses, right, 100, min(surely, 0.99))


def test_the_whole_curve_refutes_what_one_epsilon_does_not():
    claimed = Gaussian(0.7)
    lines = Lines.of(claimed, Adjacency.ADD_OR_REMOVE)
    fewest = bisect_left(range(1001), True, key=lambda right: lines.refuted(1000, right, 1000, 0.01))
    assert fewest > stats.binom.isf(0.01, 1000, stats.norm.cdf(0.5 / 0.7))  # more than the claim itself would bring
    assert epsilon_lower(1000, fewest, 1000, delta=1e-5, doubt=0.01) < 0.65 * renyi.epsilon(claimed, delta=1e-5)


def test_lines_lie_below_the_curve_and_close_to_it():
    lines = Lines.of(Gaussian(1.0), Adjacency.ADD_OR_REMOVE)
    for fpr in np.linspace(0.0, 1.0, 101):
        true = stats.norm.cdf(stats.norm.isf(fpr) - 1.0)
        assert true - 0.01 <= lines.least(1.0 - fpr) <= true + 1e-9


@pytest.mark.parametrize(("guesses", "right"), [(100, 99), (1000, 700), (1000, 520)])
def test_no_epsilon_below_the_lower_end_allows_the_guesses(guesses, right):
    found = epsilon_lower(guesses, right, 1000, delta=1e-6, doubt=0.01)
    if found > 0.0:
        below = probability_upper(guesses, right, 1000, epsilon=found, delta=1e-6)
        assert below <= 0.01 <= probability_upper(guesses, right, 1000, epsilon=found + 2e-6, delta=1e-6)
    else:
        assert probability_upper(guesses, right, 1000, epsilon=0.0, delta=1e-6) > 0.01
