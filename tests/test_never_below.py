"""Answers against exact ones where losses are tiny, orders huge or deltas extreme: never below, and not far above."""

from __future__ import annotations

import itertools
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import binomial, erfc, exp, log, mp, mpf, sqrt

import renyi
from renyi import (
    ApproximateDP,
    Classical,
    DiscreteLaplace,
    Exact,
    FinitePair,
    Gaussian,
    Laplace,
    LossGrid,
    Poisson,
    PureDP,
    RandomizedResponse,
    Rdp,
)
from renyi.numerics.printing import rounded_up
from tests import examples
from tests.soundness import reference


def exact_gaussian_delta(noise, epsilon):
    """Phi(1/(2s) - e s) - exp(e) Phi(-1/(2s) - e s), to 80 digits."""
    with mp.workdps(80):
        s, e = mpf(noise), mpf(epsilon)
        phi = lambda x: erfc(-x / sqrt(2)) / 2  # noqa: E731
        return phi(1 / (2 * s) - e * s) - exp(e) * phi(-1 / (2 * s) - e * s)


@settings(max_examples=150, deadline=None)
@given(st.floats(-1.0, 18.0), st.floats(0.0, 6.0))
def test_delta_of_a_gaussian(log_noise, spread):
    noise = 10.0**log_noise
    epsilon = spread / noise
    assert mpf(renyi.delta(Gaussian(noise), epsilon=epsilon)) >= exact_gaussian_delta(noise, epsilon)


@settings(max_examples=60, deadline=None)
@given(st.floats(-15.0, -0.4), st.floats(0.0, 0.999))
def test_randomized_response_both_ways(log_excess, share):
    p = 0.5 + 10.0**log_excess
    with mp.workdps(60):
        total = 2 * mpf(p) - 1  # delta at epsilon 0
        delta = float(share * total)
        level = log((mpf(p) - mpf(delta)) / (1 - mpf(p)))
    event = RandomizedResponse(p)
    assert mpf(renyi.epsilon(event, delta=delta)) >= level
    assert mpf(renyi.delta(event, epsilon=0.0)) >= total
    assert renyi.delta(event, epsilon=0.0) <= float(total) * 1.6


def held_against_the_sum(event, laws, count, log_gap):
    """Delta of a repeated event, 10^log_gap of it below its largest loss, against the sum over all outcomes of each law."""
    largest = max(count * max(loss for loss, _ in law) for law in laws)
    epsilon = float(largest * (1 - mpf(10) ** log_gap))
    truth = mpf(0)
    for (x, p), (y, q) in laws:
        terms = [
            binomial(count, k) * p**k * q ** (count - k) * (1 - exp(mpf(epsilon) - k * x - (count - k) * y))
            for k in range(count + 1)
            if k * x + (count - k) * y > epsilon
        ]
        truth = max(truth, sum(terms, mpf(0)))
    for accountant in (Exact(), Classical(), LossGrid()):
        found = accountant.delta(event * count, epsilon=epsilon)
        assert found.lower <= truth
        assert truth <= found.upper or truth < 1e-305


@settings(max_examples=80, deadline=None)
@given(st.floats(0.501, 1 - 1e-9), st.integers(1, 20), st.floats(-16.0, -0.01))
def test_delta_close_below_the_largest_loss(p, count, log_gap):
    """There it is a matter of the last digits of the losses."""
    with mp.workdps(60):
        level = log(mpf(p) / (1 - mpf(p)))
        held_against_the_sum(RandomizedResponse(p), [[(level, mpf(p)), (-level, 1 - mpf(p))]], count, log_gap)


@settings(max_examples=400 if examples.FULL else 30, deadline=None)
@given(st.floats(-3.0, 2.5), st.floats(-4.0, -0.01), st.integers(1, 20), st.floats(-16.0, -0.01))
def test_delta_of_levels_close_below_them(log_level, log_rate, count, log_gap):
    level, rate = 10.0**log_level, 10.0**log_rate
    with mp.workdps(400):
        e, q = mpf(level), mpf(rate)
        likely = 1 / (1 + exp(-e))
        held_against_the_sum(PureDP(level), [[(e, likely), (-e, 1 - likely)]], count, log_gap)
        mixed = (1 - q) * (1 - likely) + q * likely
        ahead, behind = log(mixed / (1 - likely)), log((1 - mixed) / likely)
        removing = [(ahead, mixed), (behind, 1 - mixed)]
        adding = [(-ahead, 1 - likely), (-behind, likely)]
        held_against_the_sum(PureDP(level).on(Poisson(rate)), [removing, adding], count, log_gap)


