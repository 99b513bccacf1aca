"""Total variations to ten digits: against 28 digits, against the loss grid, and in what they decide."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

from renyi import Composed, Exact, Gaussian, Laplace, LossGrid, Poisson, Relation
from renyi.accountants.laplace_variation import LaplaceRun
from renyi.accountants.total_variation import total_variation
from renyi.accountants.two_step_variation import two_step_variation
from renyi.composing.steps import event_parts
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.poisson.gaussian.transform import SampledGaussianTransform
from renyi.sampling.poisson.pair import PoissonPair
from renyi.sampling.sampled_product_transform import SampledProductTransform
from tests.truth.cases import cases

KNOWN = [case for case in cases() if case.delta0 is not None and case.delta0 < Decimal("0.9999")]


def pairs_of(event, relation=Relation.REMOVE):
    return [(part.upper, part.count) for part in event_parts(event.canonical(), relation)]


def found_for(case):
    return total_variation(pairs_of(case.event), float(case.delta0) * (1 + 1e-7))


def test_against_28_digits():
    """Every run of which the grid knows it to five or six digits only; both directions have the same."""
    told = 0
    for case in KNOWN:
        found = found_for(case)
        if found is None:
            continue
        told += 1
        assert Decimal(found.lower) <= case.delta0 <= Decimal(found.upper), case.name
        assert found.upper - found.lower <= 1e-9 * found.upper, case.name
    assert told >= 18


@given(
    scale=st.floats(1.0, 20.0),
    rate=st.one_of(st.just(1.0), st.floats(1e-4, 0.9)),
    count=st.integers(2, 12),
)
@settings(max_examples=25, deadline=None)
def test_laplace_between_the_ends_of_the_grid(scale, rate, count):
    step = Laplace(scale) if rate == 1.0 else Laplace(scale).on(Poisson(rate))
    ends = LossGrid().delta(step * count, epsilon=0.0)
    found = LaplaceRun(scale, rate, count).total_variation(ends.upper)
    assert found is not None
    assert ends.lower * (1 - 1e-9) <= found.upper
    assert found.lower <= ends.upper * (1 + 1e-9)
    assert found.upper - found.lower <= 1e-9 * found.upper


def test_two_laplace_steps_by_integration():
    """Of the one-step profile over the second step's loss."""
    b = 1.3

    def at(r):  # density of the log-ratio between its ends, under the second law, times what the steps differ by
        return 0.25 * math.exp(-0.5 * r - 0.5 / b) * payoff(r)

    def payoff(r):
        return math.exp(r) * -math.expm1(min(0.5 * (-r - 1.0 / b), 0.0))  # one step's profile at -r

    inner, error = quad(at, -1.0 / b, 1.0 / b, epsabs=0.0, epsrel=1e-13)
    ends = 0.5 * payoff(-1.0 / b) + 0.5 * math.exp(-1.0 / b) * payoff(1.0 / b)
    found = LaplaceRun(b, 1.0, 2).total_variation(0.3)
    assert found.lower <= inner + ends <= found.upper
    assert error < 1e-12


@pytest.mark.parametrize(
    ("scale", "rate", "count"), [(1.0, 1.0, 1), (1.0, 0.1, 10**6), (0.01, 1.0, 3), (1.0, 0.3, 99_999)]
)
def test_where_there_is_no_line_there_is_no_answer(scale, rate, count):
    assert LaplaceRun(scale, rate, count).total_variation(0.5) is None


def test_two_gaussian_steps_by_integration():
    """Unlike steps, either of them first."""
    first, second = PoissonPair(GaussianPair(0.8), 0.05), PoissonPair(GaussianPair(1.7), 0.3)
    found, other = two_step_variation(first, 0.3, 1.7), two_step_variation(second, 0.05, 0.8)
    assert found.lower <= other.upper
    assert other.lower <= found.upper

    def at(u):
        ratio = 0.7 + 0.3 * math.exp((u - 0.5 / 1.7) / 1.7)
        inner = float(np.exp(first.log_profile(np.array([-math.log(ratio)])))[0])
        return math.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * ratio * inner

    total = sum(quad(at, low, low + 0.5, epsabs=1e-16, epsrel=1e-12)[0] for low in np.arange(-9.0, 9.5, 0.5))
    assert found.lower <= total * (1 + 1e-10)
    assert found.upper >= total * (1 - 1e-10)
    assert found.upper - found.lower <= 2e-10 * found.upper
    assert ndtr(-9.0) < 1e-18


def test_the_transform_of_two_releases_on_one_draw():
    """Against a double integral, and against a single sampled Gaussian where the other release says nothing."""
    transform = SampledProductTransform(1.0, pairs_of(Laplace(2.0))[0][0], 0.1)
    u = np.linspace(-12.0, 13.0, 2001)
    x, weight = np.polynomial.legendre.leggauss(200)
    r = 0.5 * x
    masses = np.concatenate([[0.5, 0.5 * math.exp(-0.5)], 0.5 * weight * 0.25 * np.exp(-0.5 * r - 0.25)])
    ratios = np.exp(np.concatenate([[-0.5, 0.5], r]))
    density = np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * (u[1] - u[0])
    for t in (0.3, 2.0, 1.0 + 7.0j):
        mixed = 0.9 + 0.1 * ratios[:, None] * np.exp(u - 0.5)
        expected = masses @ (mixed ** (t + 1.0)) @ density
        line = transform.line(t.real, t.imag or 1.0, 2)
        assert np.exp(line[1 if t.imag else 0]) == pytest.approx(expected, rel=1e-11)
        assert transform.cumulant(t.real) == pytest.approx(transform.line(t.real, 1.0, 2)[0].real, abs=1e-13)
    alone = SampledGaussianTransform(0.1, 1.0, False)
    weak = SampledProductTransform(1.0, pairs_of(Laplace(1e6))[0][0], 0.1)
    assert weak.cumulant(1.0) == pytest.approx(alone.cumulant(1.0), rel=1e-6)
    assert weak.log_decay(1.0, 30.0) == pytest.approx(alone.log_decay(1.0, 30.0), rel=1e-3)


@pytest.mark.parametrize(
    "event",
    [
        Laplace(0.7) * 3,
        Laplace(3.0).on(Poisson(0.02)) * 40,
        Gaussian(0.6).on(Poisson(0.05)) + Gaussian(2.0).on(Poisson(0.5)),
        Composed((Gaussian(1.0), Laplace(2.0))).on(Poisson(0.3)) * 40,
    ],
    ids=str,
)
def test_epsilon_is_zero_from_there_on(event):
    grid = LossGrid().delta(event, epsilon=0.0)
    finer = total_variation(pairs_of(event), grid.upper)
    assert grid.lower <= finer.upper
    assert finer.lower <= grid.upper
    assert Exact().epsilon(event, delta=finer.upper * (1 + 1e-10)).upper == 0.0
    assert Exact().epsilon(event, delta=finer.lower * (1 - 1e-10)).upper > 0.0
