"""The general bound: docs/poisson-general-bound.md, checked by numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import binom

from renyi import Laplace, Poisson, RandomizedResponse, Relation
from renyi.composing.event_laws import renyi_curve
from renyi.numerics.binomial import log_binomial_weight
from renyi.sampling.poisson.general_bound import LARGEST_ORDER, PoissonGeneralBound, poisson_log_moment
from tests.examples import CurveOnly, Lopsided


def moment(p, q, order):
    """log of sum p^order q^(1-order), with 40 digits' worth of care not needed: plain sums of positive terms."""
    return math.log(float(np.sum(p**order * q ** (1.0 - order))))


def two_sided(p, q):
    return lambda ell: np.array([max(0.0, moment(p, q, k), moment(q, p, k)) / (k - 1) for k in ell])


probabilities = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=6)


@settings(max_examples=300, deadline=None)
@given(probabilities, probabilities, st.floats(1e-3, 0.999), st.integers(2, 12))
def test_no_finite_pair_violates_it_in_either_direction(first, second, rate, order):
    size = min(len(first), len(second))
    p, q = np.array(first[:size]), np.array(second[:size])
    p, q = p / p.sum(), q / q.sum()
    mixture = (1 - rate) * q + rate * p
    bound = poisson_log_moment(order, rate=rate, curve=two_sided(p, q))
    assert moment(mixture, q, order) <= bound + 1e-12
    assert moment(q, mixture, order) <= bound + 1e-12


def poisson_law(mean, count=60):
    k = np.arange(count)
    return np.exp(k * math.log(mean) - mean - np.array([math.lgamma(i + 1.0) for i in k]))


def test_one_direction_of_the_curve_is_not_enough():
    """The two-Poisson counterexample, to the digits of the page."""
    present, absent = poisson_law(0.3), poisson_law(0.6)
    rate, order = 0.1, 3
    mixture = (1 - rate) * absent + rate * present
    adding = moment(absent, mixture, order) / (order - 1)
    one_sided = poisson_log_moment(
        order, rate=rate, curve=lambda ell: np.array([moment(present, absent, k) / (k - 1) for k in ell])
    )
    both = poisson_log_moment(order, rate=rate, curve=two_sided(present, absent))
    assert adding == pytest.approx(0.00249370, abs=5e-9)
    assert one_sided / (order - 1) == pytest.approx(0.00240646, abs=5e-9)
    assert both / (order - 1) == pytest.approx(0.00584881, abs=5e-9)


def test_the_convex_function_of_the_proof_is_nonnegative():
    rng = np.random.default_rng(5)
    rate = 10 ** rng.uniform(-5, -1e-4, 20_000)
    a = 2 + 10 ** rng.uniform(-3, 1.5, 20_000)
    x = 10 ** rng.uniform(-3, 3, 20_000)
    whole = 3 * (1 - rate) + (2 * a - 1) * rate
    lam, mu = 3 * (1 - rate) / whole, (2 * a - 1) * rate / whole  # mu = 1 - lam
    y, w = 1 - rate + rate * x, rate + (1 - rate) * x
    big_a, big_b, big_d = lam * (2 * a - 1) + mu * (a + 1), mu * (a - 2), mu * (a + 1)
    g = big_a * np.log(y) + big_b * np.log(w) - big_d * np.log(x)
    assert (g >= -1e-12 * (big_a + big_b + big_d)).all()
    slope = big_a * rate * x * w + big_b * (1 - rate) * x * y - big_d * y * w
    factored = (x - 1) * rate * (1 - rate) * ((big_a + big_b - big_d) * x + big_d)
    scale = big_a * rate * x * w + big_b * (1 - rate) * x * y + big_d * y * w
    assert (np.abs(slope - factored) <= 1e-12 * scale).all()


@settings(max_examples=200, deadline=None)
@given(probabilities, probabilities, st.floats(1e-3, 0.999), st.floats(2.0, 12.0))
def test_the_inequality_between_the_three_moments_holds_at_real_orders(first, second, rate, order):
    size = min(len(first), len(second))
    p, q = np.array(first[:size]), np.array(second[:size])
    p, q = p / p.sum(), q / q.sum()
    lam = 3 * (1 - rate) / (3 * (1 - rate) + (2 * order - 1) * rate)
    adding = math.exp(moment(q, (1 - rate) * q + rate * p, order))
    removing = (math.exp(moment((1 - rate) * b + rate * a, b, order)) for a, b in ((p, q), (q, p)))
    assert adding <= np.dot((lam, 1 - lam), tuple(removing)) * (1 + 1e-12)


