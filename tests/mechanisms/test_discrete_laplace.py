"""Discrete Laplace noise with shifts of thousands and more, whose outcomes are summed in closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import renyi
from renyi import DiscreteLaplace, Grouped, Laplace, Poisson, Rdp
from renyi.mechanisms.discrete_laplace import LongDiscreteLaplacePair


def log_profile(scale: float, shift: int, epsilon: float) -> float:
    """log of the sum over x of (P(x) - e^epsilon Q(x))_+, term by term; the two tails are one outcome each."""
    with mpmath.workdps(30):
        u = 1 / mpmath.mpf(scale)
        tail = 1 / (1 + mpmath.exp(-u))
        point = mpmath.tanh(u / 2)
        level = mpmath.exp(epsilon)
        terms = [tail - level * tail * mpmath.exp(-shift * u), tail * mpmath.exp(-shift * u) - level * tail]
        terms += [point * (mpmath.exp(-(shift - x) * u) - level * mpmath.exp(-x * u)) for x in range(1, shift)]
        return float(mpmath.log(mpmath.fsum(term for term in terms if term > 0)))


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 7), (40.0, 7), (3.3, 200), (1000.0, 300), (0.1, 5)])
def test_the_closed_form_is_the_sum(scale, shift):
    pair, largest = LongDiscreteLaplacePair(scale, shift), shift / scale
    for share in (-1.5, -1.0, -0.7, -0.01, 0.0, 1e-6, 0.3, 0.77, 1.0 - 1e-6):
        found = float(pair.log_profile(np.array([share * largest]))[0])
        assert found == pytest.approx(log_profile(scale, shift, share * largest), rel=1e-9 if share > 0.99 else 1e-12)
    assert pair.log_profile(np.array([largest, 2.0 * largest])).tolist() == [-math.inf, -math.inf]


@pytest.mark.parametrize(("scale", "shift"), [(50.0, 5000), (1e6, 5000), (3.3, 4500)])
def test_its_renyi_curve_is_no_less_than_the_sum_and_hardly_more(scale, shift):
    found = LongDiscreteLaplacePair(scale, shift).renyi()
    for order in (1.5, 2.0, 10.0):
        with mpmath.workdps(30):
            u, a = 1 / mpmath.mpf(scale), mpmath.mpf(order)
            tail, point = 1 / (1 + mpmath.exp(-u)), mpmath.tanh(u / 2)
            inner = mpmath.fsum(
                point * mpmath.exp((a - 1) * (2 * x - shift) * u - (shift - x) * u) for x in range(1, shift)
            )
            moment = tail * mpmath.exp((a - 1) * shift * u) + tail * mpmath.exp(-a * shift * u) + inner
            truth = float(mpmath.log(moment) / (a - 1))
        assert truth <= found.at(order) <= truth * (1.0 + 2e-7)


def test_enormous_shifts_are_as_cheap_as_any():
    """The noise is all but continuous then."""
    for size in (10**6, 10**9, 10**299):
        noise = DiscreteLaplace(float(size), sensitivity=size)
        assert renyi.epsilon(noise, delta=1e-6) == pytest.approx(renyi.epsilon(Laplace(1.0), delta=1e-6), rel=1e-6)
    run = DiscreteLaplace(1e6, sensitivity=10**6).on(Poisson(0.01)) * 100
    assert renyi.epsilon(run, delta=1e-6) == pytest.approx(
        renyi.epsilon(Laplace(1.0).on(Poisson(0.01)) * 100, delta=1e-6), rel=1e-4
    )
    assert renyi.epsilon(run, delta=1e-6, accountant=Rdp()) < 2.0 * renyi.epsilon(run, delta=1e-6)


def test_noise_that_is_nothing_beside_the_shift():
    assert renyi.epsilon(DiscreteLaplace(1e-17, sensitivity=10**15), delta=0.0) == pytest.approx(1e32, rel=1e-12)
    assert renyi.delta(DiscreteLaplace(1e-17, sensitivity=10**15), epsilon=1.0) == 1.0
    assert renyi.epsilon(DiscreteLaplace(1e-200, sensitivity=10**200), delta=1e-6) == math.inf


def test_a_group_is_the_same_noise_at_as_many_times_the_sensitivity():
    one, other = Grouped(DiscreteLaplace(20.0, sensitivity=3), 4), DiscreteLaplace(20.0, sensitivity=12)
    ends = [renyi.guarantee(event * 3, delta=1e-6).epsilon for event in (one, other)]
    assert ends[0] == ends[1]
    assert Fraction(ends[0].lower) > Fraction(0.99999) * Fraction(ends[0].upper)
