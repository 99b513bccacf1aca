"""The pair of an epoch of random allocation: golden values, enumeration, integration, and both ends for every mechanism."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import renyi
from renyi import (
    Adjacency,
    DiscreteLaplace,
    Exact,
    Gaussian,
    InvalidInput,
    Laplace,
    Poisson,
    RandomAllocation,
    RandomizedResponse,
    RandomPicks,
    Rdp,
    Relation,
    UnsupportedError,
)
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.laws.pair import FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.sampling.random_allocation.epoch_law import epoch_law, listed_epoch
from renyi.sampling.random_allocation.gaussian.poisson_counts import _Rule
from renyi.sampling.random_allocation.pair import AllocationPair

GOLDEN = json.loads((Path(__file__).parent / "allocation.json").read_text())["cases"]
LEVELS = np.linspace(0.0, 1.2, 25)


def ends(event, question, relation):
    return Exact().answer(event.canonical(), question, (relation,)).interval


@pytest.mark.parametrize(
    "case", GOLDEN, ids=lambda c: f"{c['noise_multiplier']}-{c['steps']}-{c['epochs']}-{c['delta']}"
)
@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD])
def test_golden_values_lie_between_both_ends(case, relation):
    run = Gaussian(case["noise_multiplier"]).on(RandomAllocation(case["steps"])) * case["epochs"]
    text = case[relation.name.lower()]
    truth, rounding = float(text), 0.6 * 10.0 ** -len(text.partition(".")[2])
    found = ends(run, EpsilonAt(case["delta"]), relation)
    assert truth - rounding <= found.upper <= truth * (1 + 1e-6)
    assert truth * (1 - 1e-5) <= found.lower <= truth + rounding


def enumerated(losses, q, steps):
    """Every outcome of an epoch: its probability without the record, and the ratio of that with it to it."""
    ratio = np.exp(losses)
    outcomes = list(itertools.product(range(len(q)), repeat=steps))
    mass = np.array([np.prod(q[list(one)]) for one in outcomes])
    return mass, np.array([np.mean(ratio[list(one)]) for one in outcomes])


def profiles(mass, ratio, level):
    """E(S - y)_+ and E(1 - yS)_+ at y = e^level."""
    return np.sum(mass * np.maximum(ratio - np.exp(level), 0.0)), np.sum(
        mass * np.maximum(1 - np.exp(level) * ratio, 0.0)
    )


@pytest.mark.parametrize("seed", range(4))
def test_finite_pairs_by_enumeration(seed):
    """Random pairs of three outcomes: listed exactly, and on a lattice from above and from below."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(3, 3.0)), rng.dirichlet(np.full(3, 3.0))
    base = FiniteLossPair(np.log(p / q), np.log(p), np.log(q))
    for steps in (2, 5):
        exact = np.array([profiles(*enumerated(np.log(p / q), q, steps), level) for level in LEVELS])
        listed = listed_epoch(base, steps)
        assert listed.attained
        for adding in (False, True):
            truth = exact[:, int(adding)]
            found = np.exp((listed.reversed() if adding else listed).log_profile(LEVELS))
            assert found == pytest.approx(truth, rel=1e-10, abs=1e-14)
            above, below = (
                np.exp(epoch_law(base, steps, adding=adding, upper=upper).log_profile(LEVELS))
                for upper in (True, False)
            )
            assert np.all(above >= truth - 1e-15)
            assert np.all(below <= truth + 1e-15)
            assert np.max(above - truth) < 1e-5
            assert np.max(truth - below) < 2e-3  # atoms off the lattice are lowered by a step


@pytest.mark.parametrize("relation", [Relation.REMOVE, Relation.ADD])
def test_laplace_noise_by_integration_in_the_plane(relation):
    """Two steps: midpoints in x, on which the ratio is smooth between 0 and 1 and constant outside."""
    scale, h = 0.8, 1 / 1500
    x = np.concatenate([[-1.0], (np.arange(1500) + 0.5) * h, [2.0]])
    edges = np.concatenate([[-math.inf], np.arange(1501) * h, [math.inf]])
    below = np.where(
        edges < 0, 0.5 * np.exp(np.minimum(edges, 0) / scale), 1 - 0.5 * np.exp(-np.maximum(edges, 0) / scale)
    )
    mass = np.diff(below)
    ratio = np.exp((np.abs(x) - np.abs(x - 1)) / scale)
    both = np.add.outer(ratio, ratio).ravel() / 2
    joint = np.multiply.outer(mass, mass).ravel()
    event = Laplace(scale).on(RandomAllocation(2))
    for epsilon in (0.0, 0.3, 0.8):
        truth = profiles(joint, both, epsilon)[relation is Relation.ADD]
        found = ends(event, DeltaAt(epsilon), relation)
        assert found.lower * (1 - 1e-5) <= truth <= found.upper * (1 + 1e-5)
        assert found.upper - found.lower < 2e-5 * truth + 1e-9