@settings(max_examples=100, deadline=None)
@given(st.floats(-3.0, 3.0), st.integers(-3, 5))
def test_delta_of_laplace_noise_at_its_largest_loss(log_scale, ulps):
    scale = 10.0**log_scale
    epsilon = 1.0 / scale
    for _ in range(abs(ulps)):
        epsilon = math.nextafter(epsilon, 0.0 if ulps > 0 else math.inf)
    with mp.workdps(60):
        gap = 1 / mpf(scale) - mpf(epsilon)
        truth = 1 - exp(-gap / 2) if gap > 0 else mpf(0)
        found = Exact().delta(Laplace(scale), epsilon=epsilon)
        assert found.lower <= truth <= found.upper
        assert found.upper - truth <= 1e-11 * truth
        assert truth <= Classical().delta(Laplace(scale), epsilon=epsilon).upper


def test_a_level_that_is_a_float_is_met_by_that_float():
    for event, epsilon in ((PureDP(0.3), 0.3), (PureDP(1.0) * 3, 3.0), (Laplace(0.5), 2.0), (Laplace(0.5) * 7, 14.0)):
        assert renyi.delta(event, epsilon=epsilon) == 0.0
        assert renyi.delta(event, epsilon=math.nextafter(epsilon, 0.0)) > 0.0


@pytest.mark.parametrize("noise", [5e-324, 1e-310, 1e-200, 1e-156, 1e-150, 1e-100, 1e-20, 1e-8, 1e-5])
def test_next_to_no_noise(noise):
    """Whoever is drawn is seen: delta is the chance of that, and epsilon beyond what any other release costs."""
    drawn = -math.expm1(10 * math.log1p(-0.1))
    for event in (Gaussian(noise), Laplace(noise)):
        sampled = event.on(Poisson(0.1)) * 10
        for accountant in (Exact(), LossGrid(), Rdp(), Classical()):
            assert accountant.delta(sampled, epsilon=1.0).upper >= drawn * (1 - 1e-12)
            assert accountant.epsilon(event + Laplace(1.0), delta=1e-5).upper >= 0.9 / noise
            for run in (sampled, event * 10, event + Laplace(1.0)):
                assert accountant.epsilon(run, delta=1e-5).upper >= Exact().epsilon(run, delta=1e-5).lower


def test_losses_are_finite_however_large():
    run = Gaussian(1e-8).on(Poisson(0.1)) * 10
    with mp.workdps(40):
        # Each draw of the record loses about 1/(2 noise^2); six draws are as improbable as 1.5e-4, seven 9e-6.
        truth = 6 * mpf(10) ** 16 / 2
    for accountant in (Exact(), LossGrid()):
        found = accountant.epsilon(run, delta=1e-5)
        assert 1e14 < found.lower <= truth * (1 + 1e-6) < found.upper
    assert renyi.epsilon(run, delta=1e-5) <= Rdp().epsilon(run, delta=1e-5).upper


@pytest.mark.parametrize(
    ("event", "delta", "epsilon"),
    [
        (ApproximateDP(1.0, 1e-5), 1e-5, 1.0),
        (ApproximateDP(1.0, 0.125), 0.125, 1.0),
        (ApproximateDP(0.7, 1e-300), 1e-300, 0.7),
        (Gaussian(0.0).on(Poisson(0.125)), 0.125, 0.0),
    ],
)
def test_a_failure_as_probable_as_delta(event, delta, epsilon):
    """Equality suffices: delta(epsilon) <= delta."""
    found = Exact().epsilon(event, delta=delta)
    assert found.lower <= epsilon <= found.upper <= epsilon + 1e-15
    assert renyi.epsilon(event, delta=math.nextafter(delta, 0.0)) == math.inf
    for accountant in (Exact(), LossGrid(), Classical()):
        assert accountant.epsilon(event, delta=delta).lower <= epsilon
        assert accountant.epsilon(event * 2, delta=delta * (2.0 - delta)).lower <= 2.0 * epsilon + 1e-15


