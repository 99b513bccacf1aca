"""Random allocation: a paper's numbers, integration in the plane, partitions, enumeration, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import mpmath
import numpy as np
import pytest

import renyi
from renyi import (
    ZCDP,
    Adjacency,
    ApproximateDP,
    Gaussian,
    InvalidInput,
    Laplace,
    Poisson,
    RandomAllocation,
    RandomizedResponse,
    Rdp,
    Relation,
    UnsupportedError,
)
from renyi.composing.event_laws import renyi_curve
from renyi.laws.conversion import improved_epsilon
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.random_allocation.moments import AddMoments, RemoveMoments
from tests import examples


def curve(event, relation):
    return renyi_curve(event.canonical(), relation)


@pytest.mark.parametrize(("noise", "steps", "epochs", "expected"), [(1.0, 1000, 10, 0.9763), (2.0, 100, 20, 1.088)])
def test_the_epsilon_of_some_epochs(noise, steps, epochs, expected):
    """By the conversion of Canonne, Kamath & Steinke at integer orders; the accountant's own conversion is never worse."""
    run = Gaussian(noise).on(RandomAllocation(steps)) * epochs
    remove = curve(run, Relation.REMOVE)
    by_hand = min(improved_epsilon(float(a), remove.at(float(a)), math.log(1e-6)) for a in range(2, 80))
    assert by_hand == pytest.approx(expected, abs=6e-4)
    answer = Rdp().guarantee(run, delta=1e-6)
    assert answer.epsilon.upper <= by_hand * (1 + 1e-9)
    assert (
        answer.epsilon.upper
        <= Rdp().epsilon(Gaussian(noise).on(Poisson(1 / steps)) * (steps * epochs), delta=1e-6).upper
    )
    assert answer.relation is Relation.REMOVE


@pytest.mark.parametrize("noise", [0.6, 1.0, 3.0])
def test_two_steps_in_both_directions_by_integration_in_the_plane(noise):
    event = Gaussian(noise).on(RandomAllocation(2))
    axis = noise * np.arange(-14.0 - 8.0 / noise, 14.0 + 8.0 / noise, 0.05)
    x, y = np.meshgrid(axis, axis)
    log_q = -(x**2 + y**2) / (2 * noise**2) + 2 * math.log(0.05 / math.sqrt(2 * math.pi))
    log_ratio = np.logaddexp((x - 0.5) / noise**2, (y - 0.5) / noise**2) - math.log(2.0)
    for order in (2.0, 3.0, 5.0):
        exact = math.log(np.sum(np.exp(log_q + order * log_ratio))) / (order - 1)
        assert curve(event, Relation.REMOVE).at(order) == pytest.approx(exact, rel=2e-10)
    for order in (1.3, 2.0, 3.5, 6.0):
        exact = math.log(np.sum(np.exp(log_q + (1 - order) * log_ratio))) / (order - 1)
        assert curve(event, Relation.ADD).at(order) == pytest.approx(exact, rel=2e-10)
        assert curve(event, Relation.ADD).at(order) <= curve(event, Relation.REMOVE).at(order)


def partitions(total, largest=None):
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@pytest.mark.parametrize(("noise", "steps"), [(1.0, 5), (0.5, 3), (4.0, 1000), (10.0, 10**9)])
def test_removing_is_the_sum_over_partitions(noise, steps):
    """Feldman & Shenfeld (2025), Corollary 6.2, in fifty digits."""
    moments = RemoveMoments(steps, lambda order: order / (2 * noise**2))
    with mpmath.workdps(50):
        for order in (2, 3, 7, 12):
            total = mpmath.mpf(0)
            for parts in partitions(order):
                if len(parts) > steps:
                    continue
                ways = mpmath.factorial(order)
                for part in parts:
                    ways /= mpmath.factorial(part)
                for times in Counter(parts).values():
                    ways /= mpmath.factorial(times)
                ways *= mpmath.ff(steps, len(parts))
                total += ways * mpmath.e ** (sum(j * (j - 1) for j in parts) / (2 * mpmath.mpf(noise) ** 2))
            exact = mpmath.log(total / mpmath.mpf(steps) ** order) / (order - 1)
            assert moments(np.array([float(order)]))[0] == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize("noise", [3.0, 20.0])
def test_one_step_of_adding_is_the_mechanism_itself(noise):
    orders = np.array([1.0, 1.001, 1.5, 2.0, 7.0, 30.0])
    assert AddMoments(1, GaussianPair(noise).ratio_law)(orders) == pytest.approx(orders / (2 * noise**2), rel=1e-12)


