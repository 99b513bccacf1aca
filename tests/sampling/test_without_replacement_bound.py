"""The bound for samples of fixed size: golden values, and random triples of laws that must stay below it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi import Gaussian, InvalidInput, Laplace, RandomizedResponse, Relation
from renyi.sampling.replacing.without_replacement_bound import wang_balle_kasiviswanathan
from tests.golden import golden

KINDS = {"gaussian": Gaussian, "laplace": Laplace, "rr": RandomizedResponse}


@pytest.mark.parametrize("case", golden("wor_wbk"), ids=repr)
def test_golden_values(case):
    params = case.params
    pair = KINDS[params["mechanism"]](params["param"]).pair(Relation.REMOVE)
    law = pair.ratio_law(float(params["alpha"]))
    value = wang_balle_kasiviswanathan(params["alpha"], rate=params["gamma"], curve=law.divergence, limit=pair.max_loss)
    assert case.close(value)


def test_no_triple_of_laws_exceeds_it():
    """Old record, new record, neither: the two mixtures of a fixed-size draw, in all orders of the triple."""
    rng = np.random.default_rng(11)
    for _ in range(200):
        laws = rng.dirichlet(np.ones(4), size=3) * 0.9 + 0.025
        laws /= laws.sum(axis=1, keepdims=True)
        rate, order = float(rng.uniform(0.01, 0.9)), int(rng.integers(2, 9))

        def divergence(p, q, k):
            return math.log(float(np.sum(p**k * q ** (1.0 - k)))) / (k - 1.0)

        pairs = [(a, b) for a in laws for b in laws if a is not b]
        limit = max(float(np.max(np.log(a / b))) for a, b in pairs)
        curve = lambda ell, pairs=pairs, d=divergence: np.array([max(d(a, b, k) for a, b in pairs) for k in ell])  # noqa: E731
        bound = wang_balle_kasiviswanathan(order, rate=rate, curve=curve, limit=limit)
        common, old, new = laws
        first, second = (1 - rate) * common + rate * old, (1 - rate) * common + rate * new
        assert divergence(first, second, order) <= bound * (1 + 1e-12)


def test_edges_and_bad_input():
    curve = lambda ell: ell / 2.0  # noqa: E731
    assert wang_balle_kasiviswanathan(5, rate=0.0, curve=curve, limit=math.inf) == 0.0
    assert math.isfinite(wang_balle_kasiviswanathan(5, rate=1.0, curve=curve, limit=math.inf))
    for order in (1, 2.5, "3"):
        with pytest.raises(InvalidInput, match="order"):
            wang_balle_kasiviswanathan(order, rate=0.1, curve=curve, limit=math.inf)
