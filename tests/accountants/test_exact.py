"""The exact accountant against truth that was computed elsewhere, by other means."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from mpmath import binomial, exp, log, mp, mpf

import renyi
from renyi import (
    Adjacency,
    ApproximateDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exact,
    ExponentialMechanism,
    FromRenyi,
    Gaussian,
    GaussianMixture,
    Laplace,
    LossGrid,
    Poisson,
    PureDP,
    RandomizedResponse,
    Rdp,
    Relation,
)
from renyi.composing.steps import event_steps
from tests import examples
from tests.truth.cases import cases

CASES = cases()
KNOWN = [
    (1e-4, 5.0, 10**6, 1e-6, 0.071756, 1e-5),
    (1e-3, 30.0, 5 * 10**6, 1e-10, 0.42389982557, 1e-11),
    (1e-5, 0.4, 10**6, 1e-8, 6.2290894, 1e-8),
    (0.01, 1.0, 10**4, 1e-5, 6.187712389972, 1e-12),
    (256 / 60_000, 1.1, 14_063, 1e-5, 2.38169, 1e-6),
]


def test_enough_cases():
    assert len(CASES) >= 60


RARE = {
    "Gaussian(0.3)@0.001x1000 delta=1e-05",
    "Gaussian(0.2)@0.001x10000 delta=1e-05",
    "Gaussian(1)@1e-06x100000 delta=1e-10",
}
"""Epsilon is reached by few rare large losses: transforms decay too slowly for a contour, and lattices answer."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_truth_lies_between_the_ends(case):
    ends = Exact().epsilon(case.event, delta=case.delta)
    lower, upper = Decimal(ends.lower), Decimal(ends.upper)
    assert lower <= case.epsilon <= upper
    tolerance, width = (Decimal("1e-9"), Decimal("1e-8")) if case.fine else (Decimal("1e-5"), Decimal("1e-3"))
    if case.name in RARE:
        tolerance, width = Decimal("1e-4"), Decimal("2e-3")
    assert upper - case.epsilon <= tolerance * max(case.epsilon, Decimal("1e-6"))
    assert upper - lower <= width * upper
    assert renyi.epsilon(case.event, delta=case.delta) <= ends.upper


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.delta0 is not None and case.delta0 < Decimal("0.9999")],
    ids=lambda case: case.name,
)
def test_epsilon_is_nearly_zero_from_delta_of_zero_on(case):
    """At the corner where epsilon reaches 0 only its absolute error matters: lattices know delta there to about 1e-5."""
    total = case.delta0
    ends = Exact().delta(case.event, epsilon=0.0)
    assert Decimal(ends.lower) <= total <= Decimal(ends.upper)
    assert Exact().epsilon(case.event, delta=float(total * (1 + Decimal("1e-9")))).upper <= 1e-5
    below = float(total * (1 - Decimal("1e-3")))
    assert Exact().epsilon(case.event, delta=below).upper > 0.0


@pytest.mark.parametrize(
    "event",
    [
        Laplace(0.5),
        Laplace(0.5).on(Poisson(0.3)),
        Gaussian(1.0).on(Poisson(0.1)),
        RandomizedResponse(0.8),
        PureDP(1.0).on(Poisson(0.01)),
        DiscreteGaussian(2.0).on(Poisson(0.2)),
    ],
    ids=examples.label,
)
@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD])
def test_transforms_between_orders_zero_and_one(event, relation):
    """As an integral of hockey sticks (Sason & Verdu 2016, arXiv:1508.00335, Proposition 3)."""
    pair = event_steps(event.canonical(), relation).counted[0][0]
    x = np.linspace(0.0, min(max(pair.max_loss, pair.reversed().max_loss), 60.0), 400_001)
    forward, backward = np.exp(pair.log_profile(x)), np.exp(pair.reversed().log_profile(x))
    for s in (1e-4, 0.01, 0.05, 0.45, 0.95):
        integral = np.trapezoid(np.exp(-s * x) * forward + np.exp((s - 1.0) * x) * backward, x)
        expected = math.log1p(-s * (1.0 - s) * integral)
        assert pair.transform.cumulant(-s) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("event", "epsilon"),
    [
        (Gaussian(0.087).on(Poisson(0.0065)) * 364_488_833, 4.44),
        (Gaussian(0.17).on(Poisson(0.14)) * 21_713, 0.01),
        (Laplace(1.0) * 10_000, 100.0),
        (Laplace(0.5).on(Poisson(0.3)) * 5_000, 10.0),
        (RandomizedResponse(0.9) * 10_000_000, 1.0),
        (Gaussian(0.05).on(Poisson(0.1)) * 400_000, 4e6),  # rare large losses, 8e6 on average
        (DiscreteGaussian(200.0) * 10**8 + RandomizedResponse(0.9) * 10, 100.0),  # no transform
    ],
    ids=examples.label,
)
def test_delta_far_below_the_losses_is_all_but_one(event, epsilon):
    ends = Exact().delta(event, epsilon=epsilon)
    assert 1.0 - 1e-12 <= ends.lower < 1.0 == ends.upper