@pytest.mark.parametrize(
    ("event", "width"),
    [
        (Laplace(1.0).on(RandomAllocation(100)) * 10, 1e-4),
        (DiscreteLaplace(1.0).on(RandomAllocation(200)) * 4, 1e-4),
        (RandomizedResponse(0.75).on(RandomAllocation(20)) * 5, 1e-9),
        (Gaussian(1.0).on(RandomAllocation(30)) * 3 + Laplace(2.0), 1e-8),
    ],
    ids=repr,
)
def test_other_mechanisms_and_mixed_runs_have_both_ends(event, width):
    for relation in (Relation.REMOVE, Relation.ADD):
        found = ends(event, EpsilonAt(1e-6), relation)
        assert 0.0 < found.lower <= found.upper <= found.lower * (1 + width)
        assert found.upper <= Rdp().answer(event.canonical(), EpsilonAt(1e-6), (relation,)).interval.upper * (1 + 1e-9)


def test_more_steps_cost_less_and_never_more_than_poisson_sampling_here():
    delta = 1e-6
    found = [
        ends(Gaussian(1.0).on(RandomAllocation(t)) * 5, EpsilonAt(delta), Relation.REMOVE)
        for t in (1, 2, 3, 20, 21, 400)
    ]
    assert all(later.upper < earlier.lower for earlier, later in itertools.pairwise(found))
    assert found[0].upper == pytest.approx(renyi.epsilon(Gaussian(1.0) * 5, delta=delta), rel=1e-9)
    poisson = renyi.epsilon(Gaussian(1.0).on(Poisson(1 / 20)) * 100, delta=delta)
    assert found[3].upper < poisson


def test_delta_and_epsilon_answer_each_other():
    run = Gaussian(1.0).on(RandomAllocation(50)) * 4
    for relation in (Relation.REMOVE, Relation.ADD):
        epsilon = ends(run, EpsilonAt(1e-5), relation).upper
        assert ends(run, DeltaAt(epsilon), relation).upper == pytest.approx(1e-5, rel=1e-6)


def test_zero_out_is_the_same_and_replace_one_is_refused():
    run = Gaussian(1.0).on(RandomAllocation(50)) * 4
    assert renyi.epsilon(run, delta=1e-6, adjacency=Adjacency.ZERO_OUT) == renyi.epsilon(run, delta=1e-6)
    with pytest.raises(UnsupportedError, match="replace-one"):
        renyi.epsilon(run, delta=1e-6, adjacency=Adjacency.REPLACE_ONE)


@pytest.mark.parametrize("steps", [16])
def test_the_law_on_a_lattice_holds_the_transform_between_its_ends(steps):
    """The contour and the lattice know nothing of each other."""
    pair = AllocationPair(GaussianPair(1.0), steps)
    for adding in (False, True):
        one = pair.reversed() if adding else pair
        epsilon = 1.0
        found = ends(
            Gaussian(1.0).on(RandomAllocation(steps)), DeltaAt(epsilon), Relation.ADD if adding else Relation.REMOVE
        )
        above, below = (math.exp(side.log_profile(np.array([epsilon]))[0]) for side in (one, one.below()))
        assert below <= found.upper * (1 + 1e-9)
        assert above >= found.lower * (1 - 1e-9)
        assert above / below - 1 < 1e-3


def test_hardly_any_noise_is_bounded_by_one_step_on_all_records():
    pair = AllocationPair(GaussianPair(1e-3), 10)
    assert pair.transform is None
    levels = np.array([0.0, 1.0, 100.0])
    assert np.all(pair.log_profile(levels) <= GaussianPair(1e-3).log_profile(levels))
    assert np.all(pair.below().log_profile(levels) <= pair.log_profile(levels))


@pytest.mark.parametrize("noise", [0.6, 1.0, 3.0])
def test_orders_between_integers_by_integration_in_the_plane(noise):
    event = Gaussian(noise).on(RandomAllocation(2)).canonical()
    axis = noise * np.arange(-14.0 - 8.0 / noise, 14.0 + 8.0 / noise, 0.05)
    x, y = np.meshgrid(axis, axis)
    log_q = -(x**2 + y**2) / (2 * noise**2) + 2 * math.log(0.05 / math.sqrt(2 * math.pi))
    log_ratio = np.logaddexp((x - 0.5) / noise**2, (y - 0.5) / noise**2) - math.log(2.0)
    found = renyi_curve(event, Relation.REMOVE)
    assert found.at(1.0) == pytest.approx(np.sum(np.exp(log_q + log_ratio) * log_ratio), rel=1e-9)
    for order in (1.2, 1.5, 1.95, 2.5, 5.3):
        exact = math.log(np.sum(np.exp(log_q + order * log_ratio))) / (order - 1)
        assert exact * (1 - 1e-12) <= found.at(order) <= exact * (1 + 1e-9)


