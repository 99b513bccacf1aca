"""Sums on lattices of many scales against closed forms, exact sums and 40 digits; where they begin and where they end."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renyi import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exact,
    FromDensities,
    Gaussian,
    Interval,
    Laplace,
    LossGrid,
    Poisson,
    PureDP,
    RandomizedResponse,
    Rdp,
    Relation,
)
from renyi.composing import scales
from renyi.composing.common.accuracy import FAINTEST_DELTA as FAINT
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.composing.scales import _Plan, scaled_answer
from renyi.composing.steps import Steps, event_steps
from renyi.laws.pairs.gaussian import GaussianPair
from tests import examples
from tests.truth.cases import cases

NOTHING, ANY_DELTA = Interval(0.0, math.inf), Interval(0.0, 1.0)
RELATIONS = (Relation.REMOVE, Relation.ADD)


def epsilon_of(event, delta, relation, known=NOTHING):
    with np.errstate(all="ignore"):
        return scaled_answer(event_steps(event.canonical(), relation), EpsilonAt(delta), known)


def delta_of(event, epsilon, relation, known=ANY_DELTA):
    with np.errstate(all="ignore"):
        return scaled_answer(event_steps(event.canonical(), relation), DeltaAt(epsilon), known)


@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-30, 1e-250])
@pytest.mark.parametrize(("noise", "count"), [(1.0, 2), (5.0, 30), (30.0, 1000), (0.3, 7)])
def test_gaussians_against_their_closed_form(noise, count, delta):
    truth = Exact().epsilon(Gaussian(noise) * count, delta=delta)
    with np.errstate(all="ignore"):
        found = scaled_answer(
            Steps.of(((GaussianPair(noise), count),)), EpsilonAt(delta), Interval(0.0, 2.0 * truth.upper)
        )
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.upper - found.lower <= 5e-3 * max(found.upper, 1e-6)


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-20, 1e-100])
@pytest.mark.parametrize(
    "event",
    [
        RandomizedResponse(0.75) * 12,
        RandomizedResponse(0.6).on(Poisson(0.01)) * 40,
        RandomizedResponse(0.9) + RandomizedResponse(0.6) * 5,
        DiscreteGaussian(0.7) * 2,
    ],
    ids=examples.label,
)
def test_finite_runs_against_exact_sums(event, delta):
    for relation in RELATIONS:
        truth = Exact().answer(event.canonical(), EpsilonAt(delta), (relation,)).interval
        found = epsilon_of(event, delta, relation, Interval(0.0, max(2.0 * truth.upper, 1e-3)))
        assert found.lower <= truth.upper * (1.0 + 1e-12)
        assert truth.lower <= found.upper * (1.0 + 1e-12)


RARE = [case for case in cases() if len(case.event.canonical().to_json()) < 400 and case.epsilon > 0]


@pytest.mark.parametrize(
    "case", [case for case in RARE if "x2 " in case.name and "@" in case.name], ids=lambda c: c.name
)
def test_two_steps_to_forty_digits(case):
    ends = [epsilon_of(case.event, case.delta, relation, Interval(0.0, 100.0)) for relation in RELATIONS]
    truth = float(case.epsilon)
    assert max(one.lower for one in ends) <= truth * (1.0 + 1e-12)
    assert truth <= max(one.upper for one in ends) * (1.0 + 1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.02, 0.3])
def test_delta_and_epsilon_invert_each_other(epsilon):
    event = Gaussian(2.0).on(Poisson(1e-4)) * 100
    delta = delta_of(event, epsilon, Relation.REMOVE)
    assert 0.0 < delta.lower <= delta.upper <= 1.02 * delta.lower
    assert epsilon_of(event, delta.upper, Relation.REMOVE).lower <= epsilon * (1.0 + 1e-9)
    assert epsilon_of(event, delta.lower, Relation.REMOVE).upper >= epsilon * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("event", "delta", "low", "high"),
    [
        # The grid and the Renyi curve left [0.0197, 0.786], [0.034, 0.20], [0.65, 4.1] and [0, 24].
        (Gaussian(2.0).on(Poisson(1e-4)) * 100, 1e-30, 0.024497, 0.0245),
        (Gaussian(1.0).on(Poisson(1e-6)) * 100, 1e-30, 0.05308, 0.05310),
        (Gaussian(0.5).on(Poisson(1e-9)) * 10, 1e-30, 0.91134, 0.91138),
        (Gaussian(0.35).on(Poisson(1e-6)) * 1000, 1e-5, 0.02188, 0.02190),
    ],
    ids=str,
)
def test_one_large_loss_beside_many_small_ones(event, delta, low, high):
    answer = Exact().answer(event.canonical(), EpsilonAt(delta), RELATIONS)
    assert low <= answer.interval.lower <= answer.interval.upper <= high
    assert "many scales" in answer.method
    assert answer.interval.upper < Rdp().epsilon(event, delta=delta).upper


def test_unlike_parts():
    """Between either part alone and the sum of both; and whatever is added costs more."""
    first, second = Gaussian(2.0).on(Poisson(1e-4)) * 100, Laplace(0.5).on(Poisson(1e-5)) * 3
    both = epsilon_of(Composed((first, second)), 1e-20, Relation.REMOVE)
    alone = [epsilon_of(one, 1e-20, Relation.REMOVE) for one in (first, second)]
    assert both.upper - both.lower <= 1e-2 * both.upper
    assert max(one.lower for one in alone) <= both.upper
    assert both.lower <= sum(epsilon_of(one, 0.5e-20, Relation.REMOVE).upper for one in (first, second))


def test_small_losses_beside_large_ones_have_lattices_of_their_own_size():
    """Their profile was asked at every point of the larger ones: of discrete noise, for minutes."""
    small, large = DiscreteGaussian(443.0).on(Poisson(0.02)) * 40_000, Gaussian(0.05)
    steps = event_steps((small + large).canonical(), Relation.REMOVE)
    with np.errstate(all="ignore"):
        plan = _Plan.of(steps, 1e-100, 600.0, 700.0, 512)
    reach = {step.count: float(step.points.x[-1]) for step in plan.steps}
    assert reach[1] > 500.0
    assert reach[40_000] < 1.0
    both, alone = (epsilon_of(one, 1e-100, Relation.REMOVE, Interval(0.0, 1e4)) for one in (small + large, large))
    assert alone.lower <= both.upper
    assert both.upper - both.lower <= 1e-2 * both.upper


def test_products_of_many_outcomes_on_one_draw():
    """Thousands of outcomes at thousands of points were gigabytes."""
    draw = DiscreteGaussian(0.3, sensitivity=4) * 5 + RandomizedResponse(0.99) * 2
    event = draw.on(Poisson(1e-8)) * 8 + RandomizedResponse(0.6)
    tracemalloc.start()
    try:
        found = epsilon_of(event, 1e-40, Relation.REMOVE, Interval(0.0, 1e4))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    beside = LossGrid().answer(event.canonical(), EpsilonAt(1e-40), (Relation.REMOVE,)).interval
    assert max(found.lower, beside.lower) <= min(found.upper, beside.upper)
    assert found.upper < 1e4


@settings(max_examples=25 if examples.FULL else 10)
@given(
    st.floats(-6.0, -0.1),
    st.floats(-0.7, 1.0),
    st.integers(1, 200),
    st.floats(-60.0, -1.0),
    st.sampled_from(RELATIONS),
)
def test_more_steps_cost_more(log_rate, log_noise, count, log_delta, relation):
    step, delta = Gaussian(10.0**log_noise).on(Poisson(10.0**log_rate)), 10.0**log_delta
    known = Interval(0.0, Rdp().epsilon(step * (count + 1), delta=delta).upper)
    fewer, more = (epsilon_of(step * n, delta, relation, known) for n in (count, count + 1))
    assert fewer.lower <= more.upper
    assert 0.0 <= fewer.lower <= fewer.upper <= known.upper


def test_edges():
    event = Gaussian(2.0).on(Poisson(1e-4)) * 100
    # What is known closely enough is returned as it is.
    known = Interval(0.0244969, 0.0244971)
    assert epsilon_of(event, 1e-30, Relation.REMOVE, known) == known
    # Beyond what floats hold nothing is said.
    assert epsilon_of(event, 0.5 * FAINT, Relation.REMOVE) == NOTHING
    assert epsilon_of(event, FAINT, Relation.REMOVE, Interval(0.0, 20.0)).upper < 20.0
    assert delta_of(event, 50.0, Relation.REMOVE, Interval(0.0, 1e-290)) == Interval(0.0, 1e-290)
    # Everybody drawn, more than 500 million steps, nobody drawn.
    assert epsilon_of(Gaussian(1.0).on(Poisson(1.0)) * 3, 1e-5, Relation.ADD, Interval(0.0, 20.0)).lower > 8.0
    long = epsilon_of(Gaussian(100.0).on(Poisson(1e-9)) * 2**29, 1e-100, Relation.REMOVE, Interval(4e-6, 1e-5))
    assert 4e-6 < long.lower <= long.upper < 5e-6
    assert Exact().epsilon(Gaussian(1.0).on(Poisson(0.0)) * 10**9, delta=1e-300).upper == 0.0


def test_the_sum_of_the_largest_losses_does_not_move_the_lattices():
    """It bounds every run, and is thousands of times the answer here."""
    steps = event_steps((PureDP(20.0).on(Poisson(1e-6)) * 30_000).canonical(), Relation.REMOVE)
    largest = steps.largest_loss.upper
    with np.errstate(all="ignore"):
        found, known = (scaled_answer(steps, EpsilonAt(1e-12), Interval(0.0, upper)) for upper in (math.inf, largest))
    assert 1e3 * found.upper < largest
    assert known == found


LOGISTIC = FromDensities(
    lambda x: -np.abs(x - 0.3) - 2.0 * np.log1p(np.exp(-np.abs(x - 0.3))),
    lambda x: -np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x))),
    low=-44.85,
    high=45.15,
)


def test_a_law_with_another_one_below_it_is_summed_where_the_grid_leaves_its_ends_apart():
    """The grid leaves an upper end that is two hundredths too large."""
    event = (LOGISTIC.on(Poisson(0.014)) * 37_808_276).canonical()
    ends = Exact().answer(event, EpsilonAt(4.6e-296), (Relation.ADD,)).interval
    assert 0.0 < ends.lower <= ends.upper <= 1.01 * ends.lower


def test_a_law_with_another_one_below_it_is_not_summed_where_the_grid_is_close(monkeypatch):
    def refused(*_):
        raise AssertionError("asked in vain")

    monkeypatch.setattr(scales, "scaled_answer", refused)
    ends = Exact().epsilon(LOGISTIC * 100, delta=1e-6)
    assert 0.0 < ends.lower <= ends.upper <= (1.0 + 1e-4) * ends.lower


def test_rare_large_losses_of_several_releases_on_one_draw():
    """Beside millions of small ones. The grid has six times the delta."""
    rare = (DiscreteLaplace(434.0, sensitivity=2) * 7 + Gaussian(0.24) * 2).on(Poisson(1.5e-9)) * 750_000
    run = (rare + Gaussian(454.0).on(Poisson(0.0016)) * 26_000_000).canonical()
    ends = Exact().answer(run, DeltaAt(0.6), (Relation.REMOVE,)).interval
    assert 2.9e-4 < ends.lower <= ends.upper <= 1.02 * ends.lower