def test_a_failure_beside_a_contour_takes_its_probability_off_delta():
    """A release that fails with probability d and else says nothing: delta is d + (1 - d) times the rest's at every epsilon."""
    fails, delta, run = 1e-5, 1.5e-5, Gaussian(1.0).on(Poisson(0.01)) * 1000
    both = renyi.guarantee(run + ApproximateDP(0.0, fails), delta=delta)
    alone = Exact().epsilon(run, delta=(delta - fails) / (1.0 - fails))
    assert "contour" in both.method
    assert both.epsilon.lower <= alone.upper
    assert alone.lower <= both.epsilon.upper <= alone.upper * (1 + 1e-9)


@pytest.mark.parametrize(("rate", "noise", "steps", "delta", "epsilon", "digits"), KNOWN)
def test_known_answers(rate, noise, steps, delta, epsilon, digits):
    ends = Exact().epsilon(Gaussian(noise).on(Poisson(rate)) * steps, delta=delta)
    assert ends.upper == pytest.approx(epsilon, rel=digits)
    assert ends.lower <= ends.upper <= ends.lower * (1 + 1e-10)


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name)
def test_delta_and_epsilon_are_inverse(case):
    epsilon = float(case.epsilon)
    ends = Exact().delta(case.event, epsilon=epsilon)
    if 0.0 < epsilon < 50.0:  # at 50, ten times pure DP of 5, delta is 0
        assert ends.lower <= case.delta * (1 + 1e-6)
        assert ends.upper >= case.delta * (1 - 1e-6)
        assert ends.upper <= case.delta * (1 + 2e-2)


@pytest.mark.parametrize("case", CASES[::9], ids=lambda case: case.name)
def test_the_loss_grid_agrees(case):
    """Two methods that share nothing but the profiles: their intervals must overlap."""
    exact, grid = Exact().epsilon(case.event, delta=case.delta), LossGrid().epsilon(case.event, delta=case.delta)
    assert grid.lower <= exact.upper
    assert exact.lower <= grid.upper


@pytest.mark.parametrize("count", [1, 7, 50, 400])
@pytest.mark.parametrize("p", [0.55, 0.75, 0.99])
@pytest.mark.parametrize("delta", [0.03, 1e-5, 1e-50, 1e-250])
def test_randomized_response_against_every_outcome(p, count, delta):
    with mp.workdps(60):
        level = log(mpf(p) / (1 - mpf(p)))
        ends = Exact().epsilon(RandomizedResponse(p) * count, delta=delta)

        def total(epsilon):
            terms = (
                binomial(count, k)
                * mpf(p) ** k
                * (1 - mpf(p)) ** (count - k)
                * (1 - exp(epsilon - (2 * k - count) * level))
                for k in range(count + 1)
                if (2 * k - count) * level > epsilon
            )
            return sum(terms, mpf(0))

        assert total(mpf(ends.upper)) <= delta
        if ends.lower > 0.0:
            assert total(mpf(ends.lower)) >= delta
        assert ends.upper - ends.lower <= 1e-11 * max(ends.upper, 1e-6)


def test_issue_numbers_that_others_get_wrong():
    """50 x randomized response and 10 x pure DP equal exact enumeration, also in unmerged form."""
    fifty = Exact().epsilon(RandomizedResponse(3 / 4) * 50, delta=1e-5)
    assert fifty.upper == pytest.approx(50.5226271481, rel=1e-11)
    ten = Exact().epsilon(PureDP(5.0) * 10, delta=1e-50)
    assert 50.0 * (1 - 1e-14) <= ten.lower <= ten.upper <= 50.0 * (1 + 1e-14)
    nearly = renyi.Composed(tuple(PureDP(float(np.nextafter(5.0, 5.0 + i))) for i in range(10)))
    assert Exact().epsilon(nearly, delta=1e-50).upper == pytest.approx(50.0, rel=1e-13)


def test_golden_optimal_composition():
    """Kairouz, Oh & Viswanath's optimal composition of pure DP is the exact composition of its binary pair."""
    data = json.loads((Path(__file__).parents[1] / "golden" / "composition.json").read_text(encoding="utf-8"))
    found = [case for case in data["cases"] if case["formula"] == "kov_delta"]
    assert found
    for case in found:
        params, truth = case["params"], Decimal(case["value"])
        ends = Exact().delta(PureDP(params["eps"]) * params["k"], epsilon=params["eps_g"])
        assert Decimal(ends.lower) <= truth <= Decimal(ends.upper)
        assert ends.upper <= float(truth) * (1 + 1e-12)


def test_a_mixed_run_is_between_the_truth_and_all_renyi():
    """Part known by its curve only; the truth is that of the Gaussian that the curve belongs to."""
    curve = FromRenyi(lambda order: order / 2.0)
    step = Gaussian(1.0).on(Poisson(0.01)) * 1000
    truth = Exact().epsilon(step + Gaussian(1.0), delta=1e-5).lower
    mixed = renyi.guarantee(step + curve, delta=1e-5)
    everything = Rdp().epsilon(step + curve, delta=1e-5).upper
    assert truth < mixed.epsilon.upper < everything
    assert mixed.epsilon.lower == 0.0