@pytest.mark.parametrize(("steps", "picks"), [(4, 2), (5, 2), (5, 3), (4, 4), (4, 1)])
def test_picking_several_steps_by_enumeration(steps, picks):
    """Never below the law of a random set of steps, and the composition of its blocks."""
    p, q = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    event = RandomizedResponse(0.7).on(RandomPicks(steps, picks))
    ratio = p / q
    sets = list(itertools.combinations(range(steps), picks))
    outcomes = list(itertools.product((0, 1), repeat=steps))
    mass = np.array([np.prod(q[list(one)]) for one in outcomes])
    s = np.array([np.mean([np.prod(ratio[[one[i] for i in chosen]]) for chosen in sets]) for one in outcomes])
    for relation in (Relation.REMOVE, Relation.ADD):
        for epsilon in (0.0, 0.2, 0.5):
            truth = profiles(mass, s, epsilon)[relation is Relation.ADD]
            found = ends(event, DeltaAt(epsilon), relation)
            assert found.lower <= truth * (1 + 1e-12)
            assert truth <= found.upper * (1 + 1e-12)
            if picks in (1, steps):
                assert truth == pytest.approx(found.upper, rel=1e-9)
        curve = renyi_curve(event.canonical(), relation)
        power = 2.5 if relation is Relation.REMOVE else -1.5
        assert math.log(np.sum(mass * s**power)) / 1.5 <= curve.at(2.5) * (1 + 1e-12)


def test_blocks_of_several_picks():
    run, blocks = Gaussian(1.0).on(RandomPicks(100, 3)) * 10, Gaussian(1.0).on(RandomAllocation(33)) * 20
    assert renyi.epsilon(run, delta=1e-6) == pytest.approx(
        renyi.epsilon(blocks + Gaussian(1.0).on(RandomAllocation(34)) * 10, delta=1e-6), rel=1e-12
    )
    assert Exact().epsilon(run, delta=1e-6).lower == 0.0
    with pytest.raises(UnsupportedError, match="replace-one"):
        renyi.epsilon(run, delta=1e-6, adjacency=Adjacency.REPLACE_ONE)
    for bad in ((3, 4), (3, 0), (0, 1), (3.0, 1)):
        with pytest.raises(InvalidInput):
            RandomPicks(*bad)
    assert dominating_pair(Gaussian(1.0).on(RandomPicks(9, 1)).canonical(), Relation.REMOVE) == AllocationPair(
        GaussianPair(1.0), 9
    )


def test_below_what_a_lattice_holds_the_renyi_curve_is_closer():
    """Beyond its windows a law on a lattice keeps a mass of 1e-23; the Renyi curve knows of no such mass."""
    epoch = RandomizedResponse(0.145, 10).on(RandomAllocation(18_988))
    by_curve = Rdp().delta(epoch, epsilon=0.24)
    assert by_curve.upper < 1e-50
    assert Exact().delta(epoch, epsilon=0.24).upper <= by_curve.upper * (1.0 + 1e-11)


def test_hardly_any_noise_over_very_many_steps_is_bounded_work():
    """The sum without jumps would have filled more memory than there is; the law of one step on all records bounds it."""
    law = AllocationPair(GaussianPair(0.105), 76_884, adding=False)
    assert (law.log_profile(np.array([0.0, 10.0])) <= GaussianPair(0.105).log_profile(np.array([0.0, 10.0]))).all()


def test_correlations_by_banded_products():
    rng = np.random.default_rng(5)
    for rows, nodes, count, finer, stride in (
        (1, 50, 200, 1, 1),
        (3, 131, 77, 2, 1),
        (2, 9, 300, 3, 1),
        (4, 20, 90, 1, 7),
    ):
        rule = _Rule(0.0, 1.0, 0, 0, 1.0, finer, stride, finer * (count - 1) + stride * (nodes - 1) + 1)
        terms, weight = rng.random((rows, rule.length)), rng.random(nodes) + 1j * rng.random(nodes)
        plain = [terms[:, i * finer : i * finer + stride * nodes : stride] @ weight for i in range(count)]
        assert rule.sums(terms + 0j, weight, count) == pytest.approx(np.array(plain).T, rel=1e-13)
