"""What the campaign of 20,000 runs found: answers of very long runs, and losses that are far apart."""

from __future__ import annotations

import pytest

import renyi
from renyi import DiscreteLaplace, Exact, FinitePair, FromRenyi, Gaussian, LossGrid, Poisson, PureDP, Rdp
from renyi.composing.sums import enumerated
from renyi.laws.relation import Relation
from renyi.mechanisms import RandomizedResponse


def test_tilts_beyond_ten_million():
    """Losses of 1e-10, four hundred million times: the sum over outcomes in 40 digits has its root at 5.9134294736266e-05."""
    run = PureDP(2.0718238087605685e-05).on(Poisson(4.415852629795182e-06)) * 401_442_896
    delta, truth = 7.295368575090611e-236, 5.9134294736266e-05
    for accountant in (Exact(), LossGrid()):
        found = accountant.epsilon(run, delta=delta)
        assert found.lower <= truth * (1 + 1e-12)
        assert found.upper >= truth * (1 - 1e-12)
    assert Exact().epsilon(run, delta=delta).upper == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize("window", [(-2000.0, 4000.0), (100.0, 400.0), (480.0, 560.0), (540.0, 545.0), (900.0, 1000.0)])
@pytest.mark.parametrize("epsilon", [0.0, 300.0, 520.0, 700.0])
def test_a_window_only_widens_the_answer(window, epsilon):
    """Whatever is cut off, above or below, the ends stay on their sides of what all outcomes give."""
    pair, count = RandomizedResponse(0.51).pair(Relation.REMOVE), 320_000
    whole = enumerated([(pair, count)], (-1e9, 1e9))
    part = enumerated([(pair, count)], window)
    exact, found = whole.delta(epsilon), part.delta(epsilon)
    assert found.lower <= exact.upper
    assert found.upper >= exact.lower
    for delta in (1e-200, 1e-20, 1e-3):
        exact, found = whole.epsilon(delta), part.epsilon(delta)
        assert found.lower <= exact.upper
        assert found.upper >= exact.lower


def test_dots_of_losses_in_the_hundred_thousands():
    """Terms that underflow must not be missing from a bound from above."""
    run = FromRenyi(((2.0, 0.1), (4.0, 0.25), (32.0, 3.0))) * 1_615_984
    for delta in (1e-10, 1e-100, 1e-200, 6.136167784197832e-255, 1e-300):
        best = renyi.epsilon(run, delta=delta)
        assert best <= Rdp().epsilon(run, delta=delta).upper
        assert LossGrid().epsilon(run, delta=delta).upper >= best * (1 - 1e-9)


def test_a_long_run_with_noise_too_small_for_a_contour():
    run = (
        FinitePair((0.6, 0.3, 0.1), (0.5, 0.2, 0.3)) * 400
        + DiscreteLaplace(0.9, sensitivity=2).on(Poisson(0.001)) * 23
        + Gaussian(0.015).on(Poisson(1e-5)) * 30_000
    )
    assert renyi.epsilon(run, delta=1e-6) > 0.0


def test_a_relation_that_no_contour_reaches_does_not_decide():
    """Adding cannot cost more than -1000 log(1 - q) = 1.0005; at 1.0 its delta is far below the other, which Chernoff shows."""
    event = Gaussian(1.0).on(Poisson(1e-3)) * 1000
    found = [Exact().delta(event, epsilon=epsilon) for epsilon in (0.99, 1.0, 1.01)]
    assert found[0].lower > found[1].upper > found[1].lower > found[2].upper
    assert all(ends.upper - ends.lower < 1e-6 * ends.upper for ends in found)


def test_the_rest_of_a_cut_is_known_beside_itself():
    """Far out, what is above a cut is e^-138 of what is below: 1.067 for 30 steps, where 31 steps have 0.00515."""
    step, delta = Gaussian(3.9298587585602855).on(Poisson(9.14099617932641e-07)), 9.3046978487416e-258
    fewer, more = (Exact().epsilon(step * count, delta=delta) for count in (30, 31))
    assert fewer.lower <= more.upper
    assert more.upper < 0.00516
