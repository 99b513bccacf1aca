"""Runs whose transforms do not decay, or decay slowly: a blur composes them, and bounds on variation shorten the line."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np
import pytest

from renyi import DiscreteLaplace, Exact, Laplace, LossGrid, Poisson, RandomizedResponse, Relation, epsilon, guarantee
from renyi.composing.event_laws import dominating_pair
from tests import examples


def total(events):
    return functools.reduce(operator.add, events)


@pytest.mark.parametrize(("releases", "truth"), [(20, 1.33779), (40, 1.67712), (100, 1.99582)])
def test_many_unlike_laplace_releases_are_composed_closely(releases, truth):
    """The truth lies within 2e-5 of these, by a grid that needed seconds: [1.33775, 1.33780], [1.67707, 1.67713] and
    [1.99576, 1.99583]."""
    found = Exact().epsilon(total(Laplace(10 + 0.37 * i) for i in range(releases)), delta=1e-6)
    assert truth * (1 - 2e-5) <= found.lower <= found.upper <= truth * (1 + 2e-5)
    assert found.upper - found.lower < 2e-5 * found.upper


@pytest.mark.parametrize(
    "event",
    [
        total(Laplace(1.5 + 0.2 * i) for i in range(6)),
        total([Laplace(3.0), RandomizedResponse(0.6), RandomizedResponse(0.7), DiscreteLaplace(5.0)]) * 3,
        Laplace(2.0).on(Poisson(0.1)) * 40,
        Laplace(1.0) * 100,
    ],
    ids=examples.label,
)
def test_a_blur_agrees_with_a_grid(event):
    for delta in (1e-2, 1e-6, 1e-12):
        blurred, grid = Exact().epsilon(event, delta=delta), LossGrid().epsilon(event, delta=delta)
        assert blurred.lower <= grid.upper * (1 + 1e-11)
        assert grid.lower <= blurred.upper * (1 + 1e-11)
        assert blurred.upper <= grid.upper * (1 + 2e-5)
    back = Exact().delta(event, epsilon=Exact().epsilon(event, delta=1e-6).upper)
    assert back.lower <= 1e-6 <= back.upper * (1 + 1e-3)
    assert back.upper <= 1e-6 * (1 + 1e-3)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
def test_the_default_is_not_above_the_renyi_accountant(delta):
    from renyi import Classical, Rdp

    event = total(Laplace(1.0 + i) for i in range(12))
    best = epsilon(event, delta=delta)
    assert best <= Rdp().epsilon(event, delta=delta).upper
    assert best <= Classical().epsilon(event, delta=delta).upper


def test_long_runs_of_sampled_laplace_noise_are_exact():
    found = guarantee(Laplace(1.0).on(Poisson(0.01)) * 1000, delta=1e-6)
    assert found.epsilon.upper - found.epsilon.lower < 1e-9
    assert "contour integration" in found.method


def test_no_transform_of_laplace_noise_exceeds_its_bound():
    rng = np.random.default_rng(examples.SEED)
    compared = 0
    while compared < 60:
        scale, rate = float(np.exp(rng.uniform(-3.0, 4.0))), float(np.exp(rng.uniform(-9.0, 0.0)))
        tilt, step = float(np.exp(rng.uniform(-3.0, 5.0))), float(np.exp(rng.uniform(-3.0, 3.0)))
        event = Laplace(scale) if rng.random() < 0.2 else Laplace(scale).on(Poisson(rate))
        transform = dominating_pair(event, Relation.REMOVE if rng.random() < 0.5 else Relation.ADD).transform
        if tilt / scale > 30.0 or 120.0 * step > 30.0 / scale:
            continue  # beyond what the law is resolved for
        size = transform.line(tilt, step, 120).real - transform.cumulant(tilt)
        for place in range(1, 120, 7):
            assert size[place:].max() <= transform.log_decay(tilt, step * place) + 1e-12
        compared += 1


@pytest.mark.parametrize("noise", [1.0, 5.0])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("delta", [1e-6, 1e-9])
def test_next_to_the_largest_loss_the_ends_stay_close(noise, count, delta):
    """All n losses are the largest, 1/noise, with probability 2^-n, so delta is 2^-n (1 - e^(epsilon - n/noise)) there."""
    truth = count / noise + math.log1p(-delta * 2.0**count)
    found = Exact().epsilon(Laplace(noise) * count, delta=delta)
    assert found.lower <= truth <= found.upper <= truth * (1.0 + 1e-9)
    assert found.lower >= truth * (1.0 - 1e-8)
