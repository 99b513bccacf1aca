"""Samples of fixed size: the published numbers, all datasets of a few records by brute force, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import renyi
from renyi import (
    ZCDP,
    Adjacency,
    Gaussian,
    InvalidInput,
    Laplace,
    Poisson,
    RandomizedResponse,
    Rdp,
    Relation,
    UnsupportedError,
    WithoutReplacement,
)
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.replacing.fixed_size_pair import FixedSizePair
from renyi.sampling.replacing.without_replacement_bound import wang_balle_kasiviswanathan
from tests.sampling.mixtures import Line, fixed_size

REPLACE = Adjacency.REPLACE_ONE


def test_a_fixed_size_sample_never_gets_the_poisson_number():
    """One step, sigma = 2, q = 0.01, epsilon = 0.2."""
    fixed = renyi.delta(Gaussian(2.0).on(WithoutReplacement(10, 1000)), epsilon=0.2, adjacency=REPLACE)
    poisson = renyi.delta(Gaussian(2.0).on(Poisson(0.01)), epsilon=0.2)
    assert fixed == pytest.approx(9.908567799e-6, rel=1e-9)
    assert poisson < 1e-12 < 1e-6 < fixed
    # H((1-q) N(0) + q N(2) || N(0)) at distance 2, by hand: q H at e^e' = 1 + (e^0.2 - 1)/q.
    shifted = math.log1p(math.expm1(0.2) / 0.01)
    by_hand = 0.01 * math.exp(GaussianPair(1.0).log_profile(np.array([shifted]))[0])
    assert by_hand <= fixed <= by_hand * (1 + 1e-9)


@pytest.mark.parametrize("noise", [0.5, 1.5])
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_no_two_datasets_of_four_records_exceed_the_profile_or_the_curve(noise, batch):
    line, sampling = Line(noise), WithoutReplacement(batch, 4)
    pair = dominating_pair(Gaussian(noise).on(sampling), Relation.REPLACE)
    curve = renyi_curve(Gaussian(noise).on(sampling), Relation.REPLACE)
    rng = np.random.default_rng(batch)
    datasets = [*itertools.product((-1.0, 1.0), repeat=5), *rng.uniform(-1.0, 1.0, size=(20, 5)).tolist()]
    worst = 0.0
    for *others, old, new in datasets:
        first, second = fixed_size((*others, old), batch), fixed_size((*others, new), batch)
        p, q = line.law(first), line.law(second)
        for epsilon in (-0.7, -0.1, 0.0, 0.1, 0.5, 2.0):
            bound = math.exp(pair.log_profile(np.array([epsilon]))[0])
            assert line.hockey(first, second, epsilon) <= bound * (1 + 1e-9) + 1e-12
            if epsilon > 0.0:
                worst = max(worst, line.hockey(first, second, epsilon) / bound)
        for order in (1.5, 2.0, 3.7, 6.0):
            assert line.renyi(p, q, order) <= curve.at(order) * (1 + 1e-9) + 1e-12
    assert worst == pytest.approx(1.0, rel=1e-8)  # some dataset reaches it at each epsilon > 0


def test_two_steps_of_randomized_response_against_enumeration():
    """Neighbours that reach the profile on opposite sides in the two steps: their product stays below the answer."""
    rate, t = 0.3, 0.8
    a, b = np.array([t, 1 - t]), np.array([1 - t, t])
    mixed = (1 - rate) * b + rate * a
    other = (1 - rate) * a + rate * b
    run = RandomizedResponse(t).on(WithoutReplacement(3, 10)) * 2
    for first, second in (((mixed, b), (a, other)), ((mixed, b), (mixed, b)), ((a, other), (a, other))):
        p, q = np.outer(first[0], second[0]).ravel(), np.outer(first[1], second[1]).ravel()
        for epsilon in (0.0, 0.2, 0.5, 0.9):
            exact = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))
            assert exact <= renyi.delta(run, epsilon=epsilon, adjacency=REPLACE) * (1 + 1e-12)


@pytest.mark.parametrize("mechanism", [Gaussian(1.0), Gaussian(5.0), Laplace(2.0), RandomizedResponse(0.7)], ids=repr)
def test_the_curve_is_at_most_the_bound_of_wang_balle_and_kasiviswanathan(mechanism):
    base = mechanism.pair(Relation.REPLACE).renyi()
    curve = renyi_curve(mechanism.on(WithoutReplacement(20, 1000)), Relation.REPLACE)
    for order in (2, 3, 8, 40, 500):
        bound = wang_balle_kasiviswanathan(order, rate=0.02, curve=base, limit=base.limit)
        assert curve.at(float(order)) <= bound * (1 + 1e-9)


def test_the_answer_is_valid_and_not_called_exact():
    run = Gaussian(2.0).on(WithoutReplacement(10, 1000)) * 100
    answer = renyi.guarantee(run, delta=1e-5, adjacency=REPLACE)
    assert answer.epsilon.lower == 0.0
    assert answer.epsilon.upper == pytest.approx(0.768063, rel=1e-4)
    assert "exact" not in answer.method
    assert Rdp().epsilon(run, delta=1e-5, adjacency=REPLACE).upper == pytest.approx(1.213, rel=1e-3)


def test_all_records_and_none():
    for mechanism in (Gaussian(1.0), Laplace(1.0)):
        everybody = mechanism.on(WithoutReplacement(7, 7)) * 3
        plain = renyi.epsilon(mechanism * 3, delta=1e-6, adjacency=REPLACE)
        assert renyi.epsilon(everybody, delta=1e-6, adjacency=REPLACE) == plain
        assert renyi.epsilon(mechanism.on(WithoutReplacement(0, 7)) * 3, delta=1e-6, adjacency=REPLACE) == 0.0


def test_mirror_and_infinite_loss():
    pair = FixedSizePair(GaussianPair(0.0), 0.25)
    assert pair.infinite_mass == 0.25
    assert np.exp(pair.log_profile(np.array([0.0, 5.0]))) == pytest.approx([0.25, 0.25])
    assert math.isinf(renyi.epsilon(Gaussian(0.0).on(WithoutReplacement(1, 4)), delta=0.1, adjacency=REPLACE))


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_OR_REMOVE, Adjacency.ZERO_OUT])
def test_other_neighbours_are_refused_and_told_what_to_use(adjacency):
    with pytest.raises(UnsupportedError, match=r"REPLACE_ONE.*Poisson"):
        renyi.epsilon(Gaussian(1.0).on(WithoutReplacement(1, 10)), delta=1e-6, adjacency=adjacency)
    with pytest.raises(UnsupportedError):
        renyi.epsilon(ZCDP(0.1).on(WithoutReplacement(1, 10)), delta=1e-6, adjacency=REPLACE)


def test_bad_sizes():
    for batch, dataset in ((11, 10), (-1, 10), (1.0, 10), (True, 10), (0, 0)):
        with pytest.raises(InvalidInput):
            WithoutReplacement(batch, dataset)


def test_all_of_them_is_still_of_a_fixed_size():
    """With a sixth record a batch of five is another law: the number for neighbours of another size would be too small."""
    event = Gaussian(1.0).on(WithoutReplacement(5, 5))
    assert renyi.epsilon(event, delta=1e-5, adjacency=Adjacency.REPLACE_ONE) == renyi.epsilon(
        Gaussian(1.0), delta=1e-5, adjacency=Adjacency.REPLACE_ONE
    )
    with pytest.raises(UnsupportedError, match="REPLACE_ONE"):
        renyi.epsilon(event, delta=1e-5)
