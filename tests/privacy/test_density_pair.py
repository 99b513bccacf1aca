"""Profiles of densities against closed forms: of smooth ones, with kinks, with jumps, with two crossings, cut off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from renyi import Exact, FromDensities, Gaussian, InvalidInput, Laplace, Poisson, Rdp, Relation
from renyi.accountants.parts import event_parts
from renyi.numerics.smooth_panels import log_integrals, smooth_edges, split_at_extremes

LEVELS = np.concatenate([np.linspace(-3.0, 9.0, 61), [1e-9, 20.0, 30.0]])


def standard(x):
    return -0.5 * x * x - 0.5 * math.log(2.0 * math.pi)


def shifted(x):
    return standard(x - 1.0)


def both_sides(x):
    return np.logaddexp(standard(x - 1.0), standard(x + 1.0)) - math.log(2.0)


def laplace(x):
    return -np.abs(x) - math.log(2.0)


def laplace_shifted(x):
    return laplace(x - 1.0)


def first_box(x):
    return np.where(x <= 1.0, 0.0, -np.inf)


def second_box(x):
    return np.where(x >= 0.25, 0.0, -np.inf)


def profiles(event, relation=Relation.REMOVE, levels=LEVELS):
    part = event_parts(event.canonical(), relation)[0]
    return np.exp(part.lower.log_profile(levels)), np.exp(part.upper.log_profile(levels))


def sf(x):
    return erfc(x / sqrt(2)) / 2


@pytest.mark.parametrize(("low", "high"), [(-40.0, 41.0), (-1000.0, 1001.0), (-9.0, 60.0)])
def test_gaussian_densities(low, high):
    lower, upper = profiles(FromDensities(shifted, standard, low, high))
    with mp.workdps(50):
        truth = [sf(mpf(e) - mpf(1) / 2) - exp(mpf(e)) * sf(mpf(e) + mpf(1) / 2) for e in LEVELS]
        assert all(a <= t <= b for a, t, b in zip(lower, truth, upper, strict=True))
        assert all(b - a <= 1e-10 * t for a, t, b in zip(lower, truth, upper, strict=True) if t > 1e-15)


def test_a_loss_that_turns():
    """(N(-1) + N(1))/2 against N(0): log cosh x - 1/2 crosses a level on either side."""
    lower, upper = profiles(FromDensities(both_sides, standard, -40.0, 40.0))
    with mp.workdps(50):
        for a, level, b in zip(lower, LEVELS, upper, strict=True):
            x = mp.acosh(exp(mpf(level) + mpf(1) / 2)) if level > -0.5 else mpf(0)
            truth = sf(x - 1) + sf(x + 1) - 2 * exp(mpf(level)) * sf(x)
            assert a <= truth <= b
            assert b - a <= 1e-10 * b


def test_kinks():
    levels = np.concatenate([np.linspace(-2.0, 0.999, 50), 1.0 - np.geomspace(1e-13, 0.1, 20)])
    lower, upper = profiles(FromDensities(laplace_shifted, laplace, -700.0, 700.0), levels=levels)
    with mp.workdps(50):
        for a, level, b in zip(lower, levels, upper, strict=True):
            truth = 1 - exp(min((mpf(level) - 1) / 2, mpf(0))) if level > -1.0 else 1 - exp(mpf(level))
            assert a <= truth <= b
            assert b - a <= 1e-10 * b + 1e-13


def test_jumps_and_infinite_losses():
    lower, upper = profiles(FromDensities(first_box, second_box, 0.0, 1.25, bounded=True))
    truth = 0.25 + 0.75 * np.maximum(-np.expm1(LEVELS), 0.0)
    assert np.all(lower <= truth * (1 + 1e-15))
    assert np.all(truth <= upper * (1 + 1e-15))
    assert np.all(upper - lower <= 1e-10)


def test_a_cut_off_tail_counts_as_an_infinite_loss():
    """What [-5, 6] lacks of either density is 5.7e-7: no epsilon is known at a smaller delta, and none is too small."""
    event = FromDensities(shifted, standard, -5.0, 6.0)
    for delta in (0.1, 1e-3, 1e-5, 1e-6, 1e-7, 1e-30):
        truth = Exact().epsilon(Gaussian(1.0), delta=delta)
        ends = Exact().epsilon(event, delta=delta)
        assert ends.lower <= truth.upper
        assert truth.lower <= ends.upper
    assert math.isinf(Rdp().epsilon(event, delta=1e-5).upper)  # no order has died out at the ends


@pytest.mark.parametrize("count", [1, 2, 5, 50, 1000])
@pytest.mark.parametrize("rate", [None, 0.1])
def test_runs_of_densities_are_those_of_the_noise(count, rate):
    densities, noise = FromDensities(shifted, standard, -40.0, 41.0), Gaussian(1.0)
    if rate is not None:
        densities, noise = densities.on(Poisson(rate)), noise.on(Poisson(rate))
    for delta in (0.1, 1e-6, 1e-20):
        ends, truth = Exact().epsilon(densities * count, delta=delta), Exact().epsilon(noise * count, delta=delta)
        assert ends.lower <= truth.upper
        assert truth.lower <= ends.upper
        assert ends.upper - ends.lower <= 2e-3 * ends.upper


def test_kinked_densities_have_a_curve():
    """Without its limit at infinite order, which nobody knows who looks at points."""
    event = FromDensities(laplace_shifted, laplace, -60.0, 61.0)
    assert Rdp().epsilon(event, delta=1e-5).upper == pytest.approx(
        Rdp().epsilon(Laplace(1.0), delta=1e-5).upper, rel=2e-4
    )


def test_nothing_at_all_is_no_density():
    with pytest.raises(InvalidInput, match="not to 1"):
        FromDensities(lambda x: np.full(x.shape, -np.inf), standard, -40.0, 40.0)


def test_panels_are_halved_at_kinks_only():
    edges = smooth_edges((laplace,), -10.0, 11.0, 7)
    assert edges.size < 80
    total = np.logaddexp.reduce(log_integrals(laplace, edges[:-1], edges[1:]))
    assert total == pytest.approx(math.log1p(-0.5 * (math.exp(-10.0) + math.exp(-11.0))), abs=1e-13)


def test_a_function_is_split_where_it_turns():
    edges = split_at_extremes(lambda x: np.cos(x), np.linspace(0.0, 10.0, 4))
    for turn in (math.pi, 2.0 * math.pi, 3.0 * math.pi):
        assert np.min(np.abs(edges - turn)) < 1e-6
    assert edges.size == 7
