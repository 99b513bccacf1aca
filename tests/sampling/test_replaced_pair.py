"""One record for another on a Poisson sample: integrals of forty digits, random triples, records in the plane."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import renyi
from renyi import (
    Adjacency,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Poisson,
    PureDP,
    RandomizedResponse,
    Relation,
    UnsupportedError,
)
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.laws.pair import FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.poisson.replaced_pair import ReplacedGaussianPair, ReplacedPair
from tests.sampling.mixtures import Line

REPLACE = Adjacency.REPLACE_ONE
LEVELS = np.array([-3.0, -0.2, 0.0, 1e-6, 1e-3, 0.03, 0.4, 2.0, 7.0])


def test_replacing_a_record_of_a_gaussian_sum_moves_it_twice_as_far():
    answer = renyi.guarantee(Gaussian(1.0), delta=1e-5, adjacency=REPLACE)
    assert answer.epsilon.upper == pytest.approx(9.997256146435, rel=1e-12)
    assert answer.epsilon.lower == pytest.approx(answer.epsilon.upper, rel=1e-12)
    assert renyi.epsilon(Gaussian(0.5), delta=1e-5) == answer.epsilon.upper
    assert renyi.epsilon(Laplace(1.0), delta=0.0, adjacency=REPLACE) == pytest.approx(2.0)
    assert renyi.epsilon(RandomizedResponse(0.75), delta=0.0, adjacency=REPLACE) == pytest.approx(math.log(3.0))


def gaussian_profile(noise, rate, epsilon):
    """The profile by its threshold, in forty digits: Lebeda et al. (2024) give the same inverse of the loss."""
    with mpmath.workdps(80):
        s, q, e = mpmath.mpf(noise), mpmath.mpf(rate), mpmath.mpf(epsilon)
        a = (1 - q) / q * mpmath.e ** (1 / (2 * s * s))
        z = s * s * (mpmath.asinh(-a * mpmath.sinh(e / 2)) - e / 2)
        cdf = lambda x: mpmath.erfc(-x / s / mpmath.sqrt(2)) / 2  # noqa: E731
        value = (1 - q) * (1 - mpmath.e**e) * cdf(z) + q * cdf(z + 1) - q * mpmath.e**e * cdf(z - 1)
        return float(mpmath.log(value))


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 0.1), (2.0, 0.01), (0.3, 0.5), (5.0, 1e-3), (0.1, 0.9), (30.0, 0.2)])
def test_the_gaussian_profile_to_twelve_digits_and_the_general_bound_equals_it(noise, rate):
    closed = ReplacedGaussianPair(noise, rate).log_profile(LEVELS)
    general = ReplacedPair(GaussianPair(noise), GaussianPair(noise / 2), rate).log_profile(LEVELS)
    reference = np.array([gaussian_profile(noise, rate, float(e)) for e in LEVELS])
    assert closed == pytest.approx(reference, abs=1e-12 + 1e-14 * np.max(np.abs(reference)))
    assert general == pytest.approx(reference, abs=1e-11)
    assert (general >= reference - 2e-12).all()


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 0.1), (0.4, 0.6), (3.0, 0.01)])
def test_the_gaussian_curve_by_integration(noise, rate):
    line = Line(noise, reach=30.0)
    p, q = line.law({0.0: 1 - rate, -1.0: rate}), line.law({0.0: 1 - rate, 1.0: rate})
    curve = renyi_curve(Gaussian(noise).on(Poisson(rate)), Relation.REPLACE)
    for order in (1.2, 2.0, 3.3, 6.0):
        assert curve.at(order) == pytest.approx(line.renyi(p, q, order), rel=1e-8)


def test_records_in_the_plane_stay_below_the_antipodal_pair():
    """Contributions of norm 1 at any angle, and shorter ones: the pair on a line dominates at every level."""
    noise, rate = 0.8, 0.3
    axis = np.arange(-6.0, 6.0, 0.04)
    x, y = np.meshgrid(axis, axis)

    def law(place):
        bump = lambda c: np.exp(-((x - c[0]) ** 2 + (y - c[1]) ** 2) / (2 * noise**2))  # noqa: E731
        return ((1 - rate) * bump((0.0, 0.0)) + rate * bump(place)) * 0.04**2 / (2 * math.pi * noise**2)

    pair = ReplacedGaussianPair(noise, rate)
    for angle, length in ((0.5, 1.0), (math.pi / 3, 1.0), (2.0, 1.0), (math.pi, 1.0), (math.pi, 0.4), (2.5, 0.7)):
        p, q = law((1.0, 0.0)), law((length * math.cos(angle), length * math.sin(angle)))
        for epsilon in (-0.5, 0.0, 0.2, 0.8):
            exact = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))
            assert exact <= math.exp(pair.log_profile(np.array([epsilon]))[0]) * (1 + 1e-4)


def test_laplace_is_the_general_bound_and_reaches_it_on_a_line():
    """Records -1 and 1: the hockey stick by closed distribution functions, at its best threshold."""
    scale, rate = 0.7, 0.2
    pair = dominating_pair(Laplace(scale).on(Poisson(rate)), Relation.REPLACE)

    def cdf(z):
        return np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0) / scale), 1 - 0.5 * np.exp(-np.maximum(z, 0) / scale))

    z = np.linspace(-4.0, 4.0, 800_001)
    p, q = ((1 - rate) * cdf(z) + rate * cdf(z - place) for place in (-1.0, 1.0))
    for epsilon in (0.0, 0.05, 0.3, 0.8):
        exact = max(float(np.max(p - math.exp(epsilon) * q)), 0.0)
        assert math.exp(pair.log_profile(np.array([epsilon]))[0]) == pytest.approx(exact, rel=1e-7, abs=1e-12)
    top = pair.max_loss
    assert np.exp(pair.log_profile(np.array([top * 1.0000001])))[0] == pytest.approx(0.0, abs=1e-12)


def finite(p, q):
    return FiniteLossPair(tuple(np.log(p / q)), tuple(np.log(p)), tuple(np.log(q)))


def test_no_triple_of_laws_exceeds_the_general_bound():
    rng = np.random.default_rng(5)
    for _ in range(150):
        a, b, c = rng.dirichlet(np.full(5, 0.7), size=3) * 0.98 + 0.004
        rate = float(rng.uniform(0.02, 0.95))
        p, q = (1 - rate) * c + rate * a, (1 - rate) * c + rate * b
        pair = ReplacedPair(finite(a, c), finite(a, b), rate)
        for epsilon in (0.0, 0.1, 0.7, 2.0):
            exact = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))
            assert exact <= math.exp(pair.log_profile(np.array([epsilon]))[0]) * (1 + 1e-9) + 1e-15
        assert math.log(np.max(p / q)) <= pair.max_loss + 1e-12


def test_three_answers_of_randomized_response_attain_the_profile():
    """The old answer, the new one and that of the others differ: four outcomes, truth 1/2."""
    rate, t, lie = 0.25, 0.5, 1 / 6
    answer = np.full((4, 4), lie) + np.eye(4) * (t - lie)
    p, q = ((1 - rate) * answer[2] + rate * answer[i] for i in (0, 1))
    event = RandomizedResponse(t, outcomes=4).on(Poisson(rate))
    for epsilon in (0.0, 0.1, 0.3):
        exact = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))
        assert renyi.delta(event, epsilon=epsilon, adjacency=REPLACE) == pytest.approx(exact, rel=1e-9)
    for order in (1.5, 2.0, 4.0, 20.0):
        exact = math.log(float(np.sum(p**order * q ** (1 - order)))) / (order - 1)
        assert renyi_curve(event, Relation.REPLACE).at(order) == pytest.approx(exact, rel=1e-9)


def test_two_steps_by_convolution():
    noise, rate, epsilon = 0.9, 0.3, 0.5
    line = Line(noise, reach=0.0)
    p, q = (np.exp(line.law({0.0: 1 - rate, m: rate})) for m in (-1.0, 1.0))
    exact = float(np.sum(np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0.0)))
    ends = renyi.Exact().delta(Gaussian(noise).on(Poisson(rate)) * 2, epsilon=epsilon, adjacency=REPLACE)
    assert ends.lower <= exact * (1 + 1e-5)
    assert ends.upper >= exact * (1 - 1e-5)
    assert ends.upper <= ends.lower * 1.001


@pytest.mark.parametrize(
    "mechanism", [Gaussian(1.0), Laplace(1.0), RandomizedResponse(0.8), DiscreteGaussian(1.5)], ids=repr
)
def test_zero_out_costs_what_adding_or_removing_does_and_replacing_more(mechanism):
    run = mechanism.on(Poisson(0.1)) * 20
    add_or_remove = renyi.epsilon(run, delta=1e-6)
    assert renyi.epsilon(run, delta=1e-6, adjacency=Adjacency.ZERO_OUT) == add_or_remove
    assert renyi.epsilon(run, delta=1e-6, adjacency=REPLACE) > add_or_remove
    assert renyi.epsilon(run, delta=1e-6, adjacency=REPLACE) < renyi.epsilon(
        mechanism * 20, delta=1e-6, adjacency=REPLACE
    )


def test_rates_at_the_ends():
    for mechanism in (Gaussian(1.0), Laplace(1.0), RandomizedResponse(0.8)):
        plain = renyi.epsilon(mechanism * 2, delta=1e-6, adjacency=REPLACE)
        assert renyi.epsilon(mechanism.on(Poisson(1.0)) * 2, delta=1e-6, adjacency=REPLACE) == plain
        assert renyi.epsilon(mechanism.on(Poisson(0.0)) * 2, delta=1e-6, adjacency=REPLACE) == 0.0
        near = renyi.epsilon(mechanism.on(Poisson(1.0 - 1e-12)) * 2, delta=1e-6, adjacency=REPLACE)
        assert near == pytest.approx(plain, rel=1e-3)


def test_what_is_stated_for_other_neighbours_is_refused():
    with pytest.raises(UnsupportedError):
        renyi.epsilon(PureDP(0.5).on(Poisson(0.1)), delta=1e-6, adjacency=REPLACE)
    with pytest.raises(UnsupportedError):
        renyi.epsilon(PureDP(0.5, adjacency=REPLACE).on(Poisson(0.1)), delta=1e-6, adjacency=REPLACE)
