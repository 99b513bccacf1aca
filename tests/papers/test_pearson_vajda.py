"""The Pearson-Vajda condition: golden moments, the involution, the two-Poisson counterexample, the honest undecided."""

from __future__ import annotations

import math

import pytest
from mpmath import exp, factorial, mp, mpf

from renyi import (
    DiscreteGaussian,
    DiscreteLaplace,
    FinitePair,
    Gaussian,
    InvalidInput,
    Laplace,
    PureDP,
    RandomizedResponse,
    Relation,
)
from renyi.laws.pair import FiniteLossPair
from renyi.papers.zhu_wang.pearson_vajda import pearson_vajda_condition, pearson_vajda_moment
from tests.golden import golden


def poisson_pair(first, second, count=250):
    """Poisson(first) against Poisson(second): losses and probabilities in closed form, the rest beyond 1e-80."""
    losses = [k * math.log(first / second) + (second - first) for k in range(count)]
    with mp.workdps(40):
        log_p = [float(mp.log(exp(-mpf(first)) * mpf(first) ** k / factorial(k))) for k in range(count)]
        log_q = [float(mp.log(exp(-mpf(second)) * mpf(second) ** k / factorial(k))) for k in range(count)]
    return FiniteLossPair(tuple(losses), tuple(log_p), tuple(log_q))


def pair_of(case):
    params = case.params
    if "lambda_pi" in params:
        return poisson_pair(params["lambda_pi"], params["lambda_mu"])
    mechanism = (
        Gaussian(params["sigma"])
        if "sigma" in params
        else Laplace(params["b"])
        if "b" in params
        else RandomizedResponse(params["p"])
    )
    return mechanism.pair(Relation.REMOVE)


CASES = golden("pearson_vajda_poisson", "pearson_vajda_gaussian", "pearson_vajda_laplace", "pearson_vajda_rr")


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_moments_match_golden_values_within_their_own_error(case):
    value, error = pearson_vajda_moment(pair_of(case), case.params["order"])
    truth = float(case.value)
    assert abs(value - truth) <= error + 1e-15 * abs(truth)
    assert error <= 1e-10 * abs(truth) + 1e-14


MECHANISMS = [
    Gaussian(1.0),
    Laplace(0.5),
    RandomizedResponse(0.7),
    RandomizedResponse(0.4, outcomes=5),
    PureDP(2.0),
    DiscreteLaplace(1.0, 3),
    DiscreteGaussian(0.6, 2),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_noise_that_a_mirror_exchanges_satisfies_it(mechanism):
    assert pearson_vajda_condition(mechanism.pair(Relation.REMOVE)) is True


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("order", [3, 5, 9])
def test_and_its_moments_are_indeed_positive(mechanism, order):
    value, error = pearson_vajda_moment(mechanism.pair(Relation.REMOVE), order)
    assert value > -error


def test_two_poissons_are_the_counterexample():
    assert pearson_vajda_moment(poisson_pair(0.3, 0.6), 3).value == pytest.approx(-0.030511314, abs=1e-9)
    assert pearson_vajda_moment(poisson_pair(0.6, 0.3), 3).value == pytest.approx(1.2705405, abs=1e-7)
    assert pearson_vajda_condition(poisson_pair(0.3, 0.6)) is False
    assert pearson_vajda_condition(poisson_pair(0.6, 0.3)) is False


def test_positive_moments_alone_decide_nothing():
    """Positive at every order looked at, in both orders of the pair, and not symmetric: undecided, honestly."""
    pair = FinitePair((0.5, 0.1, 0.4), (0.1, 0.5 - 1e-6, 0.4 + 1e-6)).pair(Relation.REMOVE)
    assert pearson_vajda_condition(pair) is None


def test_bad_input():
    pair = Gaussian(1.0).pair(Relation.REMOVE)
    for order in (0, 2.5, "3", -1):
        with pytest.raises(InvalidInput, match="order"):
            pearson_vajda_moment(pair, order)
    with pytest.raises(InvalidInput, match="odd"):
        pearson_vajda_condition(pair, largest_order=4)
