"""Poisson samples cut to a largest batch: all draws of a few records by brute force, and the ends of the parameters."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import exp, log, loggamma, mp, mpf

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
from renyi.composing.event_laws import dominating_pair, renyi_curve
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
    # Even there the neighbour with one record more could be cut.
    with pytest.raises(UnsupportedError, match="ZERO_OUT"):
        renyi.epsilon(Gaussian(1.5).on(TruncatedPoisson(0.02, 9, 9)) * 50, delta=1e-6)


def exceeds(trials, rate, least):
    """Pr[Bin(trials, rate) >= least], term by term on the side where it is small, to 25 digits."""
    with mp.workdps(40):
        q, up = mpf(rate), least > trials * rate
        k = least if up else least - 1
        log_term = loggamma(trials + 1) - loggamma(k + 1) - loggamma(trials - k + 1) + k * log(q)
        term, total = exp(log_term + (trials - k) * log(1 - q)), mpf(0)
        while 0 <= k <= trials and term > total * mpf(10) ** -25:
            total += term
            term *= mpf(trials - k) / (k + 1) * q / (1 - q) if up else mpf(k) / (trials - k + 1) * (1 - q) / q
            k += 1 if up else -1
        return total if up else 1 - total


@pytest.mark.parametrize(
    ("rate", "batch", "dataset"),
    [
        (0.01, 20, 1000),
        (1e-3, 1_002_000, 10**9),
        (1e-6, 1_100, 10**9),
        (0.01, 50_010_000, 5 * 10**9),
        (0.01, 49_990_000, 5 * 10**9),
        (1e-7, 1_100, 10**10),
        (1e-9, 1_100, 10**15),
        (1e-3, 2_000, 10**6),
    ],
)
def test_tails_of_large_datasets(rate, batch, dataset):
    """Also beyond 2^31 records, where a machine integer wraps around."""
    share, rest, inside = TruncatedPoisson(rate, batch, dataset)._parts()
    p = exceeds(dataset - 1, rate, batch)
    assert 0 <= share - p <= mpf(3e-9) * p
    assert 0 <= rest - (1 - p) <= mpf(3e-9) * (1 - p)
    expected = batch * exceeds(dataset, rate, batch + 1) / (dataset * p)
    assert 0 <= inside - expected <= mpf(1e-8) * expected


def test_a_batch_that_is_always_full_is_a_sample_without_replacement():
    """Five thousand million records, of which 49 of 50 million that are drawn are kept: laws q' apart in one place."""
    event = Gaussian(2.0).on(TruncatedPoisson(0.01, 49_000_000, 5 * 10**9))
    fixed = Gaussian(2.0).on(WithoutReplacement(49_000_000, 5 * 10**9))
    for steps in (1, 100):
        ours, other = (renyi.epsilon(one * steps, delta=1e-6, adjacency=REPLACE) for one in (event, fixed))
        assert ours == pytest.approx(other, rel=1e-6)
    assert renyi.delta(event, epsilon=0.1, adjacency=REPLACE) >= 6.81e-5


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
