"""The corners of the domain, against ball arithmetic or by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import renyi
from renyi import Gaussian, Laplace, Poisson, RandomizedResponse, Relation
from renyi.composing.event_laws import renyi_curve
from tests import examples
from tests.sampling.reference import sampled_gaussian_ball

BOTH = (Relation.REMOVE, Relation.ADD)


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("rate", examples.some([1e-12, 1e-9, 0.5, 1 - 1e-9, 1 - 1e-12], 2))
@pytest.mark.parametrize("order", [1 + 1e-9, 1.5, 1e4])
def test_corners_of_the_sampled_gaussian(rate, order, relation):
    noise = 20.0
    truth = sampled_gaussian_ball(rate, noise, order, adding=relation is Relation.ADD)
    published = renyi_curve(Gaussian(noise).on(Poisson(rate)), relation).at(order)
    assert truth < published < truth * (1 + 3e-12 * max(1, order / 1000))


@pytest.mark.parametrize("mechanism", [Gaussian(2.0), Laplace(2.0), RandomizedResponse(0.7)], ids=repr)
def test_order_one_is_the_limit(mechanism):
    for relation in BOTH:
        for event in (mechanism, mechanism.on(Poisson(0.01))):
            curve = renyi_curve(event, relation)
            assert curve.at(1.0) == pytest.approx(curve.at(1 + 1e-9), rel=1e-7)
            assert curve.at(1.0) <= curve.at(1 + 1e-6)


@pytest.mark.parametrize("rate", [1e-170, 1e-250, 5e-324])
@pytest.mark.parametrize("mechanism", [Gaussian(1.0), Laplace(1.0), RandomizedResponse(0.7)], ids=repr)
def test_what_underflows_is_rounded_up_not_lost(mechanism, rate):
    event = mechanism.on(Poisson(rate))
    for relation in BOTH:
        values = renyi_curve(event, relation)(np.array([1.0, 2.0, 50.0]))
        assert ((values > 0) & (values < 1e-150)).all()
    if rate == 1e-250:
        # delta(0) is the rate times the total variation, 0.38 for the Gaussian: below it, epsilon must not be 0.
        assert renyi.epsilon(event, delta=1e-253) > 0


@pytest.mark.parametrize("mechanism", [Gaussian(1e200), Laplace(1e200)], ids=repr)
def test_enormous_noise_costs_little_but_not_nothing(mechanism):
    assert 0 < renyi.divergence(mechanism, order=2.0) < 1e-300
    assert 0 <= renyi.epsilon(mechanism, delta=1e-9) < 1e-100


def test_randomized_response_next_to_a_fair_coin():
    """A third is not a third in binary: the answer is tiny, not zero."""
    assert 0 < renyi.divergence(RandomizedResponse(1 / 3, outcomes=3), order=2.0) < 1e-31
    assert renyi.divergence(RandomizedResponse(0.25, outcomes=4), order=2.0) == 0.0
    p = 0.5 + 2.0**-50
    assert renyi.divergence(RandomizedResponse(p), order=2.0) == pytest.approx(4 * 2.0**-98, rel=1e-9)


def test_a_trillion_steps():
    step = Gaussian(1.0).on(Poisson(1e-6))
    exact = 1e12 * renyi.divergence(step, order=1.01)
    assert renyi.divergence(step * 10**12, order=1.01) == pytest.approx(exact, rel=1e-12)
    epsilon = renyi.epsilon(step * 10**12, delta=1e-9)
    assert math.isfinite(epsilon)
    # The Gaussian limit: mu^2 = T q^2 (e - 1), epsilon near mu^2/2 + mu times a normal quantile.
    mu = math.sqrt(math.expm1(1.0))
    assert mu * mu / 2 < epsilon < mu * mu / 2 + 8 * mu