def test_a_pair_that_only_dominates_has_no_lower_end_and_renyi_may_win():
    event = ExponentialMechanism(0.1) * 1000
    exact = Exact().epsilon(event, delta=1e-6)
    assert exact.lower == 0.0
    assert exact.upper == pytest.approx(9.838, abs=2e-3)
    assert renyi.epsilon(event, delta=1e-6) == pytest.approx(8.836, abs=1e-3)


EDGES = [
    Gaussian(1.0).on(Poisson(0.0)) * 5,
    Gaussian(1.0).on(Poisson(1.0)) * 5,
    Gaussian(0.0),
    Gaussian(0.0).on(Poisson(0.1)) * 3,
    Laplace(0.0) * 2,
    Gaussian(1e-3).on(Poisson(1e-3)) * 10,
    Gaussian(1.0).on(Poisson(1e-9)) * 10**9,
    Gaussian(1000.0).on(Poisson(1e-9)) * 10**9,
    Laplace(3.0) * 10**9,
    RandomizedResponse(0.5) * 100,
    DiscreteGaussian(0.4) * 10,
    DiscreteGaussian(3.0).on(Poisson(0.1)) * 10,
    DiscreteLaplace(2.0, sensitivity=3) * 10**6,
    ApproximateDP(0.5, 1e-9) * 100,
    (Gaussian(1.0) + Laplace(2.0)).on(Poisson(0.1)),
]


@pytest.mark.parametrize("event", EDGES, ids=lambda event: str(event)[:80])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-20, 1e-6, 0.3, 0.9])
def test_edges(event, delta):
    ends = Exact().epsilon(event, delta=delta)
    assert 0.0 <= ends.lower <= ends.upper
    assert renyi.epsilon(event, delta=delta) <= ends.upper
    assert 0.0 <= Exact().delta(event, epsilon=1e300).upper <= 1.0


@pytest.mark.parametrize("event", EDGES, ids=lambda event: str(event)[:80])
def test_edges_on_the_grid(event):
    ends = LossGrid().epsilon(event, delta=1e-6)
    assert 0.0 <= ends.lower <= ends.upper
    # A blur moves epsilon by less than 1e-5 of itself, where the upper end of a grid is as close.
    assert renyi.epsilon(event, delta=1e-6) <= ends.upper * (1 + 1e-5)


def test_arrays_and_sweeps_have_their_shapes_and_agree_with_single_calls():
    step = Gaussian(1.0).on(Poisson(0.01))
    deltas = np.array([[1e-9, 1e-5], [1e-3, 0.1]])
    events = [step * 100, step * 1000, step * 10_000]
    table = renyi.epsilon(events, delta=deltas)
    assert table.shape == (3, 2, 2)
    for i, event in enumerate(events):
        for index in np.ndindex(2, 2):
            assert table[i][index] == pytest.approx(renyi.epsilon(event, delta=float(deltas[index])), rel=1e-9)
    assert renyi.delta(events, epsilon=1.0).shape == (3,)


def test_the_answer_is_for_the_worst_relation():
    step = Gaussian(1.0).on(Poisson(0.5)) * 10
    answer = renyi.guarantee(step, delta=1e-5)
    assert answer.relation.value == "remove"
    assert answer.adjacency is Adjacency.ADD_OR_REMOVE
    assert "contour" in answer.method
    assert math.isfinite(answer.epsilon.upper)


@pytest.mark.parametrize(
    ("event", "delta", "adjacency"),
    [
        (
            (DiscreteLaplace(0.886, 4) * 12 + Gaussian(36.2)).on(Poisson(8.1e-9)),
            3.5e-115,
            Adjacency.ZERO_OUT,
        ),
        (
            (GaussianMixture(0.117, shifts=(1.38, 2.23), weights=(1.0 - 7.4e-8, 7.4e-8)) * 22).on(Poisson(0.072)),
            9.1e-175,
            Adjacency.ADD_OR_REMOVE,
        ),
    ],
    ids=["finite", "infinite"],
)
def test_a_law_above_the_truth_leaves_room_for_the_renyi_curve(event, delta, adjacency):
    """The law of one draw is known on a lattice, from above: its own epsilon is too large here, or even infinite."""
    found = Exact().epsilon(event, delta=delta, adjacency=adjacency)
    assert 0.9 * found.upper < found.lower <= found.upper
    assert found.upper <= Rdp().epsilon(event, delta=delta, adjacency=adjacency).upper < math.inf


def test_where_a_blur_is_felt_a_grid_is_asked_too():
    """In the midst of the losses the blur moved delta by 2.6e-5: the default lay above the loss grid."""
    counts = Laplace(12.720522354328299) * 74
    exact, grid = (one.delta(counts, epsilon=0.000815075065898795) for one in (Exact(), LossGrid()))
    assert grid.lower <= exact.upper <= grid.upper * (1.0 + 1e-9)
    assert exact.lower >= grid.lower
