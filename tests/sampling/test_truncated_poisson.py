"""Poisson samples cut to a largest batch: all draws of a few records by brute force, and the ends of the parameters."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import renyi
from renyi import (
    ZCDP,
    Adjacency,
    Exact,
    Gaussian,
    InvalidInput,
    Laplace,
    Poisson,
    RandomizedResponse,
    Rdp,
    Relation,
    TruncatedPoisson,
    UnsupportedError,
    WithoutReplacement,
)
from renyi.accountants.laws import dominating_pair, renyi_curve
from tests.sampling.mixtures import Line, truncated

ZERO_OUT, REPLACE = Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE


def neighbours(relation, others):
    """Datasets that differ in one place, a blank being a contribution of 0 that is drawn like any other."""
    match relation:
        case Relation.ZERO_OUT:
            return [((*others, x), (*others, 0.0)) for x in (-1.0, 1.0)]
        case Relation.ZERO_IN:
            return [((*others, 0.0), (*others, x)) for x in (-1.0, 1.0)]
    return [((*others, x), (*others, y)) for x, y in ((1.0, -1.0), (-1.0, 1.0), (1.0, 0.0))]


@pytest.mark.parametrize("relation", [Relation.ZERO_OUT, Relation.ZERO_IN, Relation.REPLACE], ids=lambda r: r.value)
@pytest.mark.parametrize(("rate", "batch", "noise"), [(0.5, 2, 1.0), (0.3, 1, 0.7), (0.9, 3, 2.0)])
def test_no_two_datasets_of_five_records_exceed_the_profile_or_the_curve(relation, rate, batch, noise):
    line, event = Line(noise), Gaussian(noise).on(TruncatedPoisson(rate, batch, 5))
    pair, curve = dominating_pair(event, relation), renyi_curve(event, relation)
    rng = np.random.default_rng(3)
    for others in (*itertools.product((-1.0, 1.0), repeat=4), *rng.uniform(-1.0, 1.0, size=(4, 4)).tolist()):
        for one, other in neighbours(relation, others):
            first, second = truncated(one, rate, batch), truncated(other, rate, batch)
            for epsilon in (-0.6, 0.0, 0.3, 1.0):
                bound = math.exp(pair.log_profile(np.array([epsilon]))[0])
                assert line.hockey(first, second, epsilon) <= bound * (1 + 1e-9) + 1e-12
            p, q = line.law(first), line.law(second)
            for order in (1.4, 2.0, 5.0):
                assert line.renyi(p, q, order) <= curve.at(order) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("rate", "batch", "dataset"), [(0.5, 2, 5), (0.01, 3, 60), (0.2, 30, 80), (0.25, 40, 41)])
def test_the_probabilities_by_exact_sums(rate, batch, dataset):
    q = Fraction(rate)
    weight = lambda n, k: math.comb(n, k) * q**k * (1 - q) ** (n - k)  # noqa: E731
    full = sum(weight(dataset - 1, k) for k in range(batch, dataset))
    inside = sum(weight(dataset - 1, k) * q * batch / (k + 1) for k in range(batch, dataset)) / full
    share, rest, found = TruncatedPoisson(rate, batch, dataset)._parts()
    for value, exact in ((share, full), (rest, 1 - full), (found, inside)):
        assert exact <= Fraction(value) * (1 + Fraction(1, 10**12))
        assert value == pytest.approx(float(exact), rel=1e-8)


def test_a_batch_that_is_never_full_costs_what_poisson_does():
    for mechanism in (Gaussian(1.5), Laplace(1.0), RandomizedResponse(0.8)):
        plain = mechanism.on(Poisson(0.02)) * 50
        for adjacency in (ZERO_OUT, REPLACE):
            expected = renyi.epsilon(plain, delta=1e-6, adjacency=adjacency)
            whole = renyi.epsilon(
                mechanism.on(TruncatedPoisson(0.02, 1000, 1000)) * 50, delta=1e-6, adjacency=adjacency
            )
            assert whole == expected
            rare = renyi.epsilon(mechanism.on(TruncatedPoisson(0.02, 120, 1000)) * 50, delta=1e-6, adjacency=adjacency)
            assert expected * (1 - 1e-4) <= rare <= expected * (1 + 2e-4)
    assert renyi.epsilon(Gaussian(1.5).on(TruncatedPoisson(0.02, 9, 9)) * 50, delta=1e-6) == renyi.epsilon(
        Gaussian(1.5).on(Poisson(0.02)) * 50, delta=1e-6
    )


def test_everybody_drawn_and_cut_is_a_sample_of_fixed_size():
    cut = Gaussian(2.0).on(TruncatedPoisson(1.0, 10, 1000)) * 100
    fixed = Gaussian(2.0).on(WithoutReplacement(10, 1000)) * 100
    for accountant in (Rdp(), Exact()):
        value = accountant.epsilon(cut, delta=1e-5, adjacency=REPLACE).upper
        assert value == pytest.approx(accountant.epsilon(fixed, delta=1e-5, adjacency=REPLACE).upper, rel=1e-3)


def test_cutting_costs_and_nothing_is_free():
    poisson = renyi.epsilon(Gaussian(1.0).on(Poisson(0.01)) * 100, delta=1e-6, adjacency=ZERO_OUT)
    costs = [
        renyi.epsilon(Gaussian(1.0).on(TruncatedPoisson(0.01, batch, 1000)) * 100, delta=1e-6, adjacency=ZERO_OUT)
        for batch in (12, 20, 30, 60)
    ]
    assert sorted(costs, reverse=True) == costs
    assert costs[-1] == pytest.approx(poisson, rel=1e-3)
    for nothing in (TruncatedPoisson(0.0, 5, 10), TruncatedPoisson(0.5, 0, 10)):
        assert renyi.epsilon(Gaussian(1.0).on(nothing) * 9, delta=1e-6, adjacency=ZERO_OUT) == 0.0


def test_what_is_refused():
    event = Gaussian(1.0).on(TruncatedPoisson(0.01, 20, 1000))
    with pytest.raises(UnsupportedError, match=r"ZERO_OUT.*Poisson"):
        renyi.epsilon(event, delta=1e-6)
    with pytest.raises(UnsupportedError):
        renyi.epsilon(ZCDP(0.1).on(TruncatedPoisson(0.01, 20, 1000)), delta=1e-6, adjacency=ZERO_OUT)
    for rate, batch, dataset in ((1.5, 1, 10), (0.5, -1, 10), (0.5, 1.0, 10), (0.5, 1, 0), (0.5, 1, 10**16)):
        with pytest.raises(InvalidInput):
            TruncatedPoisson(rate, batch, dataset)
