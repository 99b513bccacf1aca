"""Each record's own guarantee: never below asking for it alone, and hardly above."""

from __future__ import annotations

import math

import numpy as np
import pytest

import renyi
from renyi import (
    ZCDP,
    Adjacency,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    InvalidInput,
    Laplace,
    Poisson,
    PureDP,
    RandomizedResponse,
    UnsupportedError,
)


def alone(event, rate, steps, delta):
    return renyi.epsilon(event.on(Poisson(rate)) * steps, delta=delta, accountant=renyi.Rdp())


@pytest.mark.parametrize(
    ("event", "steps", "delta", "slack"),
    [
        (Gaussian(1.0), 1000, 1e-5, 1e-4),
        (Gaussian(0.6), 10_000, 1e-6, 1e-4),
        (Gaussian(2.0) + Gaussian(3.0), 500, 1e-7, 1e-4),
        (RandomizedResponse(0.7), 2000, 1e-6, 1e-4),
        (Laplace(1.0), 1000, 1e-6, 1e-4),
        (DiscreteLaplace(2.0, sensitivity=2), 1000, 1e-6, 1e-4),
    ],
    ids=repr,
)
def test_many_rates_at_once(event, steps, delta, slack):
    rng = np.random.default_rng(9)
    rates = np.exp(rng.uniform(math.log(3e-3), math.log(0.1), 20_000))
    together = renyi.per_record(event, rates=rates, steps=steps, delta=delta)
    for index in rng.choice(rates.size, 12, replace=False):
        single = alone(event, float(rates[index]), steps, delta)
        assert single <= together[index] <= single * (1 + slack)


def test_where_the_best_order_follows_a_wall_and_leaves_it():
    """At sigma 4 the best order is where rate^order rises, down to rate 0.0127 or so, where it bends away."""
    rng = np.random.default_rng(5)
    rates = np.exp(rng.uniform(math.log(2e-3), math.log(0.1), 20_000))
    together = renyi.per_record(Gaussian(4.0), rates=rates, steps=100, delta=1e-8)
    bend = np.flatnonzero((rates > 0.0115) & (rates < 0.014))
    for index in (*rng.choice(rates.size, 20, replace=False), *rng.choice(bend, 20, replace=False)):
        single = alone(Gaussian(4.0), float(rates[index]), 100, 1e-8)
        assert single <= together[index] <= single * (1 + 1e-4)


def test_a_family_of_pairs_on_many_samples():
    """The exponential mechanism has another worst two-point pair at each rate; its cost is convex in the rate all the same."""
    rates = np.linspace(0.07, 0.1, 3000)
    together = renyi.per_record(ExponentialMechanism(0.5), rates=rates, steps=1000, delta=1e-6)
    for index in (0, 777, 1500, 2718, 2999):
        single = alone(ExponentialMechanism(0.5), float(rates[index]), 1000, 1e-6)
        assert single <= together[index] <= single * (1 + 1e-4)


def test_rates_near_nothing_and_everything():
    rates = np.concatenate([[0.0, 1.0, 0.5], np.geomspace(0.2, 1.0, 5000)])
    values = renyi.per_record(Gaussian(3.0), rates=rates, steps=20, delta=1e-6)
    assert values[0] == 0.0
    assert values[1] >= renyi.epsilon(Gaussian(3.0) * 20, delta=1e-6, accountant=renyi.Rdp())
    assert (np.diff(values[3:]) >= -1e-9 * values[4:]).all()


def test_few_rates_are_simply_asked():
    rates = np.array([[0.01, 0.02], [0.01, 0.3]])
    values = renyi.per_record(Gaussian(1.0), rates=rates, steps=100, delta=1e-5)
    assert values.shape == (2, 2)
    assert values[0, 0] == values[1, 0] == alone(Gaussian(1.0), 0.01, 100, 1e-5)
    assert renyi.per_record(Gaussian(1.0), rates=[0.1], steps=0, delta=1e-5)[0] == 0.0
    assert renyi.per_record(ZCDP(0.5), rates=[0.1], steps=3, delta=1e-5)[0] == alone(ZCDP(0.5), 0.1, 3, 1e-5)


@pytest.mark.parametrize("rates", [[-0.1], [1.1], [math.nan], [], "many", None], ids=repr)
def test_bad_rates(rates):
    with pytest.raises(InvalidInput, match="rates"):
        renyi.per_record(Gaussian(1.0), rates=rates, delta=1e-5)


def test_what_has_no_theorem_is_refused():
    with pytest.raises(UnsupportedError):
        renyi.per_record(PureDP(1.0), rates=[0.1], delta=1e-5, adjacency=Adjacency.REPLACE_ONE)