@pytest.mark.parametrize("excess", [-1e-12, -1e-15, 0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-9])
def test_a_delta_next_to_the_probability_of_failure(excess):
    """The mass is known up to rounding, and the profile falls to it without end."""
    pair = FinitePair((0.3, 0.6, 0.1), (0.5, 0.5, 0.0))
    for accountant in (Exact(), Classical(), LossGrid()):
        found = accountant.epsilon(pair, delta=0.1 * (1.0 + excess))
        # Adding decides, where 0.5 - 0.3 e^epsilon is delta; removing has log(0.6/0.5), or infinity.
        truth = math.log((0.5 - 0.1 * (1.0 + excess)) / 0.3)
        assert found.lower <= truth * (1 + 1e-12) or excess < 0.0
        assert found.upper >= truth * (1 - 1e-12)
        assert found.upper == math.inf or excess > -1e-14


@pytest.mark.parametrize("level", [700.0, 745.0, 746.0, 1000.0, 1e6])
def test_levels_whose_lie_has_no_float(level):
    for event in (PureDP(level), DiscreteLaplace(1.0 / level), PureDP(level).on(Poisson(0.1))):
        found = Exact().epsilon(event * 3, delta=1e-5)
        assert 2.9 * level < found.lower <= found.upper < 3.0 * level * (1 + 1e-12)
        assert found.upper <= Rdp().epsilon(event * 3, delta=1e-5).upper * (1 + 1e-11)


@pytest.mark.parametrize(
    ("event", "epsilon", "truth"),
    [
        (Laplace(1e8), 0.0, 4.9999999875e-09),
        (Laplace(1e160), 0.0, 5e-161),
        (Gaussian(1e20), 0.0, 3.989422804014326e-21),
        (Gaussian(1.0).on(Poisson(1e-16)), 0.0, 3.829249225480262e-17),
        (Gaussian(1.0).on(Poisson(1e-16)), 5e-17, 2.637435891089867e-17),
    ],
    ids=repr,
)
def test_delta_where_the_loss_is_tiny(event, epsilon, truth):
    assert renyi.delta(event, epsilon=epsilon) >= truth


def test_epsilon_at_an_order_of_a_trillion():
    value = renyi.epsilon(RandomizedResponse(0.4999999999983724), delta=7.676281429413485e-13)
    assert 4.97509e-12 < value < 4.98e-12


@pytest.mark.parametrize("outcomes", [3, 10, 10**6])
def test_many_outcomes_next_to_uniform(outcomes):
    for excess in (1e-10, 1e-6):
        p = (1.0 + excess) / outcomes
        with mp.workdps(60):
            truth = log(mpf(p) * (outcomes - 1) / (1 - mpf(p)))
        value = renyi.epsilon(RandomizedResponse(p, outcomes=outcomes), delta=0.0)
        assert truth <= mpf(value) <= truth * (1 + mpf(1e-12))


def test_delta_is_zero_only_for_what_is_pure():
    for epsilon in (100.0, 1000.0, 1e20, 1e300):
        assert 0 < renyi.delta(Gaussian(1.0), epsilon=epsilon) < 1e-300
    assert renyi.delta(Laplace(1.0), epsilon=1.0 + 1e-9) == 0.0


@given(st.floats(1e-300, 1e300))
def test_rounded_up_is_never_below(value):
    assert float(rounded_up(value)) >= value
    assert float(rounded_up(value)) <= value * (1 + 1.01e-5)


def test_rounded_up_keeps_what_is_exact():
    assert [rounded_up(x) for x in (0.0, 1e-5, 2.5, math.inf, 1.000001)] == ["0", "1e-05", "2.5", "inf", "1.00001"]


@pytest.mark.parametrize(
    ("noise", "rate", "delta"), [(0.6, 1e-5, 1e-5), (1.0, 1e-3, 1e-3), (1.1, 256 / 60_000, 1e-3), (2.0, 1e-4, 1e-6)]
)
def test_small_losses_grow_with_the_steps(noise, rate, delta):
    """Where nearly all orders give the same epsilon, the search must not wander off to where rounding dominates."""
    values = [renyi.epsilon(Gaussian(noise).on(Poisson(rate)) * n, delta=delta) for n in (1, 2, 3, 4, 5, 10, 50)]
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(values)), values
    assert values[0] < 1e-2


