"""The base mechanisms against 30 digits, raw and published, at every order from 1 to infinity."""

from __future__ import annotations

import math

import numpy as np
import pytest

import renyi
from renyi import Gaussian, Laplace, RandomizedResponse, Relation
from renyi.laws.pairs.gaussian import gaussian_divergence
from renyi.mechanisms.laplace import laplace_divergence
from tests.golden import Case, golden


def order_of(case: Case) -> float:
    return float(case.params.get("alpha", 1.0))


def raw(function, case: Case, *parameters) -> float:
    return float(function(np.array([order_of(case)]), *parameters)[0])


@pytest.mark.parametrize("case", golden("rdp_gaussian"), ids=repr)
def test_gaussian_curve(case):
    assert case.close(raw(gaussian_divergence, case, case.params["sigma"]))
    assert case.published(renyi.divergence(Gaussian(case.params["sigma"]), order=order_of(case)))


@pytest.mark.parametrize("case", golden("rdp_laplace", "kl_laplace"), ids=repr)
def test_laplace_curve(case):
    assert case.close(raw(laplace_divergence, case, case.params["b"]))
    assert case.published(renyi.divergence(Laplace(case.params["b"]), order=order_of(case)))


@pytest.mark.parametrize("case", golden("rdp_rr", "kl_rr"), ids=repr)
def test_randomized_response_curve(case):
    law = RandomizedResponse(case.params["p"]).pair(Relation.REMOVE).ratio_law(order_of(case))
    assert case.close(raw(law.divergence, case))
    assert case.published(renyi.divergence(RandomizedResponse(case.params["p"]), order=order_of(case)))


def test_infinite_order_is_the_largest_loss():
    assert renyi.divergence(Gaussian(3.0), order=math.inf) == math.inf
    assert renyi.divergence(Laplace(0.5), order=math.inf) == pytest.approx(2.0, rel=1e-14)
    assert renyi.divergence(RandomizedResponse(0.9), order=math.inf) == pytest.approx(math.log(9.0), rel=1e-14)


@pytest.mark.parametrize("order", [1.0, 1.0 + 1e-9, 2.0, 1e4, 1e9])
def test_laplace_matches_its_own_law_at_the_edges(order):
    law = Laplace(0.7).pair(Relation.REMOVE).ratio_law(order)
    assert law.divergence(np.array([order]))[0] == pytest.approx(
        laplace_divergence(np.array([order]), 0.7)[0], rel=1e-12
    )


@pytest.mark.parametrize("outcomes", [2, 3, 10])
def test_k_ary_randomized_response_matches_brute_force(outcomes):
    truth = 0.6
    lie = (1 - truth) / (outcomes - 1)
    p = np.array([truth, lie] + [lie] * (outcomes - 2))
    q = np.array([lie, truth] + [lie] * (outcomes - 2))
    for alpha in (1.5, 2.0, 7.3):
        expected = math.log(np.sum(p**alpha * q ** (1 - alpha))) / (alpha - 1)
        computed = renyi.divergence(RandomizedResponse(truth, outcomes=outcomes), order=alpha)
        assert computed == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("case", golden("delta_gaussian"), ids=repr)
def test_gaussian_profile(case):
    assert case.close(math.exp(profile(Gaussian(case.params["sigma"]), case)))


@pytest.mark.parametrize("case", golden("delta_laplace"), ids=repr)
def test_laplace_profile(case):
    assert case.close(math.exp(profile(Laplace(case.params["b"]), case)))


@pytest.mark.parametrize("case", golden("delta_rr"), ids=repr)
def test_randomized_response_profile(case):
    assert case.close(math.exp(profile(RandomizedResponse(case.params["p"]), case)))


def profile(mechanism, case: Case) -> float:
    return float(mechanism.pair(Relation.REMOVE).log_profile(np.array([case.params["eps"]]))[0])


@pytest.mark.parametrize("sigma", [1e-2, 1.0, 30.0, 1e4, 1e6])
def test_gaussian_profile_does_not_cancel(sigma):
    """Against 60 digits, where the two normal tails are nearly equal."""
    from mpmath import erfc, exp, log, mp, mpf, sqrt

    pair = Gaussian(sigma).pair(Relation.REMOVE)
    with mp.workdps(60):
        for epsilon in (-2.0 / sigma, -1e-3, 0.0, 0.5 / sigma, 3.0 / sigma, 20.0 / sigma):
            s, e = mpf(sigma), mpf(epsilon)
            phi = lambda x: erfc(-x / sqrt(2)) / 2  # noqa: E731
            truth = log(phi(1 / (2 * s) - e * s) - exp(e) * phi(-1 / (2 * s) - e * s))
            assert pair.log_profile(np.array([epsilon]))[0] == pytest.approx(float(truth), rel=1e-12, abs=1e-12)
