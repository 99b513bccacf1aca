"""Questions that took minutes, or all of memory, or ended in a traceback: now a few seconds at most, and a valid answer.

What they may take is counted in numbers that are computed (``numerics/work``); the seconds are ``make hostile``'s affair.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import renyi
from renyi import (
    TCDP,
    Adjacency,
    DiscreteGaussian,
    ExponentialMechanism,
    Gaussian,
    Grouped,
    Laplace,
    Poisson,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    TruncatedPoisson,
    Tuned,
    WithoutReplacement,
)
from renyi.accountants import best, rdp
from renyi.accountants.classical import classical
from renyi.composing import compose
from renyi.composing.event_laws import renyi_curve
from renyi.composing.one_draw import tilt_ladder
from renyi.composing.renyi import best_order
from renyi.composing.steps import event_steps
from renyi.laws.relation import Relation


def searches(depth: int, shape: float) -> renyi.Event:
    return functools.reduce(lambda event, _: Tuned(event, mean=3.0, shape=shape), range(depth), Gaussian(1.0))


QUESTIONS = {
    "one search inside another, ten deep": (searches(10, 1.0), 1e-6, Adjacency.ADD_OR_REMOVE, 40.0),
    "Poisson searches, four deep": (searches(4, math.inf), 1e-6, Adjacency.ADD_OR_REMOVE, 20.0),
    "a search among long laws": (
        Tuned(DiscreteGaussian(257.0, sensitivity=5).on(Poisson(1e-8)), mean=2.0),
        1e-6,
        Adjacency.ADD_OR_REMOVE,
        1e-3,
    ),
    "groups of long laws": (
        Grouped(DiscreteGaussian(71.0, sensitivity=2).on(TruncatedPoisson(8e-7, 999, 1000)), 5) * 1000,
        1e-6,
        Adjacency.ZERO_OUT,
        1e-5,
    ),
    "noise beyond all else": (Gaussian(1e155).on(Poisson(0.5)) * 2, 1e-300, Adjacency.ADD_OR_REMOVE, 1e-15),
    "an epoch of more steps than there are atoms": (
        Gaussian(1.0).on(RandomAllocation(10**300)),
        1e-6,
        Adjacency.ADD_OR_REMOVE,
        1e-6,
    ),
    "an epoch of thousands of outcomes beside a search": (
        PureDP(0.00424).on(RandomAllocation(2421))
        + PureDP(0.0169) * 974_520
        + RandomizedResponse(0.5027).on(Poisson(0.797)) * 264_194_471
        + Tuned(DiscreteGaussian(1.3876, sensitivity=2).on(Poisson(6.6e-6)) * 49_553, mean=7.9, shape=math.inf),
        3.5e-22,
        Adjacency.ADD_OR_REMOVE,
        12_000.0,
    ),
    "hundreds of unlike discrete Gaussians": (
        functools.reduce(lambda event, i: event + DiscreteGaussian(10.0 + i), range(1, 300), DiscreteGaussian(10.0)),
        1e-6,
        Adjacency.ADD_OR_REMOVE,
        1.5,
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_it_is_answered(name):
    event, delta, adjacency, most = QUESTIONS[name]
    found = renyi.guarantee(event, delta=delta, adjacency=adjacency).epsilon
    assert 0.0 <= found.lower <= found.upper <= most


@pytest.mark.parametrize(
    "event",
    [
        Gaussian(1e-155).on(Poisson(5e-324)),
        Gaussian(0.0).on(Poisson(5e-324)),
        PureDP(1.0).on(Poisson(5e-324)) * 3,
        DiscreteGaussian(1e210, sensitivity=10**200).on(Poisson(0.1)) * 3,
        Grouped(Laplace(5.0).on(Poisson(0.1)), 10**300),
        Grouped(DiscreteGaussian(5.0, sensitivity=10**250), 10**100),
        Gaussian(1.0).on(Poisson(1e-300)) * 10**300,
        (Gaussian(5.2) * 10**45).on(RandomAllocation(10**94)) * 10**260,
        PureDP(1.7976931348623157e308).on(Poisson(0.2)) * 3 + Gaussian(2.0),
    ],
    ids=str,
)
def test_the_ends_of_what_floats_hold(event):
    """No exception, no warning, no NaN."""
    epsilon = renyi.guarantee(event, delta=1e-6).epsilon
    assert 0.0 <= epsilon.lower <= epsilon.upper
    assert 0.0 <= renyi.guarantee(event, epsilon=1e17).delta <= renyi.guarantee(event, epsilon=0.5).delta <= 1.0


@pytest.mark.parametrize(
    "event",
    [
        (ExponentialMechanism(0.56) * 10**150).on(Poisson(7.7e-159)) * 11,
        (Laplace(3e-5) * 10**120 + RandomizedResponse(1e-316) * 7).on(Poisson(1e-320)) * 10**10,
    ],
    ids=str,
)
def test_a_lattice_that_is_too_fine_is_not_doubled_step_by_step(event, monkeypatch):
    """Losses of 10**150 copies: the lattice that holds them has a step that is hundreds of doublings away."""
    tried = []
    over = tilt_ladder.TiltLadder.over
    monkeypatch.setattr(tilt_ladder.TiltLadder, "over", lambda *args: tried.append(1) or over(*args))
    found = renyi.guarantee(event, delta=1e-6).epsilon
    assert 0.0 <= found.lower <= found.upper
    assert 0 < len(tried) < 60


@pytest.mark.parametrize("size", [2, 17, 100, 10**6])
def test_a_group_of_pure_losses_costs_no_more_than_their_sum(size):
    """Chains of halves are cut at as many times the largest loss as there are records, however long they are."""
    alone = renyi.epsilon(Laplace(50.0).on(Poisson(0.1)), delta=0.0)
    group = renyi.epsilon(Grouped(Laplace(50.0).on(Poisson(0.1)), size), delta=0.0)
    assert group == pytest.approx(size * alone, rel=1e-9)


@pytest.mark.parametrize("name", ["one search inside another, ten deep", "hundreds of unlike discrete Gaussians"])
def test_less_work_leaves_a_wider_answer_that_holds(name, monkeypatch):
    """Whatever runs out, the ends stay on their sides of what all the work finds."""
    event, delta, adjacency, _ = QUESTIONS[name]
    full = renyi.guarantee(event, delta=delta, adjacency=adjacency).epsilon
    for share in (0.3, 0.1):
        for module in (compose, rdp, classical):
            monkeypatch.setattr(module, "WORK", share * module.WORK)
        event_steps.cache_clear()
        best_order.cache_clear()
        less = best.Best().epsilon(event, delta=delta, adjacency=adjacency)
        assert less.lower <= full.upper
        assert less.upper >= full.lower


def test_a_question_beyond_all_means_is_refused_with_the_reason(monkeypatch):
    for module in (compose, rdp, classical):
        monkeypatch.setattr(module, "WORK", 1.0)
    with pytest.raises(renyi.PrivacyError, match="work that one question is given"):
        renyi.epsilon((Laplace(1.37) + Gaussian(2.71)).on(Poisson(0.123)) * 77, delta=1e-7)


@pytest.mark.parametrize("steps", [1, 7, 400, 600, 12_345])
def test_the_recurrence_of_many_steps_is_the_power_of_a_polynomial(steps):
    """The moments of an epoch, by exact fractions: (alpha!/t^alpha) [z^alpha] (sum E L^j z^j/j!)^t, with E L^j = 2^(j(j-1))."""
    from fractions import Fraction

    from renyi.sampling.random_allocation.moments import RemoveMoments

    degree = 6
    series = [Fraction(2 ** (j * (j - 1)), math.factorial(j)) for j in range(degree + 1)]
    power = [Fraction(1)] + [Fraction(0)] * degree
    for n in range(1, degree + 1):  # Euler's recurrence for powers of a series that begins with 1
        power[n] = sum((k * (steps + 1) - n) * series[k] * power[n - k] for k in range(1, n + 1)) / n
    found = RemoveMoments(steps, lambda order: order * math.log(2.0))(np.arange(2.0, degree + 1.0))
    for order, value in zip(range(2, degree + 1), found, strict=True):
        moment = power[order] * math.factorial(order) / Fraction(steps) ** order
        assert value == pytest.approx(math.log(moment) / (order - 1), rel=1e-12)


@pytest.mark.parametrize(
    ("accountant", "event", "adjacency"),
    [
        (rdp.Rdp(), Grouped(Gaussian(1e200).on(Poisson(0.1)), 3), Adjacency.ADD_OR_REMOVE),
        (rdp.Rdp(), Gaussian(1e200).on(Poisson(0.1)), Adjacency.ADD_OR_REMOVE),
        (rdp.Rdp(), Gaussian(1e155).on(TruncatedPoisson(6e-129, 14, 10**15)) * 10**260, Adjacency.ZERO_OUT),
        (
            classical.Classical(),
            TCDP(0.009, 1.0000000000000002, Adjacency.REPLACE_ONE).on(WithoutReplacement(9, 9)) * 10**48,
            Adjacency.REPLACE_ONE,
        ),
        (rdp.Rdp(), Grouped(Gaussian(12.3).on(Poisson(3e-4)) * 91, 769_529_966_416), Adjacency.ADD_OR_REMOVE),
    ],
    ids=str,
)
def test_an_accountant_that_is_asked_by_itself_raises_nothing_of_python(accountant, event, adjacency):
    """The default gives up on a method that overflows; who asks for the method has nothing else."""
    found = accountant.epsilon(event, delta=1e-6, adjacency=adjacency)
    assert 0.0 <= found.lower <= found.upper
    assert 0.0 <= accountant.delta(event, epsilon=1.0, adjacency=adjacency).upper <= 1.0


def test_orders_too_far_for_an_integral_are_bounded_from_above():
    """Where the sampled Gaussian's own sum has too many points, joint convexity takes its place: above it, and finite."""
    curve = renyi_curve(Gaussian(2.0).on(Poisson(0.01)), Relation.REMOVE)
    orders = np.array([1e5, 1e8, 1e9, 3e9, 1e12, 1e40])
    found = curve(orders)
    leading = orders / 8.0 + np.log(0.01) * orders / (orders - 1.0)  # the largest term of the moment alone
    assert np.all(found >= leading)
    assert np.all(found <= orders / 8.0 * (1.0 + 1e-12))