def test_delta_inverts_epsilon_where_only_integer_orders_are_known():
    for event, delta in [
        ((Gaussian(0.54) + Laplace(1.08)).on(Poisson(0.128)), 0.058),
        ((Gaussian(0.619) + Laplace(1.238)).on(Poisson(1.2e-4)) * 25, 1e-8),
    ]:
        epsilon = renyi.epsilon(event, delta=delta, accountant=renyi.Rdp())
        assert renyi.delta(event, epsilon=epsilon, accountant=renyi.Rdp()) == pytest.approx(delta, rel=1e-6)


def test_enormous_noise_under_sampling_is_quick_and_small():
    orders = np.array([1.0, 2.0, 1e6, 1e10, 1e12])
    values = renyi.divergence(Gaussian(1e5).on(Poisson(0.5)), order=orders)
    assert (values >= 0.25 * 0.999 * orders / 2e10).all()
    assert (values <= orders / 2e10 * (1 + 1e-3)).all()


def test_pickled_events_hash_alike_in_another_process():
    event = Gaussian(1.0).on(Poisson(0.1)) * 3 + Laplace(2.0)
    hash(event)
    code = (
        "import pickle, sys; from renyi import *; e = pickle.load(sys.stdin.buffer);"
        "f = Gaussian(1.0).on(Poisson(0.1)) * 3 + Laplace(2.0); assert e == f and hash(e) == hash(f) and f in {e}"
    )
    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(event), check=True, env={"PYTHONHASHSEED": "7"})


def test_events_can_be_summed():
    parts = [Gaussian(1.0), Laplace(2.0), Gaussian(1.0)]
    assert sum(parts) == Gaussian(1.0) * 2 + Laplace(2.0)


def test_a_pair_below_whose_largest_loss_is_negative():
    """Of a pair below, only a part of the masses is held; what its losses are off by was then negative."""
    finite = FinitePair((0.4881856196498094, 0.1466942564010568, 0.36512012394913385), (0.56, 0.0, 0.44))
    product = (
        renyi.DiscreteGaussian(0.598145729311633, sensitivity=3) * 4 + finite * 4 + Gaussian(28.05694737109305) * 15
    )
    run = product.on(Poisson(0.00011140662098492219)) * 37_819_255
    ends = Exact().delta(run, epsilon=2.741370265968077e-06)
    assert 1.0 - 1e-14 <= ends.lower <= ends.upper == 1.0


