"""Bounds of other papers: 30 digits, never below the exact divergence inside their conditions, refused outside."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from renyi import InvalidInput, RandomizedResponse, Relation
from renyi.laws.pairs.gaussian import gaussian_divergence
from renyi.mechanisms.laplace import laplace_divergence
from renyi.papers.zhu_wang.published_bounds import abadi, bun, claim_24
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_add, sampled_gaussian_remove
from tests.golden import Case, golden


def exact(order, rate, noise):
    both = [
        f(np.array([float(order)]), rate=rate, noise=noise)[0] for f in (sampled_gaussian_remove, sampled_gaussian_add)
    ]
    return float(max(both))


def divergence_of(case: Case) -> float:
    kind, value, order = case.params["mechanism"], case.params["param"], np.array([case.params["lambda"]])
    if kind == "gaussian":
        return float(gaussian_divergence(order, value)[0])
    if kind == "laplace":
        return float(laplace_divergence(order, value)[0])
    return float(RandomizedResponse(value).pair(Relation.REMOVE).ratio_law(100.0).divergence(order)[0])


@pytest.mark.parametrize("case", golden("abadi_explicit_rdp"), ids=repr)
def test_abadi(case):
    assert case.close(abadi(case.params["alpha"], rate=case.params["q"], noise=case.params["sigma"]))


@pytest.mark.parametrize("case", golden("claim24"), ids=repr)
def test_claim_24(case):
    computed = claim_24(case.params["lambda"], rate=case.params["r"], divergence=divergence_of(case))
    assert case.close(computed)


@pytest.mark.parametrize("noise", [1.0, 1.3, 2.0, 4.0, 12.0])
@pytest.mark.parametrize("share", [1e-6, 0.01, 0.3, 0.999])
def test_abadi_is_above_the_divergence_inside_its_conditions(noise, share):
    rate = share / (16 * noise)
    last = math.floor(1 + noise**2 * math.log(1 / (rate * noise)))
    for order in sorted({2, 3, *np.geomspace(2, last, 8).astype(int).tolist(), last}):
        bound = abadi(order, rate=rate, noise=noise)
        assert exact(order, rate, noise) <= bound
        # The sum starts with its leading term.
        assert bound >= math.log1p(order * (order - 1) * rate**2 / ((1 - rate) * noise**2)) / (order - 1) * (1 - 1e-12)
    with pytest.raises(InvalidInput, match="order <= 1"):
        abadi(last + 1, rate=rate, noise=noise)


def test_abadi_outside_its_conditions():
    with pytest.raises(InvalidInput, match="noise >= 1"):
        abadi(2, rate=0.001, noise=0.999)
    with pytest.raises(InvalidInput, match=r"rate < 1/\(16 noise\)"):
        abadi(2, rate=1 / 32, noise=2.0)
    assert abadi(2, rate=0.0, noise=2.0) == 0.0
    assert 0 < abadi(2, rate=1e-200, noise=1.0) < 1e-300
    for order in (1, 2.0, 2.5, math.nan, None, True):
        with pytest.raises(InvalidInput, match="order must be an integer >= 2"):
            abadi(order, rate=0.001, noise=2.0)


@pytest.mark.parametrize("noise", [math.sqrt(5), 4.0, 20.0])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.1])
def test_bun_is_above_the_divergence_inside_its_conditions(noise, rate):
    last = noise**2 * math.log(1 / rate) / 2 * (1 - 1e-15)
    for order in (1.01, *np.geomspace(1.5, last, 8)[:-1], last):
        bound = bun(order, rate=rate, noise=noise)
        assert bound == pytest.approx(6 * rate**2 * order / noise**2, rel=1e-14)
        assert exact(order, rate, noise) <= bound
    with pytest.raises(InvalidInput, match="order <= noise"):
        bun(last * 1.0001, rate=rate, noise=noise)


def test_bun_outside_its_conditions():
    with pytest.raises(InvalidInput, match="rate <= 1/10"):
        bun(2.0, rate=0.1001, noise=5.0)
    with pytest.raises(InvalidInput, match="noise >= sqrt"):
        bun(2.0, rate=0.1, noise=2.236)
    assert bun(2.0, rate=0.0, noise=5.0) == 0.0


@pytest.mark.parametrize("rate", [1e-9, 0.01, 0.5, 0.999])
def test_claim_24_is_above_the_divergence_and_below_the_unsampled_one(rate):
    for noise in (0.3, 1.0, 4.0, 50.0):
        for order in (1 + 1e-6, 1.5, 2.0, 30.0, 900.0):
            unsampled = float(gaussian_divergence(np.array([order]), noise)[0])
            bound = claim_24(order, rate=rate, divergence=unsampled)
            assert exact(order, rate, noise) * (1 - 1e-12) <= bound <= unsampled


def test_claim_24_at_the_ends_and_without_overflow():
    assert claim_24(10.0, rate=0.01, divergence=10 / 32) == pytest.approx(
        0.01616, abs=5e-6
    )  # against 3.24e-5, the truth
    assert exact(10.0, 0.01, 4.0) == pytest.approx(3.24e-5, abs=5e-8)
    assert claim_24(3.0, rate=0.0, divergence=2.0) == 0.0
    assert claim_24(3.0, rate=1.0, divergence=2.0) == 2.0
    assert claim_24(3.0, rate=0.3, divergence=0.0) == 0.0
    assert claim_24(11.0, rate=0.5, divergence=1e4) == pytest.approx(1e4 + math.log(0.5) / 10, rel=1e-15)
    assert claim_24(2.0, rate=1e-300, divergence=600.0) == pytest.approx(math.exp(600.0) * 1e-300, rel=1e-11)


@pytest.mark.parametrize("order", [1.0, 0.0, math.nan, math.inf, "2", None, True], ids=repr)
def test_real_orders_are_above_1(order):
    for bound in (partial(bun, rate=0.01, noise=5.0), partial(claim_24, rate=0.01, divergence=1.0)):
        with pytest.raises(InvalidInput, match="order must be a finite number > 1"):
            bound(order)


@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan, "0.1", None, True], ids=repr)
def test_bad_rates_noises_and_divergences(value):
    with pytest.raises(InvalidInput, match="rate"):
        abadi(2, rate=value, noise=5.0)
    with pytest.raises(InvalidInput, match="rate"):
        bun(2.0, rate=value, noise=5.0)
    with pytest.raises(InvalidInput, match="rate"):
        claim_24(2.0, rate=value, divergence=1.0)
    if value != 1.5:
        with pytest.raises(InvalidInput, match="divergence"):
            claim_24(2.0, rate=0.1, divergence=value)
        for bound in (abadi, bun):
            with pytest.raises(InvalidInput, match="noise"):
                bound(2, rate=0.01, noise=value)
