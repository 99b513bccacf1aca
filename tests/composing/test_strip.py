"""Delta by a line between the poles: beside a closed form, beside other methods, beside the opposite order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi import Gaussian, Laplace, Poisson, delta
from renyi.composing.closed import Closed
from renyi.composing.compose import decide
from renyi.composing.composition import composition
from renyi.composing.contour.contour import contour_delta
from renyi.composing.contour.strip import strip_delta
from renyi.composing.grid.grid import Grid
from renyi.composing.question import DeltaAt
from renyi.composing.steps import event_steps
from renyi.errors import ConvergenceError
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation
from renyi.laws.transform import GaussianTransform

EPSILONS = (0.0, 0.4, 2.0, 7.9, 12.0)


def transform(event, relation):
    return event_steps(event.canonical(), relation).transform


@pytest.mark.parametrize("noise", [0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_noise_beside_its_closed_form(noise, epsilon):
    truth = math.exp(float(GaussianPair(noise).log_profile(np.array([epsilon]))[0]))
    found = strip_delta(composition([(GaussianTransform(noise), 1)]), epsilon)
    assert found.lower <= truth * (1.0 + 1e-14) + 1e-300
    assert truth * (1.0 - 1e-14) <= found.upper
    assert found.upper - found.lower < 1e-10


@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD])
@pytest.mark.parametrize(
    "event",
    [
        Gaussian(0.4).on(Poisson(0.01)) * 1000,
        Gaussian(1.1).on(Poisson(0.01)) * 5000,
        Gaussian(3.0).on(Poisson(0.5)) * 200,
        Laplace(2.0).on(Poisson(0.01)) * 20_000,
    ],
    ids=repr,
)
def test_both_contours_give_one_delta(event, relation):
    run = transform(event, relation)
    for epsilon in EPSILONS[:3]:
        beyond, between = contour_delta(run, epsilon)[0], strip_delta(run, epsilon)
        assert between.lower <= beyond.upper
        assert beyond.lower <= between.upper
        assert between.upper - between.lower < 1e-10


@pytest.mark.parametrize(
    "event", [Laplace(3.0) * 500, Laplace(1.5) * 300, Gaussian(0.3).on(Poisson(0.01)) * 1000], ids=repr
)
def test_the_grid_gives_that_delta_too(event):
    for epsilon in EPSILONS[:4]:
        found = strip_delta(transform(event, Relation.REMOVE), epsilon)
        grid = decide((Closed(), Grid()), event.canonical(), DeltaAt(epsilon), (Relation.REMOVE,)).found.interval
        assert found.lower <= grid.upper
        assert grid.lower <= found.upper
        assert found.upper - found.lower < 1e-10


@pytest.mark.parametrize(("noise", "rate", "steps"), [(0.3, 0.01, 1000), (0.25, 0.05, 300), (0.35, 0.002, 20_000)])
def test_the_opposite_order_at_low_noise(noise, rate, steps):
    """At epsilon 0 both orders have the same delta, the total variation distance."""
    event = Gaussian(noise).on(Poisson(rate)) * steps
    one, other = (strip_delta(transform(event, relation), 0.0) for relation in (Relation.REMOVE, Relation.ADD))
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)
    assert max(one.upper - one.lower, other.upper - other.lower) < 1e-11
    assert delta(event, epsilon=0.0) == pytest.approx(one.upper, rel=1e-9)


def test_a_law_that_hardly_decays_is_refused():
    """A record that is rarely drawn at low noise: most steps have nearly the same loss."""
    with pytest.raises(ConvergenceError, match="slowly"):
        strip_delta(transform(Gaussian(0.15).on(Poisson(0.01)) * 50, Relation.REMOVE), 0.5)
