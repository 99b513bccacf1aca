"""The profile of discrete Gaussian noise against sums with 40 digits, near and far, alone and beside each other."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import renyi
from renyi import DiscreteGaussian, Exact, Gaussian, Grouped, LossGrid
from renyi.laws.dots.dots import PROFILE_ERROR
from renyi.mechanisms.discrete_gaussian import DiscreteGaussianPair


def log_profile(scale: float, shift: int, epsilon: float) -> float:
    """log of the sum over x of (P(x) - e^epsilon Q(x))_+."""
    with mpmath.workdps(40):
        two = 2 * mpmath.mpf(scale) ** 2
        reach = int(12 * scale) + 12
        total = sum(mpmath.exp(-(mpmath.mpf(x) ** 2) / two) for x in range(-reach, reach + 1))
        threshold = mpmath.mpf(epsilon) * scale**2 / shift + mpmath.mpf(shift) / 2
        first = max(int(mpmath.floor(threshold)) + 1, shift - reach)
        terms = (
            mpmath.exp(-(mpmath.mpf(x - shift) ** 2) / two) - mpmath.exp(epsilon - mpmath.mpf(x) ** 2 / two)
            for x in range(first, first + 2 * reach)
        )
        return float(mpmath.log(mpmath.fsum(terms) / total))


@pytest.mark.parametrize(("scale", "shift"), [(0.3, 1), (2.0, 3), (7.0, 1), (41.3, 4)])
def test_the_profile_has_twelve_digits(scale, shift):
    # In scales from the middle: a table ends at 60 of them. (At a loss itself all that is left there is rounding.)
    places = np.array([-3.0, 0.0, 0.4, 2.0, 11.0, 37.0, 59.0, 61.0, 90.0, 400.007])
    epsilon = places * shift / scale
    found = DiscreteGaussianPair(scale, shift).log_profile(epsilon)
    for one, value in zip(epsilon, found, strict=True):
        truth = log_profile(scale, shift, float(one))
        assert abs(value - truth) < PROFILE_ERROR + 16 * 2.0**-53 * (abs(truth) + abs(one)), one


@pytest.mark.parametrize(("scale", "shift"), [(0.05, 2), (5.0, 1), (443.0, 1), (3000.0, 2)])
def test_a_point_does_not_depend_on_those_beside_it(scale, shift):
    pair = DiscreteGaussianPair(scale, shift)
    epsilon = np.array([300.0, -5.0, 0.0, 1e-3, 1e4, 5.0, 59.99, 60.01, 90.0, 1e9]) * (shift / scale)
    together = pair.log_profile(epsilon)
    assert together == pytest.approx([float(pair.log_profile(np.array([one]))[0]) for one in epsilon], rel=1e-13)
    assert pair.log_profile(epsilon.reshape(2, 5)).shape == (2, 5)


def long_log_profile(scale: float, shift: int, epsilon: float) -> float:
    """The same for scales of thousands: positive terms, summed with 19 digits."""
    long = np.longdouble
    two = 2 * long(scale) ** 2
    first = math.floor(long(epsilon) * long(scale) ** 2 / shift + long(shift) / 2) + 1
    x = max(first, shift - int(16 * scale)) + np.arange(int(32 * scale), dtype=long)
    log_mass = -((x - shift) ** 2) / two
    gap = (2 * x - shift) * (long(shift) / two) - long(epsilon)
    total = np.sum(np.exp(log_mass - np.max(log_mass)) * -np.expm1(-np.maximum(gap, 0)))
    return float(np.log(total) + np.max(log_mass) - np.log(long(scale) * np.sqrt(2 * long(np.pi))))


@pytest.mark.parametrize(
    ("scale", "shift"), [(2500.0, 1), (2500.0, 2500), (3000.0, 50_000), (2100.0, 700_000), (2500.3, 2_000_000)]
)
def test_noise_of_thousands_has_twelve_digits(scale, shift):
    # On either side of where the Euler-Maclaurin formula, halved sums and direct sums take over from each other.
    distance = shift / scale
    places = [-6.0, -0.4, 0.0, 0.3, 1.7, 12.0, 100.0, 260.0]
    epsilon = np.array([e for z in places if (e := distance * (z + distance / 2)) > -30.0])
    found = DiscreteGaussianPair(scale, shift).log_profile(epsilon)
    for one, value in zip(epsilon, found, strict=True):
        truth = long_log_profile(scale, shift, float(one))
        assert abs(value - truth) < PROFILE_ERROR + 16 * 2.0**-53 * (abs(truth) + abs(one)), one


def test_enormous_noise_is_as_cheap_as_any():
    """Such noise is all but continuous: the answer is that of a Gaussian, to as many digits as 1/scale^2 leaves."""
    for scale in (1e6, 1e9, 1e250):
        found = renyi.epsilon(DiscreteGaussian(scale, sensitivity=int(scale)), delta=1e-6)
        assert found == pytest.approx(renyi.epsilon(Gaussian(scale / int(scale)), delta=1e-6), rel=1e-9)
    ten = renyi.epsilon(DiscreteGaussian(1e4, sensitivity=10**4) * 10, delta=1e-6)
    assert ten == pytest.approx(renyi.epsilon(Gaussian(1.0) * 10, delta=1e-6), rel=1e-5)


def test_a_shift_beyond_all_floats_of_the_lattice_costs_its_square():
    found = renyi.epsilon(DiscreteGaussian(10.0, sensitivity=10**17), delta=1e-6)
    assert found == pytest.approx(0.5 * (1e17 / 10.0) ** 2, rel=1e-12)
    assert renyi.delta(DiscreteGaussian(10.0, sensitivity=10**17), epsilon=1.0) == 1.0
    assert renyi.epsilon(DiscreteGaussian(1e-200, sensitivity=10**17), delta=1e-6) == math.inf


def test_a_group_is_the_same_noise_at_as_many_times_the_sensitivity():
    for size in (2, 7):
        one, other = Grouped(DiscreteGaussian(20.0, sensitivity=3), size), DiscreteGaussian(20.0, sensitivity=3 * size)
        ends = [renyi.guarantee(event * 4, delta=1e-6).epsilon for event in (one, other)]
        assert ends[0] == ends[1]
        assert ends[0].lower > 0.99999 * ends[0].upper


@pytest.mark.parametrize(("scale", "shift"), [(0.51, 1), (0.7, 2), (1.3, 3), (1.99, 1), (2.01, 2), (2.5, 1)])
def test_the_transform_is_a_sum_over_the_integers(scale, shift):
    """In 60 digits, and over more than a period of frequencies."""
    found = DiscreteGaussianPair(scale, shift).transform
    with mpmath.workdps(60):
        two = 2 * mpmath.mpf(scale) ** 2
        x = [mpmath.mpf(n) for n in range(-80, 81)]
        mass = [mpmath.exp(-((n - shift) ** 2) / two) for n in x]
        loss = [(2 * n - shift) * shift / two for n in x]

        def truth(t):
            return mpmath.fsum(m * mpmath.exp(mpmath.mpmathify(t) * one) for m, one in zip(mass, loss, strict=True))

        total = mpmath.fsum(mass)
        for tilt in (-0.8, -0.45, -1e-3, 1e-6, 0.013, 0.5, 2.25):
            assert found.cumulant(tilt) == pytest.approx(float(mpmath.log(truth(tilt) / total)), rel=1e-14, abs=0.0)
        step = 0.15 * 2.0 * math.pi * scale**2 / shift
        for tilt in (-0.45, 1e-3, 2.25):
            for j, value in enumerate(found.line(tilt, step, 9)):
                log_m = mpmath.log(truth(complex(tilt, step * j)) / total)
                size = max(abs(log_m.real), step * j * shift**2 / scale**2, abs(found.cumulant(tilt)))
                assert abs(mpmath.expm1(mpmath.mpmathify(complex(value)) - log_m)) <= 2e-14 * size


@pytest.mark.parametrize(
    "event",
    [
        DiscreteGaussian(9.0) * 3 + DiscreteGaussian(11.0) * 2,
        DiscreteGaussian(500.0, sensitivity=20) * 30,
        DiscreteGaussian(3000.0, sensitivity=1000) * 7,
        DiscreteGaussian(1.5) + DiscreteGaussian(1.7) + Gaussian(2.0),
        DiscreteGaussian(0.6) + DiscreteGaussian(0.4) + Gaussian(2.0),
    ],
    ids=repr,
)
def test_the_transform_agrees_with_a_grid(event):
    for delta in (1e-2, 1e-6):
        found, grid = (accountant.epsilon(event, delta=delta) for accountant in (Exact(), LossGrid()))
        assert found.lower <= grid.upper * (1 + 1e-11)
        assert grid.lower <= found.upper * (1 + 1e-11)
        assert found.upper <= grid.upper * (1 + 2e-5)
        assert found.upper - found.lower < 5e-5 * found.upper


@pytest.mark.parametrize("accountant", [renyi.Exact(), renyi.LossGrid()], ids=repr)
def test_what_a_finite_law_leaves_out_is_no_lower_end(accountant):
    """Beyond the losses that are listed delta is below every float, not the 1e-321 that stands for the rest."""
    run = DiscreteGaussian(0.4) * 3
    found = accountant.delta(run, epsilon=1e5)
    assert found.lower == 0.0
    assert found.upper < 1e-300
    assert accountant.epsilon(run, delta=1e-322).lower < 1e5


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_its_curve_lies_below_that_of_continuous_noise_and_its_epsilon_a_little_above(scale):
    """Canonne, Kamath & Steinke (2020), Proposition 5, is about Renyi divergences: it says nothing of epsilon at a delta."""
    for order in (1.5, 2.0, 8.0, 64.0):
        least = DiscreteGaussian(scale).renyi(renyi.Relation.REMOVE).at(order)
        assert least <= Gaussian(scale).renyi(renyi.Relation.REMOVE).at(order) * (1.0 + 1e-9)
    exact = renyi.epsilon(Gaussian(scale), delta=1e-5)
    assert exact < renyi.epsilon(DiscreteGaussian(scale), delta=1e-5) < 1.02 * exact
