"""The pair of a Renyi curve: above every pair that has the curve, convex, and as low across 0 as the loss grid finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import ZCDP, Gaussian, Laplace, LossGrid, Poisson, RandomizedResponse, Relation
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.laws.pair import FiniteLossPair
from renyi.laws.pairs.curve_pair import CurvePair, _Lines

EVENTS = (
    Gaussian(1.0),
    Gaussian(0.3),
    Gaussian(50.0),
    Laplace(2.0),
    RandomizedResponse(0.9),
    Gaussian(1.0).on(Poisson(0.01)),
    Laplace(0.3).on(Poisson(0.2)),
)
EPSILON = np.concatenate([-np.geomspace(1e-9, 20.0, 60)[::-1], [0.0], np.geomspace(1e-9, 20.0, 60)])


def of(event):
    return CurvePair(renyi_curve(event, Relation.REMOVE), renyi_curve(event, Relation.ADD))


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_is_above_the_pair_that_has_the_curve(event):
    """Also where the chord across 0 is used: it lies below what either curve implies by itself."""
    for pair, known in ((of(event), Relation.REMOVE), (of(event).reversed(), Relation.ADD)):
        true = dominating_pair(event, known).log_profile(EPSILON)
        assert (pair.log_profile(EPSILON) >= true - 1e-11).all()


def test_is_above_random_pairs_of_few_outcomes():
    """Two outcomes are the worst that one order allows, so that the bound nearly touches some of them."""
    rng = np.random.default_rng(2)
    closest = 0.0
    for turn in range(60):
        p, q = (rng.dirichlet(np.full(2 + turn % 2, 0.7)) for _ in range(2))
        with np.errstate(under="ignore"):
            law = FiniteLossPair(np.log(p) - np.log(q), np.log(p), np.log(q))
            pair = CurvePair(law.renyi(), law.reversed().renyi())
        true, found = law.log_profile(EPSILON), pair.log_profile(EPSILON)
        assert (found >= true - 1e-11).all()
        seen = (EPSILON > 0.1) & (true > -30.0)
        closest = max(closest, float(np.max(np.exp(true[seen] - found[seen]), initial=0.0)))
    assert closest > 0.9


@pytest.mark.parametrize("rho", [0.05, 0.5, 2.003, 8.0])
def test_delta_is_what_the_trade_off_implies(rho):
    """The lines of all epsilon bound the total variation; delta at 0 was up to 4 % above that, 0.86555 of 2.003."""
    event = ZCDP(rho)
    total = renyi.delta(event, epsilon=0.0)
    rate = 0.5 * (1.0 - total)  # where a curve that is its own mirror image meets the line of epsilon 0
    implied = 1.0 - renyi.trade_off(event, fpr=rate) - rate
    assert implied * (1.0 - 1e-9) <= total <= 1.0005 * implied
    assert total < 0.8341 or rho > 2.003


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_the_reversed_pair_has_the_mirrored_hull(event):
    pair = of(event)
    swapped = CurvePair(pair.opposite, pair.curve)
    assert pair.reversed() == swapped
    assert pair.reversed().reversed() == pair
    assert pair.reversed().log_profile(EPSILON) == pytest.approx(swapped.log_profile(EPSILON), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_is_convex_across_zero(event):
    x = np.linspace(-0.3, 0.3, 61)
    y, value = np.exp(x), np.exp(of(event).log_profile(x))
    slope = np.diff(value) / np.diff(y)
    assert slope[29] <= slope[30] + 1e-6  # the two steps at 0


@settings(max_examples=8, deadline=None)
@given(epsilon=st.floats(1e-6, 0.5), rate=st.floats(1e-4, 0.5))
def test_no_accountant_is_below_the_default(epsilon, rate):
    curve = renyi_curve(RandomizedResponse(0.99).on(Poisson(rate)) * 50, Relation.REMOVE)
    run = renyi.FromRenyi(curve.at)
    best = renyi.delta(run, epsilon=epsilon)
    assert best <= LossGrid().delta(run, epsilon=epsilon).upper * (1 + 1e-9)


def test_the_end_of_a_chord_is_found_between_two_levels():
    """It lies 6 % from the nearest one: the default was 1e-8 above the loss grid."""
    curve = renyi_curve(RandomizedResponse(0.99).on(Poisson(0.08913965252333336)) * 50, Relation.REMOVE)
    run = renyi.FromRenyi(curve.at)
    for epsilon in (1e-3, 0.1, 0.5):
        assert renyi.delta(run, epsilon=epsilon) <= LossGrid().delta(run, epsilon=epsilon).upper * (1 + 1e-11)


@pytest.mark.parametrize(
    ("run", "epsilon"),
    [
        (ZCDP(rho=0.0018116330771936577, xi=1.7305835253192584e-06).on(Poisson(0.26612221166547423)) * 41307, 0.0557),
        (ZCDP(rho=0.0018).on(Poisson(0.266)) * 41307, 3.3),
    ],
)
def test_the_lowest_chord_is_found_among_many(run, epsilon):
    """Each order of the ladder has a chord that no neighbouring end improves: the default was 1e-8 above the loss grid."""
    assert renyi.delta(run, epsilon=epsilon) <= LossGrid().delta(run, epsilon=epsilon).upper * (1 + 1e-11)


def test_the_envelope_of_the_lines_is_their_minimum():
    s = np.geomspace(1e-4, 1e6, 200)
    moment = s * np.minimum(0.02 * (1.0 + s), 3.0)
    epsilon = np.concatenate([[0.0], np.geomspace(1e-9, 1e3, 400)])
    lines = s[:, None]
    direct = moment[:, None] - lines * epsilon - np.log1p(lines) - lines * np.log1p(1.0 / lines)
    found = _Lines.of(s, moment)(epsilon)
    least = np.min(direct, axis=0)
    assert np.all(found >= least)
    assert np.all(found - least <= 1e-11 * (1.0 + np.abs(least)))
