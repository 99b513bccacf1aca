"""Lower ends from less than the whole run, and from profiles alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi import (
    Adjacency,
    DiscreteGaussian,
    Exact,
    ExponentialMechanism,
    FromDensities,
    Gaussian,
    Laplace,
    Poisson,
    PureDP,
    RandomizedResponse,
    Relation,
)
from renyi.composing.common.chernoff_lower import chernoff_lower, profile_cumulants_upper
from renyi.composing.question import DeltaAt
from renyi.composing.steps import Steps, event_steps
from tests import examples

ORDERS = np.array([1e-5, 0.01, 0.3, 0.7, 0.95])


@pytest.mark.parametrize(
    "event",
    [
        Laplace(0.5),
        Laplace(0.5).on(Poisson(0.3)),
        Gaussian(1.0),
        Gaussian(0.2).on(Poisson(0.1)),
        Gaussian(30.0).on(Poisson(1e-6)),
        RandomizedResponse(0.8),
        PureDP(1.0).on(Poisson(0.01)),
    ],
    ids=examples.label,
)
@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD])
def test_a_profile_bounds_its_small_moments_from_above(event, relation):
    """The truth is that of the transform, which is computed without the profile."""
    pair = event_steps(event.canonical(), relation).counted_below[0][0]
    truth = pair.transform.cumulants(-ORDERS)
    found = profile_cumulants_upper(pair, ORDERS)
    assert np.all(found >= truth * (1 + 1e-9))
    assert np.all(found <= 0.9 * truth)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
@pytest.mark.parametrize(
    "event", [Gaussian(0.4), Laplace(0.2), DiscreteGaussian(0.6), RandomizedResponse(0.99)], ids=str
)
def test_what_is_certain_is_below_the_profile(event, epsilon):
    """One step has its profile in closed form."""
    steps = event_steps(event.canonical(), Relation.REMOVE)
    truth = math.exp(float(steps.counted[0][0].log_profile(np.array([epsilon]))[0]))
    assert 0.0 <= chernoff_lower(steps, epsilon) <= truth * (1 + 1e-9)


def test_nothing_is_certain_of_nothing():
    assert chernoff_lower(Steps.of(()), 0.0) == 0.0


def test_a_run_whose_whole_is_out_of_reach_has_the_lower_end_of_its_steps():
    """Ten draws at next to no noise: about two of them are in what has probability 1e-6, and lose 5e5 each and more."""
    run = Gaussian(1e-3).on(Poisson(1e-3)) * 10
    ends = Exact().epsilon(run, delta=1e-6)
    one = Exact().epsilon(Gaussian(1e-3).on(Poisson(1e-3)), delta=1e-6)
    assert one.lower <= ends.lower <= ends.upper
    assert ends.lower > 5e5


@pytest.mark.parametrize(
    ("event", "delta"),
    [
        (PureDP(0.7) * 10**8 + Gaussian(1.3) * 10**6, 1e-81),
        (Gaussian(0.2) * 10**7 + (Gaussian(130.0) * 2 + Gaussian(4.0) * 20).on(Poisson(0.3)) * 50_000, 1e-236),
    ],
    ids=examples.label,
)
def test_attained_runs_have_a_lower_end(event, delta):
    ends = Exact().epsilon(event, delta=delta)
    assert 0.9 * ends.upper < ends.lower <= ends.upper


def test_a_part_that_only_dominates_leaves_no_lower_end():
    assert Exact().epsilon(ExponentialMechanism(0.1) * 1000 + Gaussian(1.0), delta=1e-6).lower == 0.0


def test_replaced_records_have_lower_ends_too():
    event = DiscreteGaussian(275.0, sensitivity=2) * 10**6 + Gaussian(0.94) * 6_000
    ends = Exact().delta(event, epsilon=5_000.0, adjacency=Adjacency.REPLACE_ONE)
    assert 1.0 - 1e-12 <= ends.lower <= ends.upper == 1.0


def test_steps_that_tell_nothing_beside_others_leave_the_lower_end_of_the_others():
    """On one lattice with them the lower end of 590 logistic losses falls by a twelfth."""
    logistic = FromDensities(
        lambda x: -np.abs(x - 0.3) - 2.0 * np.log1p(np.exp(-np.abs(x - 0.3))),
        lambda x: -np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x))),
        low=-44.85,
        high=45.15,
    )
    ends = (
        Exact().answer((PureDP(7e-5) * 35_848 + logistic * 590).canonical(), DeltaAt(0.1), (Relation.REMOVE,)).interval
    )
    assert 0.0 < ends.lower <= ends.upper <= 1.001 * ends.lower