@pytest.mark.parametrize(("noise", "steps", "order"), [(1.0, 1000, 4.5), (5.0, 10, 20.0), (2.0, 100, 1.0)])
def test_adding_against_twenty_digits(noise, steps, order):
    with mpmath.workdps(24):
        s, t, a = mpmath.mpf(noise), mpmath.mpf(steps), mpmath.mpf(order)

        def rise(v):  # E e^(-v (L - 1)) - 1
            f = lambda x: (mpmath.e ** (-v * mpmath.expm1(x / s - 1 / (2 * s * s))) - 1) * mpmath.npdf(x)  # noqa: E731
            h = mpmath.mpf("0.2") * min(s, 1)
            return h * mpmath.fsum(f(h * k) for k in range(int(-9 / h), int((9 + 1 / s) / h)))

        h = mpmath.mpf("0.25") if order < 10 else mpmath.mpf("0.0625")
        total = mpmath.mpf(0)
        for k in range(int(-14 / h), int(7 / h)):
            u = mpmath.e ** (h * k)
            total += h * u ** (a - 1) * mpmath.e**-u * mpmath.expm1(t * mpmath.log1p(rise(u / t)))
        exact = total if order == 1.0 else mpmath.log1p(total / mpmath.gamma(a - 1)) / (a - 1)
    value = curve(Gaussian(noise).on(RandomAllocation(steps)), Relation.ADD).at(order)
    assert float(exact) <= value * (1 + 1e-12)
    assert value == pytest.approx(float(exact), rel=2e-10)


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_randomized_response_by_enumeration(steps):
    p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    without, with_record = [], []
    for outcome in itertools.product((0, 1), repeat=steps):
        base = np.prod(q[list(outcome)])
        without.append(base)
        with_record.append(np.mean([base * p[o] / q[o] for o in outcome]))
    first, second = np.array(with_record), np.array(without)
    event = RandomizedResponse(0.8).on(RandomAllocation(steps))
    for order in (2.0, 3.0, 9.0):
        exact = math.log(np.sum(first**order * second ** (1 - order))) / (order - 1)
        assert curve(event, Relation.REMOVE).at(order) == pytest.approx(exact, rel=1e-9)
    for order in (1.1, 2.0, 4.5, 20.0):
        exact = math.log(np.sum(second**order * first ** (1 - order))) / (order - 1)
        assert curve(event, Relation.ADD).at(order) == pytest.approx(exact, rel=1e-9)
    assert curve(event, Relation.REMOVE).limit >= math.log(np.max(first / second))
    assert curve(event, Relation.ADD).limit >= math.log(np.max(second / first))


def test_an_epoch_is_one_unit_and_one_step_is_no_sampling():
    epoch = Gaussian(2.0).on(RandomAllocation(50))
    orders = np.array([2.0, 5.0])
    assert curve(epoch * 3, Relation.REMOVE)(orders) == pytest.approx(3 * curve(epoch, Relation.REMOVE)(orders))
    assert renyi.epsilon(Gaussian(2.0).on(RandomAllocation(1)), delta=1e-6) == renyi.epsilon(Gaussian(2.0), delta=1e-6)
    assert (
        curve(epoch, Relation.REMOVE)(orders) < curve(Gaussian(2.0).on(RandomAllocation(49)), Relation.REMOVE)(orders)
    ).all()
    assert (
        curve(epoch, Relation.ADD)(orders) < curve(Gaussian(2.0).on(RandomAllocation(49)), Relation.ADD)(orders)
    ).all()


def test_zero_out_is_the_same_pair():
    run = Laplace(1.0).on(RandomAllocation(20)) * 5
    assert Rdp().epsilon(run, delta=1e-6, adjacency=Adjacency.ZERO_OUT) == Rdp().epsilon(run, delta=1e-6)


def test_large_orders_are_capped_by_the_mechanism_itself():
    event = Gaussian(0.5).on(RandomAllocation(10))
    for relation in (Relation.REMOVE, Relation.ADD):
        orders = np.array([1e3, 1e5])
        assert (curve(event, relation)(orders) <= curve(Gaussian(0.5), relation)(orders)).all()


def test_what_is_refused():
    with pytest.raises(UnsupportedError, match=r"add-or-remove.*WithoutReplacement"):
        renyi.epsilon(Gaussian(1.0).on(RandomAllocation(10)), delta=1e-6, adjacency=Adjacency.REPLACE_ONE)
    with pytest.raises(UnsupportedError, match="known only by its Renyi curve"):
        renyi.epsilon(ZCDP(0.1).on(RandomAllocation(10)), delta=1e-6)
    with pytest.raises(UnsupportedError, match="failure mass"):
        renyi.epsilon(ApproximateDP(0.1, 1e-9).on(RandomAllocation(10)), delta=1e-6, accountant=Rdp())
    for steps in (0, -1, 2.0, True, "3"):
        with pytest.raises(InvalidInput):
            RandomAllocation(steps)


def test_hardly_any_noise_costs_what_one_step_does():
    """The law of its loss would have millions of points, and joint convexity bounds it."""
    run = Gaussian(1e-3).on(RandomAllocation(2))
    assert renyi.epsilon(run, delta=1e-6) <= renyi.Rdp().epsilon(Gaussian(1e-3), delta=1e-6).upper * (1 + 1e-9)


@pytest.mark.parametrize(
    ("noise", "epochs"), examples.some([(0.4, 1), (0.7, 3), (2.0, 1), (0.4, 3), (2.0, 3), (0.7, 1)], 2)
)
def test_never_dearer_than_one_step_on_all_records(noise, epochs):
    """The conversion from a curve loses more than few steps gain; the profile of all records is a bound too."""
    for epsilon in (0.0, 0.1, 1.0):
        plain = renyi.delta(Gaussian(noise) * epochs, epsilon=epsilon)
        found = [renyi.delta(Gaussian(noise).on(RandomAllocation(k)) * epochs, epsilon=epsilon) for k in (1, 2, 3, 50)]
        assert found[0] == pytest.approx(plain, rel=1e-9)
        assert all(value <= plain * (1 + 1e-9) for value in found)
    assert renyi.risk(Gaussian(noise).on(RandomAllocation(2))).advantage.upper <= renyi.risk(
        Gaussian(noise)
    ).advantage.upper * (1 + 1e-9)
