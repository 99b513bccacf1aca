"""Conjecture 1: refuted in two dimensions by an integral that is checked two other ways; true for Poisson samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import renyi
from renyi import ConvergenceError, Gaussian, InvalidInput, Poisson
from renyi.papers.exposition.conjecture_1 import small_rate_ratio, triangle
from renyi.sampling.replacing.without_replacement_bound import wang_balle_kasiviswanathan


def by_series(rate, noise, terms=60):
    """E p^2/q - 1 at order 2 from the moments of the three Gaussians, the reciprocal of q as a geometric series.

    1/(1+v) = sum (-v)^n, v = r (B - 1): it converges only where r B is small, so that this is for small rates and much noise.
    """
    a, b = np.array([1.0, 0.0]), np.array([0.5, math.sqrt(0.75)])

    def moment(i, j):
        s = i * a + j * b
        return math.exp((float(s @ s) - i - j) / (2 * noise**2))

    total = 0.0
    for n in range(terms):
        for j in range(n + 1):
            sign = (-1.0) ** n * math.comb(n, j) * (-1.0) ** (n - j) * rate**n
            total += sign * sum(
                c * moment(i, j) for i, c in enumerate(((1 - rate) ** 2, 2 * rate * (1 - rate), rate**2))
            )
    return math.log(total)


def test_the_printed_counterexamples():
    first, second = triangle(2.0, rate=0.01, noise=1.0), triangle(4.0, rate=0.01, noise=2.0)
    assert first == pytest.approx((2.05075e-4, 1.71813e-4), rel=3e-6)
    assert first.ratio == pytest.approx(1.194, abs=5e-4)
    assert second == pytest.approx((6.00303e-5, 5.71558e-5), rel=3e-6)


def test_against_the_moments():
    assert triangle(2.0, rate=0.01, noise=8.0).divergence == pytest.approx(by_series(0.01, 8.0, 6), rel=1e-6)


def test_against_another_rule():
    """Gauss-Hermite in the plane instead of the trapezoidal rule."""
    node, weight = np.polynomial.hermite_e.hermegauss(80)
    x, y = np.meshgrid(node, node)
    w = np.outer(weight, weight) / (2 * math.pi)
    rate, noise, order = 0.05, 2.0, 3.0
    a = np.exp(x / noise - 0.5 / noise**2)
    b = np.exp((0.5 * x + math.sqrt(0.75) * y) / noise - 0.5 / noise**2)
    value = math.log(np.sum(w * (1 - rate + rate * a) ** order * (1 - rate + rate * b) ** (1 - order))) / (order - 1)
    assert triangle(order, rate=rate, noise=noise).divergence == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("noise", [0.7, 1.0, 3.0, 20.0])
def test_the_small_rate_ratio(noise):
    square = 1 / noise**2
    printed = (2 * math.exp(square) - 2 * math.exp(square / 2)) / math.expm1(square)
    assert small_rate_ratio(noise=noise) == pytest.approx(printed, rel=1e-9)
    assert 1.0 < small_rate_ratio(noise=noise) < 2.0
    for order in (1.5, 2.0, 3.0):
        assert triangle(order, rate=1e-7, noise=noise).ratio == pytest.approx(small_rate_ratio(noise=noise), rel=1e-3)


def test_small_rates_keep_their_digits():
    small = triangle(2.0, rate=1e-10, noise=1.0)
    assert small.ratio == pytest.approx(small_rate_ratio(noise=1.0), rel=1e-6)
    assert small.divergence < 1e-19


@pytest.mark.parametrize(("order", "rate", "noise"), [(2, 0.01, 1.0), (4, 0.01, 2.0), (8, 0.1, 3.0), (3, 0.3, 1.5)])
def test_what_holds_for_fixed_sizes_is_above_the_triangle(order, rate, noise):
    """The bound of Wang, Balle & Kasiviswanathan for samples of a fixed size; replacing moves the sum by 1 here."""
    bound = wang_balle_kasiviswanathan(order, rate=rate, curve=lambda j: j / (2 * noise**2), limit=math.inf)
    assert triangle(float(order), rate=rate, noise=noise).divergence <= bound


def test_for_poisson_samples_it_is_true():
    """Neither direction exceeds the conjectured divergence."""
    for order, rate, noise in ((1.5, 0.3, 0.8), (2.0, 0.01, 1.0), (10.0, 0.1, 4.0)):
        conjectured = triangle(order, rate=rate, noise=noise).conjectured
        assert renyi.divergence(Gaussian(noise).on(Poisson(rate)), order=order) == pytest.approx(conjectured, rel=1e-11)


def test_conditions():
    with pytest.raises(InvalidInput, match="orders > 1"):
        triangle(1.0, rate=0.1, noise=1.0)
    with pytest.raises(InvalidInput, match="rates between 0 and 1"):
        triangle(2.0, rate=1.0, noise=1.0)
    with pytest.raises(InvalidInput, match="noise > 0"):
        triangle(2.0, rate=0.1, noise=0.0)
    with pytest.raises(InvalidInput, match="noise must be > 0"):
        small_rate_ratio(noise=0.0)
    with pytest.raises(ConvergenceError, match="smaller order"):
        triangle(1e4, rate=0.1, noise=0.5)
