"""Mixtures of Gaussians: against integration, and against the samplings of which they are another name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from renyi import Gaussian, GaussianMixture, Grouped, InvalidInput, Poisson, Relation, UnsupportedError, delta, epsilon
from renyi.composing.event_laws import renyi_curve

MIXTURES = [
    GaussianMixture(1.0, (0.0, 1.0, 2.0), (0.81, 0.18, 0.01)),
    GaussianMixture(2.5, (0.3, 1.7, 4.0), (0.5, 0.3, 0.2)),
    GaussianMixture(0.4, (0.0, 0.7, 1.0), (0.999, 0.0007, 0.0003)),
]


def laws(mixture, reach):
    """A fine grid, and the logs of both densities on it."""
    s = mixture.noise_multiplier
    x = np.arange(-reach, reach, 1e-3 * s)
    log_p = logsumexp(
        [math.log(w) + norm.logpdf(x, c, s) for c, w in zip(mixture.shifts, mixture.weights, strict=True)], axis=0
    )
    return x[1] - x[0], log_p, norm.logpdf(x, 0.0, s)


@pytest.mark.parametrize("mixture", MIXTURES, ids=repr)
@pytest.mark.parametrize("level", [0.0, 0.4, 2.0])
def test_delta_is_the_integral_of_the_excess(mixture, level):
    step, log_p, log_q = laws(mixture, 30.0)
    p, q = np.exp(log_p), np.exp(log_q)
    for relation, excess in ((Relation.REMOVE, p - math.exp(level) * q), (Relation.ADD, q - math.exp(level) * p)):
        found = math.exp(mixture.pair(relation).log_profile(np.array([level]))[0])
        # The kink where the excess vanishes costs the trapezoidal rule the square of its step.
        assert found == pytest.approx(float(np.sum(np.maximum(excess, 0.0)) * step), rel=1e-5, abs=1e-15)
        assert delta(mixture, epsilon=level) >= found * (1 - 1e-11)


@pytest.mark.parametrize("mixture", MIXTURES, ids=repr)
@pytest.mark.parametrize("order", [1.01, 1.5, 3.7, 20.0])
def test_the_curve_is_the_integral_of_a_power_of_the_ratio(mixture, order):
    step, log_p, log_q = laws(mixture, 20.0 + 25.0 * max(mixture.shifts))
    for relation, first, second in ((Relation.REMOVE, log_p, log_q), (Relation.ADD, log_q, log_p)):
        truth = float(logsumexp(order * first + (1.0 - order) * second) + math.log(step)) / (order - 1.0)
        found = renyi_curve(mixture, relation).at(order)
        assert truth * (1 - 1e-12) - 1e-13 / (order - 1.0) <= found <= truth * (1 + 1e-9) + 1e-13 / (order - 1.0)


def test_two_shifts_are_a_poisson_sample():
    mixture, sample = GaussianMixture(1.3, (0.0, 1.0), (0.98, 0.02)), Gaussian(1.3).on(Poisson(0.02))
    assert epsilon(mixture * 500, delta=1e-6) == pytest.approx(epsilon(sample * 500, delta=1e-6), rel=1e-4)
    assert delta(mixture, epsilon=0.3) == pytest.approx(delta(sample, epsilon=0.3), rel=1e-10)


def test_binomial_weights_are_a_group_under_poisson_sampling():
    rate, size = 0.1, 3
    weights = tuple(math.comb(size, j) * rate**j * (1 - rate) ** (size - j) for j in range(size + 1))
    mixture, group = GaussianMixture(2.0, (0.0, 1.0, 2.0, 3.0), weights), Grouped(Gaussian(2.0).on(Poisson(rate)), size)
    assert epsilon(mixture * 30, delta=1e-6) == pytest.approx(epsilon(group * 30, delta=1e-6), rel=1e-9)


def test_one_shift_is_gaussian_noise_and_the_order_of_shifts_does_not_matter():
    assert epsilon(GaussianMixture(3.0, (2.0,), (1.0,)), delta=1e-5) == epsilon(Gaussian(1.5), delta=1e-5)
    first, second = (
        GaussianMixture(1.0, (0.0, 2.0, 1.0, 2.0), (0.5, 0.1, 0.3, 0.1)),
        GaussianMixture(1.0, (1.0, 2.0, 0.0), (0.3, 0.2, 0.5)),
    )
    assert epsilon(first, delta=1e-5) == pytest.approx(epsilon(second, delta=1e-5), rel=1e-12)


def test_the_edges():
    assert epsilon(GaussianMixture(1.0, (0.0, 1.0), (1.0, 0.0)), delta=0.0) == 0.0
    silent = GaussianMixture(0.0, (0.0, 1.0), (0.75, 0.25))
    assert delta(silent, epsilon=math.inf) == pytest.approx(0.25, rel=1e-12)
    assert epsilon(silent, delta=0.3) < math.inf == epsilon(silent, delta=0.2)
    with pytest.raises(UnsupportedError, match="replacing a user"):
        MIXTURES[0].pair(Relation.REPLACE)
    for shifts, weights in (((1.0,), (0.5, 0.5)), ((), ()), ((-1.0,), (1.0,)), ((1.0, 2.0), (0.5, 0.4))):
        with pytest.raises(InvalidInput):
            GaussianMixture(1.0, shifts, weights)


def test_the_ends_of_what_floats_hold_cost_no_less():
    for mixture in (GaussianMixture(1e-200, (0.0, 1.0), (0.5, 0.5)), GaussianMixture(1.0, (0.0, 1e300), (0.5, 0.5))):
        assert epsilon(mixture, delta=1e-6) == math.inf
        assert delta(mixture, epsilon=1.0) >= 0.5
    assert epsilon(GaussianMixture(1e200, (0.0, 1.0), (0.5, 0.5)), delta=1e-6) < 1e-3


@pytest.mark.parametrize("weight", [1e-17, 1e-20, 1e-200])
@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD])
def test_a_weight_that_is_lost_beside_1_still_counts(weight, relation):
    """Delta at 0 is the weight times the total variation of one Gaussian and its shift, 2 Phi(1/(2 sigma)) - 1."""
    pair = GaussianMixture(2.0, (0.0, 1.0), (1.0, weight)).pair(relation)
    truth = math.log(weight) + math.log(math.erf(0.25 / math.sqrt(2.0)))
    assert pair.log_profile(np.zeros(1))[0] == pytest.approx(truth, rel=1e-11)