def test_the_sum_needs_integer_orders():
    """At order 2.5 its coefficients go on for ever with changing signs, and the terms that an integer has are too few."""
    assert binom(3, 4) == 0.0
    assert binom(2.5, 4) < 0.0 < binom(2.5, 5)
    p, q, rate, order = np.array([0.9, 0.1]), np.array([0.1, 0.9]), 0.3, 2.5
    terms = [math.exp(moment(p, q, k)) * binom(order, k) * rate**k * (1 - rate) ** (order - k) for k in range(3)]
    assert sum(terms) < math.exp(moment((1 - rate) * q + rate * p, q, order))


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.95])
def test_a_curve_alone_gives_the_exact_value_at_integers_for_a_symmetric_mechanism(rate):
    orders = np.array([2.0, 3.0, 17.0, 200.0])
    known, told = Laplace(1.0).on(Poisson(rate)), CurveOnly(1.0).on(Poisson(rate))
    exact = renyi_curve(known, Relation.REMOVE)(orders)
    assert renyi_curve(told, Relation.REMOVE)(orders) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD])
def test_a_curve_alone_is_never_below_the_exact_value(relation):
    orders = np.array([1.0, 1.0 + 1e-9, 1.2, 1.9, 2.0, 2.3, 5.5, 30.7, 400.2, 1e5])
    for rate in (1e-6, 0.01, 0.5, 0.95):
        exact = renyi_curve(Laplace(1.0).on(Poisson(rate)), relation)(orders)
        assert (renyi_curve(CurveOnly(1.0).on(Poisson(rate)), relation)(orders) >= exact * (1 - 1e-12)).all()


def test_asymmetric_pairs_are_exact_in_each_direction():
    p = np.array([0.5, 0.4, 0.1])
    q = np.array([0.5 - 0.28, 0.4 + 0.245, 0.1 + 0.035])
    mixture = 0.9 * q + 0.1 * p
    event = Lopsided(0.7).on(Poisson(0.1))
    for order in (1.5, 2.0, 9.0):
        removing = moment(mixture, q, order) / (order - 1)
        adding = moment(q, mixture, order) / (order - 1)
        assert renyi_curve(event, Relation.REMOVE).at(order) == pytest.approx(removing, rel=1e-9)
        assert renyi_curve(event, Relation.ADD).at(order) == pytest.approx(adding, rel=1e-9)
    assert not renyi_curve(event, Relation.REMOVE).covers_opposite


def test_between_integers_the_log_moment_is_a_chord():
    curve = lambda k: k / 2.0  # noqa: E731
    at = PoissonGeneralBound(0.1, curve)(np.array([2.0, 2.25, 3.0, 1.0, 1.4]))
    assert 1.25 * at[1] == pytest.approx(0.75 * at[0] + 0.25 * 2 * at[2], rel=1e-14)
    assert at[3] == at[4] == at[0]
    assert PoissonGeneralBound(0.1, curve)(np.array([LARGEST_ORDER + 1.0]))[0] == math.inf


@pytest.mark.parametrize("rate", [1e-9, 0.1, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100, 5000])
def test_binomial_weights(n, rate):
    from mpmath import binomial, log, mp, mpf

    with mp.workdps(40):
        for k in {0, 1, min(2, n), n // 3, n // 2, max(n - 1, 0), n}:
            truth = log(binomial(n, k)) + k * log(mpf(rate)) + (n - k) * log(1 - mpf(rate))
            computed = float(log_binomial_weight(n, np.array([float(k)]), rate)[0])
            assert computed == pytest.approx(float(truth), rel=3e-14, abs=3e-14)


def test_a_randomized_response_sample_is_never_above_the_pure_caps():
    event, level = RandomizedResponse(0.9).on(Poisson(0.2)), math.log(9.0)
    orders = np.array([1.0, 2.0, 1e3, 1e9])
    assert (renyi_curve(event, Relation.REMOVE)(orders) <= math.log1p(0.2 * math.expm1(level)) * (1 + 1e-12)).all()
    assert (renyi_curve(event, Relation.ADD)(orders) <= -math.log1p(0.2 * math.expm1(-level)) * (1 + 1e-12)).all()
