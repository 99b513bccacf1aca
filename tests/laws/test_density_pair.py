"""Profiles of densities against closed forms: of smooth ones, with kinks, with jumps, with two crossings, cut off."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from renyi import (
    ConvergenceError,
    Exact,
    FromDensities,
    Gaussian,
    InvalidInput,
    Laplace,
    LossGrid,
    Poisson,
    Rdp,
    Relation,
)
from renyi.composing.steps import event_steps
from renyi.numerics.densities.smooth_panels import log_integrals, smooth_edges, split_at_extremes
from tests import examples

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
    steps = event_steps(event.canonical(), relation)
    (upper, _), (lower, _) = steps.counted[0], steps.counted_below[0]
    return np.exp(lower.log_profile(levels)), np.exp(upper.log_profile(levels))


def sf(x):
    return erfc(x / sqrt(2)) / 2


@pytest.mark.parametrize(("low", "high"), [(-40.0, 41.0), (-1000.0, 1001.0), (-9.0, 60.0)])
def test_gaussian_densities(low, high):
    lower, upper = profiles(FromDensities(shifted, standard, low, high))
    with mp.workdps(50):
        truth = [sf(mpf(e) - mpf(1) / 2) - exp(mpf(e)) * sf(mpf(e) + mpf(1) / 2) for e in LEVELS]
        assert all(a <= t <= b for a, t, b in zip(lower, truth, upper, strict=True))
        assert all(b - a <= 1e-10 * t + 1e-17 for a, t, b in zip(lower, truth, upper, strict=True))


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
        assert ends.upper - ends.lower <= 2e-3 * max(ends.upper, 1e-9)


def test_kinked_densities_have_a_curve():
    """Without its limit at infinite order, which nobody knows who looks at points."""
    event = FromDensities(laplace_shifted, laplace, -60.0, 61.0)
    assert Rdp().epsilon(event, delta=1e-5).upper == pytest.approx(
        Rdp().epsilon(Laplace(1.0), delta=1e-5).upper, rel=2e-4
    )


def test_what_an_interval_does_not_show_is_not_free():
    """5e-7 of the first density lie at 100, where the second has nothing; and 1e-7 in a spike that no node meets."""
    far = FromDensities(
        lambda x: np.logaddexp(math.log1p(-5e-7) + standard(x), math.log(5e-7) + standard(x - 100.0)),
        standard,
        -40.0,
        41.0,
    )
    spike = FromDensities(
        lambda x: np.logaddexp(
            math.log1p(-1e-7) + standard(x), math.log(1e-7) + standard((x - 3.3) / 1e-6) - math.log(1e-6)
        ),
        standard,
        -40.0,
        40.0,
    )
    for event, hidden in ((far, 5e-7), (spike, 0.99e-7)):
        for accountant in (Exact(), Rdp(), LossGrid()):
            assert accountant.delta(event, epsilon=2.0).upper >= hidden
            assert accountant.epsilon(event, delta=0.5 * hidden).upper > 10.0
            assert accountant.epsilon(event * 10, delta=0.5 * hidden).upper > 10.0


NOISES, REACHES = (0.01, 0.1, 0.7, 5.0, 100.0), (5.5, 7.0, 9.0, 40.0, 300.0)


@pytest.mark.parametrize(
    ("noise", "reach"),
    [*product(NOISES, REACHES)] if examples.FULL else [*zip(NOISES, REACHES, strict=True), (0.01, 300.0)],
)
def test_short_and_long_intervals(noise, reach):
    shift = math.log(noise * math.sqrt(2.0 * math.pi))
    event = FromDensities(
        lambda x: -0.5 * ((x - 1.0) / noise) ** 2 - shift,
        lambda x: -0.5 * (x / noise) ** 2 - shift,
        -reach * noise,
        1.0 + reach * noise,
    )
    for run, truth in ((event, Gaussian(noise)), (event * 10, Gaussian(noise) * 10)):
        for delta in (1e-3, 1e-8, 1e-15, 1e-30, 1e-200):
            ends, exact = Exact().epsilon(run, delta=delta), Exact().epsilon(truth, delta=delta)
            assert ends.lower <= exact.upper
            assert exact.lower <= ends.upper


def test_large_losses_on_a_wide_interval():
    """A loss of 5,600 where the second density is e^-5,600 of the first."""
    shift = math.log(0.01 * math.sqrt(2.0 * math.pi))
    event = FromDensities(
        lambda x: -0.5 * ((x - 1.0) / 0.01) ** 2 - shift, lambda x: -0.5 * (x / 0.01) ** 2 - shift, -40.0, 41.0
    )
    for epsilon in (4000.0, 5100.0, 5600.0):
        ends, exact = Exact().delta(event, epsilon=epsilon), Exact().delta(Gaussian(0.01), epsilon=epsilon)
        assert ends.lower <= exact.upper
        assert exact.lower <= ends.upper
        assert ends.upper - ends.lower <= 1e-6 * ends.upper


@pytest.mark.parametrize(
    ("scale", "low", "high"),
    [
        (10.0, -400.006, 623.994),
        (10.0, -400.003, 623.997),
        (10.0, -2835.702739501978, 1330.2514417581738),
        (10.0, -388.585, 2413.71),
        (50.0, -1e4, 1651.0),
        (1.0, -205.930102635146, 243.95530480658854),
    ],
)
def test_kinks_next_to_an_edge_are_seen(scale, low, high):
    event = FromDensities(
        lambda x: -np.abs(x - 1.0) / scale - math.log(2.0 * scale),
        lambda x: -np.abs(x) / scale - math.log(2.0 * scale),
        low,
        high,
    )
    for share in (0.0, 0.5, 0.99, 0.999):
        ends = Exact().delta(event, epsilon=share / scale)
        with mp.workdps(50):
            truth = 1 - exp((mpf(share / scale) - 1 / mpf(scale)) / 2)
            assert mpf(ends.lower) <= truth <= mpf(ends.upper)
            assert ends.upper - ends.lower <= 1e-8 * ends.upper


def test_a_density_that_falls_to_zero_at_the_ends():
    """A triangle against the uniform law: a quarter is the total variation; in the other direction some orders are infinite."""
    event = FromDensities(
        lambda x: np.log1p(-np.abs(x)), lambda x: np.full(x.shape, -math.log(2.0)), -1.0, 1.0, bounded=True
    )
    for epsilon in (0.0, 0.3, 0.6):
        ends = Exact().delta(event, epsilon=epsilon)
        forward = max(1.0 - 0.5 * math.exp(epsilon), 0.0) ** 2  # (1 - x) beats e^epsilon/2 up to 1 - e^epsilon/2
        backward = 0.25 * math.exp(-epsilon)  # 1/2 - e^epsilon t over t = 1 - |x| from 0 to e^-epsilon/2, twice
        assert ends.lower <= max(forward, backward) * (1 + 1e-12)
        assert max(forward, backward) <= ends.upper * (1 + 1e-12)
        assert ends.upper - ends.lower <= 1e-9


def test_infinite_losses_of_several_steps():
    event = FromDensities(first_box, second_box, 0.0, 1.25, bounded=True) * 3
    ends = Exact().delta(event, epsilon=1.0)
    assert ends.lower <= 1.0 - 0.75**3 <= ends.upper
    assert ends.upper - ends.lower < 1e-6


@pytest.mark.parametrize(
    ("log_p", "words"),
    [
        (lambda x: np.full(x.shape, -np.inf), "not to 1"),
        (lambda x: 0.0, "one number for every point"),
        (lambda x: [0.0], "one number for every point"),
        (lambda x: x * np.nan, "NaN"),
        (lambda x: np.full(x.shape, np.inf), "infinity"),
        (lambda x: np.where(x < 0.5, -np.inf, math.log(2.0)), "at once"),
    ],
)
def test_bad_densities_are_refused_in_words(log_p, words):
    with pytest.raises(InvalidInput, match=words):
        FromDensities(log_p, lambda x: np.where(x < 0.25, -np.inf, -math.log(0.75)), 0.0, 1.0, bounded=True)


def test_noisy_densities_are_refused_in_time():
    def rough(x):
        return (standard(x.astype(np.float32))).astype(np.float64)

    with pytest.raises(ConvergenceError, match="double precision"):
        FromDensities(lambda x: rough(x - 1.0), rough, -40.0, 41.0)


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
