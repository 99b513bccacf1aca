"""Shuffled batches: what the page on samplers says of them, by integration in the plane over all orders of the records."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import renyi
from renyi import Adjacency, Gaussian

PAGE = Path(__file__).parents[2] / "docs" / "choosing-a-sampler.md"
LARGER = [  # records with the one that is removed in front, size of a batch, noise, epsilon
    ((-1.0, 1.0), 1, 0.5, 6.0),
    ((-1.0, 1.0, 1.0, 1.0), 2, 1.0, 3.0),
]


def sums(records: tuple[float, ...], batch: int) -> list[tuple[float, float]]:
    """The sums of two consecutive batches in every order of the records; the second batch may be short or empty."""
    return [(sum(order[:batch]), sum(order[batch:])) for order in itertools.permutations(records)]


def delta(first: list[tuple[float, float]], second: list[tuple[float, float]], noise: float, epsilon: float) -> float:
    """The hockey stick of two equal mixtures of Gaussian laws about points of the plane."""
    step = 0.02 * noise
    line = np.arange(-3.0 - 9.0 * noise, 3.0 + 9.0 * noise, step)

    def density(centres: list[tuple[float, float]]) -> np.ndarray:
        normal = [[np.exp(-0.5 * ((line - c) / noise) ** 2) for c in centre] for centre in centres]
        return sum(np.outer(x, y) for x, y in normal) / (len(centres) * 2.0 * math.pi * noise**2)

    return float(np.sum(np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0)) * step**2)


@pytest.mark.parametrize(("records", "batch", "noise", "epsilon"), LARGER)
def test_removing_a_record_costs_more_than_one_unsampled_release(records, batch, noise, epsilon):
    """The last record moves into the place of the removed one. The page gives both numbers, to three digits."""
    truth = delta(sums(records, batch), sums(records[1:], batch), noise, epsilon)
    claimed = renyi.delta(Gaussian(noise), epsilon=epsilon)
    assert truth > 30.0 * claimed
    text = PAGE.read_text(encoding="utf-8")
    for value in (truth, claimed):
        assert f"{value:.3g}" in text


@pytest.mark.parametrize(("records", "batch", "noise", "epsilon"), LARGER)
def test_removing_a_record_is_bounded_at_the_square_root_of_five_times_the_distance(records, batch, noise, epsilon):
    with_record, without = sums(records, batch), sums(records[1:], batch)
    for level in (0.0, 0.5 * epsilon, epsilon, 1.5 * epsilon):
        bound = renyi.delta(Gaussian(noise / math.sqrt(5.0)), epsilon=level)
        assert delta(with_record, without, noise, level) <= bound
        assert delta(without, with_record, noise, level) <= bound


@pytest.mark.parametrize(
    ("adjacency", "other"), [(Adjacency.ZERO_OUT, 0.0), (Adjacency.REPLACE_ONE, 1.0), (Adjacency.REPLACE_ONE, 0.5)]
)
@pytest.mark.parametrize(("records", "batch", "noise", "epsilon"), LARGER)
def test_where_the_size_is_public_one_unsampled_release_is_a_bound(records, batch, noise, epsilon, adjacency, other):
    first, second = sums(records, batch), sums((other, *records[1:]), batch)
    for level in (0.0, 0.5 * epsilon, epsilon):
        bound = renyi.delta(Gaussian(noise), epsilon=level, adjacency=adjacency)
        assert delta(first, second, noise, level) <= bound
        assert delta(second, first, noise, level) <= bound


def test_the_bound_for_blanks_is_reached_by_one_batch():
    """With a single batch per epoch nothing is shuffled, and the unsampled release is the whole truth."""
    found = delta([(1.0, 0.0)], [(0.0, 0.0)], 1.0, 1.0)
    assert found == pytest.approx(renyi.delta(Gaussian(1.0), epsilon=1.0, adjacency=Adjacency.ZERO_OUT), rel=1e-4)


def test_the_page_does_not_rank_samplers_by_bounds():
    text = PAGE.read_text(encoding="utf-8")
    assert "honest bound" not in text
    assert "cheapest" not in text
    assert "is *not* a bound" in text
