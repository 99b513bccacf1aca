"""Remarks that are not a formula."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from renyi import Laplace, Relation
from renyi.mechanisms.laplace import laplace_divergence
from renyi.papers.zhu_wang.pearson_vajda import pearson_vajda_moment


@pytest.mark.parametrize("order", [1.5, 2.0, 7.0, 40.0])
def test_the_worst_shift_of_laplace_noise_lies_along_one_axis(order):
    """Coordinates are independent, so divergences add: a shift of L1 length 1, however divided, costs no more than whole."""
    rng = np.random.default_rng(5)
    whole = laplace_divergence(np.array([order]), 0.7)[0]
    for size in (2, 3, 10):
        for _ in range(20):
            parts = rng.dirichlet(np.ones(size))
            divided = sum(laplace_divergence(np.array([order]), 0.7 / part)[0] for part in parts)
            assert divided <= whole * (1 + 1e-12)


@pytest.mark.parametrize("order", [2, 3, 5, 8, 9])
def test_moments_of_two_laplace_laws_grow_with_their_distance(order):
    """A shift t of noise of scale b is a shift 1 of noise of scale b/t."""
    found = [
        pearson_vajda_moment(Laplace(0.7 / t).pair(Relation.REMOVE), order) for t in (0.05, 0.3, 0.7, 1.0, 1.5, 3.0)
    ]
    assert all(moment.value > moment.error for moment in found)
    assert all(a.value < b.value for a, b in itertools.pairwise(found))
