"""The test by ranks is exact, and deaf to rounding."""

from __future__ import annotations

import random
from itertools import combinations
from math import comb

import pytest

from renyi.training.checks import two_sample_test


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 2), (4, 4), (3, 6)])
def test_pairs_are_counted_as_by_listing_all_orders(first, second):
    counts = [0] * (first * second + 1)
    for places in combinations(range(first + second), first):
        counts[sum(place - rank for rank, place in enumerate(places))] += 1
    assert two_sample_test._arrangements(first, second) == counts
    assert sum(counts) == comb(first + second, first)


def test_an_alarm_is_as_rare_as_it_says():
    enough = two_sample_test._enough(16, 16)
    counts = two_sample_test._arrangements(16, 16)
    assert 2 * sum(counts[enough:]) <= two_sample_test.ALARM * comb(32, 16) < 2 * sum(counts[enough - 1 :])
    assert two_sample_test._enough(4, 4) > 16  # so few never suffice


def test_samples_of_one_law_are_alike_and_a_share_of_it_is_not():
    draw = random.Random(0)
    for _ in range(500):
        one, other = ([draw.lognormvariate(0, 1) for _ in range(16)] for _ in range(2))
        assert not two_sample_test.unlike(one, other, margin=0.02)
    for _ in range(50):
        one = [draw.uniform(0.5, 1.5) for _ in range(16)]
        other = [draw.uniform(0.5, 1.5) / 8 for _ in range(16)]
        assert two_sample_test.unlike(one, other, margin=0.02)
        assert two_sample_test.unlike(other, one, margin=0.02)


def test_rounding_and_what_is_not_finite_are_no_difference():
    assert not two_sample_test.unlike([1.0] * 16, [1.0 + 1e-3] * 16, margin=0.02)
    assert two_sample_test.unlike([1.0] * 16, [1.1] * 16, margin=0.02)
    assert not two_sample_test.unlike([float("nan")] * 16, [1.0] * 16, margin=0.02)