@pytest.mark.parametrize("rate", [0.2, 0.99, 1e-6])
@pytest.mark.parametrize("tiny", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
def test_tiny_losses_on_a_sample_added_or_removed(rate, tiny, share):
    """One outcome is more probable by a little: every delta in closed form, to 60 digits."""
    p, q = (0.5 + tiny, 0.5 - tiny), (0.5, 0.5)
    event = FinitePair(p, q).on(Poisson(rate))
    with mp.workdps(60):
        mixed = [(1 - mpf(rate)) * b + mpf(rate) * mpf(a) for a, b in zip(p, q, strict=True)]
        largest = max(abs(log(m / mpf(b))) for m, b in zip(mixed, q, strict=True))
        epsilon = float(share * largest)

        def delta(first, second):
            return sum(max(mpf(a) - exp(mpf(epsilon)) * mpf(b), 0) for a, b in zip(first, second, strict=True))

        truth = max(delta(mixed, q), delta(q, mixed))
        ends = Exact().delta(event, epsilon=epsilon)
        assert mpf(ends.lower) <= truth <= mpf(ends.upper)
        assert ends.upper - ends.lower <= 1e-5 * ends.upper  # at a rate of 1e-6, what rounding makes of the losses


@pytest.mark.parametrize("noise", [0.124, 0.092, 0.05])
@pytest.mark.parametrize("accountant", [Exact(), Rdp()], ids=repr)
def test_an_epsilon_beyond_all_digits(noise, accountant):
    for epsilon in np.geomspace(1e12, 1e16, 300):
        assert 0.0 <= accountant.delta(Gaussian(noise), epsilon=float(epsilon)).upper <= 1.0
    run = Gaussian(0.029766159707449565) * 8624 + Gaussian(2.217221975288782) * 7
    assert 0.0 <= accountant.delta(run, epsilon=1e15).upper <= 1.0


@pytest.mark.parametrize(
    ("gaussians", "epsilon"),
    [
        ([(0.028582211137527746, 57725), (53.79404798716403, 58461), (59.01908749773925, 2)], 35322217.03200578),
        ([(0.02053930247299058, 4), (0.2907917335693822, 10), (0.39765986778065515, 2)], 4766.921486552588),
        ([(0.03, 57725)], 57725 / 0.03**2 / 2 - math.sqrt(57725) / 0.03),
    ],
)
def test_the_phases_of_enormous_losses_are_rounded_too(gaussians, epsilon):
    """With something that reveals nothing beside them, Gaussians are not composed in closed form, but the truth is."""
    event = PureDP(0.0) * 3 + sum(Gaussian(noise) * count for noise, count in gaussians)
    ends = Exact().delta(event, epsilon=epsilon)
    assert not reference.gaussian_exceeds(gaussians, epsilon, ends.upper)
    assert reference.gaussian_exceeds(gaussians, epsilon, ends.lower)


def test_what_is_infinite_for_nearly_certain_is_not_for_certain():
    fails = FinitePair((0.9968067801013039, 0.0031932198986961424), (0.0, 1.0))
    ends = Exact().delta(fails * 6 + RandomizedResponse(0.75), epsilon=30.0)
    with mp.workdps(60):
        missed = mpf(0.0031932198986961424) ** 6
        assert mpf(ends.lower) <= 1 - missed * (1 - mpf(10) ** -9)
        assert ends.upper == 1.0


def test_the_mass_of_an_infinite_loss_on_a_sample():
    fails, rate = 5.173930019995917e-162, 0.8240721887388577
    event = ApproximateDP(0.00010894394061371962, fails).on(Poisson(rate)) * 5
    ends = Exact().delta(event, epsilon=1.2798008422091804)
    with mp.workdps(400):
        truth = 1 - (1 - mpf(fails) * mpf(rate)) ** 5
        assert mpf(ends.lower) <= truth <= mpf(ends.upper)


def test_losses_that_no_tilt_brings_to_epsilon():
    """All finite losses are negative; what is left of delta at a large epsilon is the probability of an infinite one."""
    fails, rate, count = 0.484162527326612, 2.376448191449052e-08, 5_819_410
    pair = FinitePair((0.20871945765024863, fails, 0.30711801502313946), (0.40197645080862926, 0.0, 0.5980235491913708))
    ends = Exact().delta(pair.on(Poisson(rate)) * count, epsilon=13.8474286417004)
    with mp.workdps(60):
        truth = 1 - (1 - mpf(rate) * mpf(fails)) ** count
        assert mpf(ends.lower) <= truth <= mpf(ends.upper)
    assert ends.upper - ends.lower <= 1e-11


def test_a_part_without_negative_losses_on_the_grid():
    """Where the first law lacks an outcome, all finite losses may be positive: there is nothing left of 0."""
    lacks = FinitePair((0.0, 0.36, 0.64), (0.7, 0.11, 0.19))
    run = (lacks * 2 + Laplace(103.5) * 19).on(Poisson(0.0097)) * 494_855_492 + PureDP(4.9) * 3_568_779
    ends = LossGrid().epsilon(lacks * 3 + run, delta=1e-100)
    assert 0.0 <= ends.lower <= ends.upper


def test_a_rare_large_gain_does_not_blur_the_losses():
    """One outcome in 1e164 has a loss of -5.6, the others of 0.0006: only what adds up to epsilon is rounded."""
    level, fails, rate, count = 0.0006253631931095203, 2.5122569754226187e-164, 0.996172190085027, 407
    epsilon = 0.14828815675217774
    ends = Exact().delta(ApproximateDP(level, fails).on(Poisson(rate)) * count, epsilon=epsilon)
    with mp.workdps(60):
        e, d, q = mpf(level), mpf(fails), mpf(rate)
        first = [(1 - d) * exp(e) / (1 + exp(e)), (1 - d) / (1 + exp(e))]
        second = first[::-1]
        mixed = [(1 - q) * b + q * a for a, b in zip(first, second, strict=True)]
        losses = [log(a / b) for a, b in zip(mixed, second, strict=True)]
        truth = sum(
            binomial(count, k) * mixed[0] ** k * mixed[1] ** (count - k) * (1 - exp(mpf(epsilon) - total))
            for k in range(count + 1)
            if (total := k * losses[0] + (count - k) * losses[1]) > epsilon
        )
        assert mpf(ends.lower) <= truth <= mpf(ends.upper)
    assert ends.upper - ends.lower <= 1e-10 * ends.upper
