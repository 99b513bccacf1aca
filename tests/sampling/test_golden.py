"""Poisson samples of the three mechanisms against 30 digits, raw and published, in both directions."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from renyi import Gaussian, Laplace, Mechanism, Poisson, RandomizedResponse, Relation
from renyi.composing.event_laws import renyi_curve
from renyi.laws.pairs.gaussian import gaussian_divergence
from renyi.mechanisms.laplace import laplace_divergence
from renyi.numerics.rounding import raised
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_add, sampled_gaussian_remove
from renyi.sampling.poisson.general_bound import poisson_log_moment
from renyi.sampling.poisson.pair import PoissonPair
from tests.golden import Case, golden


def mechanism_of(case: Case) -> Mechanism:
    params = case.params
    kind = params.get("mechanism") or ("gaussian" if "sigma" in params else "laplace" if "b" in params else "rr")
    value = params.get("param", params.get("sigma", params.get("b", params.get("p"))))
    return {"gaussian": Gaussian, "laplace": Laplace, "rr": RandomizedResponse}[kind](value)


def relation_of(case: Case) -> Relation:
    return Relation.ADD if case.formula.endswith("add") else Relation.REMOVE


def order_of(case: Case) -> float:
    return float(case.params.get("alpha", 1.0))


SAMPLED = golden(
    "sgm_rdp_remove",
    "sgm_rdp_add",
    "kl_sgm_remove",
    "kl_sgm_add",
    "slap_rdp_remove",
    "slap_rdp_add",
    "srr_rdp_remove",
    "srr_rdp_add",
)


@pytest.mark.parametrize("case", SAMPLED, ids=repr)
def test_published_curve(case):
    event = mechanism_of(case).on(Poisson(case.params["q"]))
    assert case.published(renyi_curve(event, relation_of(case)).at(order_of(case)))


@pytest.mark.parametrize("case", [c for c in SAMPLED if 0 < c.params["q"] < 1], ids=repr)
def test_raw_divergence(case):
    order, rate = np.array([order_of(case)]), case.params["q"]
    adding = relation_of(case) is Relation.ADD
    if "sigma" in case.params:
        sampled = sampled_gaussian_add if adding else sampled_gaussian_remove
        computed = sampled(order, rate=rate, noise=case.params["sigma"])
    else:
        law = mechanism_of(case).pair(Relation.REMOVE).ratio_law(float(order[0]))
        mixed = law.mixed(rate)
        computed = mixed.reverse_divergence(order) if adding else mixed.divergence(order)
    assert case.close(float(computed[0]))


@pytest.mark.parametrize("case", golden("poisson_tight"), ids=repr)
def test_general_bound(case):
    """The sum of 3.1, from the curve alone."""
    order, rate, mechanism = int(case.params["alpha"]), case.params["q"], mechanism_of(case)
    match mechanism:
        case Gaussian(noise):
            curve = partial(gaussian_divergence, noise=noise)
        case Laplace(scale):
            curve = partial(laplace_divergence, scale=scale)
        case _:
            curve = mechanism.pair(Relation.REMOVE).ratio_law(order).divergence
    assert case.close(poisson_log_moment(order, rate=rate, curve=curve) / (order - 1))
    published = poisson_log_moment(order, rate=rate, curve=renyi_curve(mechanism, Relation.REMOVE)) / (order - 1)
    assert case.published(raised(published, 4e-13))


@pytest.mark.parametrize("case", golden("delta_poisson_remove", "delta_poisson_add"), ids=repr)
def test_profile_of_the_sampled_pair(case):
    base = mechanism_of(case).pair(Relation.REMOVE)
    pair = PoissonPair(base, case.params["q"], adding=relation_of(case) is Relation.ADD)
    assert case.close(math.exp(float(pair.log_profile(np.array([case.params["eps"]]))[0])))
