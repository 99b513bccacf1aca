"""The sampled Gaussian at every real order: ball arithmetic, the generic path, the finite sum, the edges."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from renyi import Gaussian, Poisson, Relation
from renyi.composing.event_laws import renyi_curve
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_add, sampled_gaussian_remove
from renyi.sampling.poisson.general_bound import PoissonGeneralBound
from tests.sampling.reference import sampled_gaussian_ball


def points(seed, count):
    """Random points, crowded where it is hard: rates near 0 and 1, the turn-over 2 sigma^2 log(1/q), orders near 1."""
    rng = random.Random(seed)
    while count:
        rate = 10 ** rng.uniform(-9, 0) if rng.random() < 0.8 else 1 - 10 ** rng.uniform(-9, -0.3)
        noise = 10 ** rng.uniform(math.log10(0.05), 3)
        order = 1 + 10 ** rng.uniform(-6, 4)
        if rng.random() < 0.4 and rate < 0.99:
            order = 1 + 2 * noise**2 * math.log(1 / rate) * 10 ** rng.uniform(-0.5, 0.5)
        if order > 1e4 or order / noise > 1500:
            continue
        count -= 1
        yield rng.choice([Relation.REMOVE, Relation.ADD]), rate, noise, order


@pytest.mark.parametrize("seed", range(6))
def test_against_ball_arithmetic(seed):
    """Raw numbers within 4e-13 (times order/1000), published ones never below the truth."""
    for relation, rate, noise, order in points(seed, 12):
        truth = sampled_gaussian_ball(rate, noise, order, adding=relation is Relation.ADD)
        raw = sampled_gaussian_add if relation is Relation.ADD else sampled_gaussian_remove
        value = float(raw(np.array([order]), rate=rate, noise=noise)[0])
        allowed = 4e-13 * max(1.0, order / 1000.0)
        assert truth * (1 - allowed) < value < truth * (1 + allowed), (relation, rate, noise, order)
        published = renyi_curve(Gaussian(noise).on(Poisson(rate)), relation).at(order)
        assert published > truth, (relation, rate, noise, order)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("noise", [0.5, 2.0, 20.0])
def test_the_fast_path_equals_the_generic_one(rate, noise):
    orders = np.array([1.0, 1.0 + 1e-9, 1.5, 2.0, 7.7, 30.0])
    law = GaussianPair(noise).ratio_law(30.0).mixed(rate)
    assert sampled_gaussian_remove(orders, rate=rate, noise=noise) == pytest.approx(law.divergence(orders), rel=1e-11)
    assert sampled_gaussian_add(orders, rate=rate, noise=noise) == pytest.approx(
        law.reverse_divergence(orders), rel=1e-11
    )


@pytest.mark.parametrize("rate", [1e-8, 0.01, 0.3, 0.9])
@pytest.mark.parametrize("noise", [0.4, 1.0, 5.0, 50.0])
def test_at_integer_orders_it_is_the_finite_sum(rate, noise):
    orders = np.array([2.0, 3.0, 10.0, 57.0, 300.0])
    by_sum = PoissonGeneralBound(rate, lambda k: k / (2 * noise * noise))(orders)
    assert sampled_gaussian_remove(orders, rate=rate, noise=noise) == pytest.approx(by_sum, rel=1e-11)


def test_one_call_equals_many():
    orders = np.concatenate([np.arange(2.0, 300.0), np.linspace(1.0, 11.0, 101), [1e3, 1e4, 1e5]])
    together = sampled_gaussian_remove(orders, rate=0.01, noise=1.0)
    single = [float(sampled_gaussian_remove(np.array([order]), rate=0.01, noise=1.0)[0]) for order in orders]
    assert together == pytest.approx(single, rel=1e-13)


def test_removing_costs_at_least_as_much_as_adding():
    """Mironov, Talwar & Zhang (2019), Theorem 5, numerically."""
    orders = np.array([1.0, 1.01, 1.5, 2.0, 5.0, 20.0, 100.0, 1000.0])
    for rate in (1e-6, 0.1, 0.9, 1 - 1e-9):
        for noise in (0.3, 1.0, 10.0):
            add = sampled_gaussian_add(orders, rate=rate, noise=noise)
            assert (add <= sampled_gaussian_remove(orders, rate=rate, noise=noise) * (1 + 1e-12)).all()
            assert (add <= -math.log1p(-rate) * (1 + 1e-12)).all()


@pytest.mark.parametrize("order", [1.0, 1.0 + 1e-9, 2.0, 50.0])
def test_a_rate_next_to_one_is_almost_no_sampling(order):
    for relation in (Relation.REMOVE, Relation.ADD):
        nearly = renyi_curve(Gaussian(2.0).on(Poisson(1 - 1e-12)), relation).at(order)
        assert nearly == pytest.approx(order / 8, rel=1e-6)


@pytest.mark.parametrize("noise", [0.02, 0.019, 0.005])
def test_very_small_noise_is_bounded_not_lost(noise):
    """Below the smallest noise a bound is used: not below the leading term, nor above the unsampled curve."""
    orders = np.array([1.0, 1.5, 2.0, 10.0])
    curve = renyi_curve(Gaussian(noise).on(Poisson(0.1)), Relation.REMOVE)(orders)
    s = orders[1:] - 1
    leading = orders[1:] / (2 * noise**2) + orders[1:] / s * math.log(0.1)
    assert (curve[1:] >= leading).all()
    assert (curve <= orders / (2 * noise**2)).all()


def test_several_releases_on_one_draw_are_one_gaussian():
    both = (Gaussian(3.0) + Gaussian(4.0)).on(Poisson(0.1))
    one = Gaussian(2.4).on(Poisson(0.1))  # 1/9 + 1/16 = 1/2.4^2
    orders = np.array([1.0, 1.5, 8.0, 100.0])
    for relation in (Relation.REMOVE, Relation.ADD):
        assert renyi_curve(both, relation)(orders) == pytest.approx(renyi_curve(one, relation)(orders), rel=1e-11)
    nine = (Gaussian(3.0) * 9).on(Poisson(0.1))
    assert renyi_curve(nine, Relation.REMOVE)(orders) == pytest.approx(
        renyi_curve(Gaussian(1.0).on(Poisson(0.1)), Relation.REMOVE)(orders), rel=1e-11
    )
