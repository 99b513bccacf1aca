"""The pair of a search: never below the best of K runs, enumerated; never above the two corollaries; close to an attack."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import renyi
from renyi import Adjacency, Exact, Gaussian, Laplace, Poisson, PureDP, RandomizedResponse, Rdp, Relation, Tuned
from renyi.composing.closed import one_step_epsilon
from renyi.composing.search.search_pair import search_pair
from renyi.composing.steps import event_steps
from renyi.events.trials import Trials, gamma_of
from renyi.laws.pair import FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair

MNIST = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063
LAWS = [(10.0, 1.0), (10.0, 0.0), (1.3, 1.0), (3.0, -0.5), (50.0, 4.0), (0.4, math.inf), (10.0, math.inf)]
LEVELS = np.concatenate([[0.0], np.geomspace(1e-3, 12.0, 25)])

GOLDEN = [
    # event, mean, shape, delta, an attack, the best bound that was proved before, its corollary in closed form
    (Gaussian(4.0), 10.0, 1.0, 1e-6, 1.5566, 1.5642, 1.6313),
    (Gaussian(1.0), 10.0, 1.0, 1e-5, 6.4243, 6.4305, 6.6175),
    (Gaussian(0.5), 10.0, 1.0, 1e-6, 14.8334, 14.8372, 15.0017),
    (Gaussian(1.0), 10.0, math.inf, 1e-5, 8.1611, 8.1824, 8.7158),
    (MNIST, 10.0, 1.0, 1e-5, 2.3817, 3.5694, 3.7169),
]


def generating(mean, shape, x):
    """E[x^K] in closed form: Papernot & Steinke (2022), section 2."""
    if math.isinf(shape):
        return np.exp(mean * (x - 1.0))
    gamma = gamma_of(mean, shape)
    if shape == 0.0:
        return np.log1p(-(1.0 - gamma) * x) / math.log(gamma)
    return ((1.0 - (1.0 - gamma) * x) ** -shape - 1.0) / (gamma**-shape - 1.0)


def best_of(law, mean, shape):
    """The law of the best of K runs, outcomes in rising order of merit; no run at all comes first."""
    below = np.minimum(np.append(np.concatenate([[0.0], np.cumsum(law)])[:-1], 1.0), 1.0)
    reached = generating(mean, shape, below)
    return np.concatenate([[reached[0]], np.diff(reached)])


def finite(p, q):
    with np.errstate(divide="ignore"):
        return FiniteLossPair(np.log(p) - np.log(q), np.log(p), np.log(q))


def random_pair(rng, outcomes):
    p = rng.dirichlet(np.full(outcomes, rng.choice([0.3, 1.0, 5.0]))) * 0.999 + 0.001 / outcomes
    q = p * np.exp(rng.normal(0.0, rng.choice([0.01, 0.3, 1.0, 3.0]), size=outcomes))
    q /= q.sum()
    if rng.random() < 0.2:  # an outcome that only one of the two can have
        (p if rng.random() < 0.5 else q)[rng.integers(outcomes)] = 0.0
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize(("mean", "shape"), LAWS)
def test_no_order_of_merit_of_any_small_run_exceeds_the_pair(mean, shape):
    rng = np.random.default_rng(round(10 * mean))
    trials = Trials.of(mean, shape)
    for turn in range(12):
        p, q = random_pair(rng, 2 + turn % 4)
        pair = search_pair(finite(p, q), finite(q, p), trials)
        ours = np.exp([pair.log_profile(LEVELS), pair.reversed().log_profile(LEVELS)])
        for order in itertools.permutations(range(p.size)):
            best, other = (best_of(law[list(order)], mean, shape) for law in (p, q))
            for bound, (first, second) in zip(ours, ((best, other), (other, best)), strict=True):
                exact = np.maximum(first - np.exp(LEVELS[:, None]) * second, 0.0).sum(axis=1)
                assert (exact <= bound * (1.0 + 1e-9) + 1e-14 * np.exp(LEVELS)).all()  # of sums that round to 1


@pytest.mark.parametrize(("mean", "shape"), [(6.0, 1.0), (6.0, 0.0), (4.0, math.inf)])
def test_whole_runs_and_searches_beside_other_events_are_never_below_an_enumeration(mean, shape):
    """Runs of three randomized answers, the best by random scores; then one more answer, in the open."""
    rng, keep = np.random.default_rng(5), 0.7
    answers = np.array(list(itertools.product((keep, 1.0 - keep), repeat=3)))
    p, q = answers.prod(axis=1), (1.0 - answers).prod(axis=1)
    run, beside = RandomizedResponse(keep) * 3, RandomizedResponse(0.6)
    alone = [renyi.delta(Tuned(run, mean, shape), epsilon=level) for level in LEVELS[::3]]
    both = [renyi.delta(Tuned(run, mean, shape) + beside, epsilon=level) for level in LEVELS[::3]]
    closest = 0.0
    for order in [np.argsort(p / q), *(rng.permutation(8) for _ in range(300))]:
        best, other = (best_of(law[order], mean, shape) for law in (p, q))
        for level, one, two in zip(LEVELS[::3], alone, both, strict=True):
            exact = np.maximum(best - math.exp(level) * other, 0.0).sum()
            assert exact <= one * (1.0 + 1e-9) + 1e-13
            closest = max(closest, exact / max(one, 1e-9))
            joint = np.multiply.outer(best, (0.6, 0.4)) - math.exp(level) * np.multiply.outer(other, (0.4, 0.6))
            assert np.maximum(joint, 0.0).sum() <= two * (1.0 + 1e-9) + 1e-13
    assert closest > 0.5


@pytest.mark.parametrize(("event", "mean", "shape", "delta", "attack", "proved", "corollary"), GOLDEN)
def test_it_is_no_worse_than_the_best_that_was_proved(event, mean, shape, delta, attack, proved, corollary):
    search = Tuned(event, mean, shape)
    found = Exact().epsilon(search, delta=delta)
    assert found.lower == 0.0
    assert attack < found.upper <= min(1.001 * proved, corollary)
    assert renyi.epsilon(search, delta=delta) == found.upper < Rdp().epsilon(search, delta=delta).upper


def corollary(delta_of, delta, mean, shape):
    """The smallest epsilon of E[K] delta(eps - (1 + eta) eps1), or of mu delta(eps - mu delta(0)), by hand."""
    grid = np.linspace(0.0, 40.0, 400_001)
    deltas = delta_of(grid)
    if math.isinf(shape):
        shift = mean * deltas[0]
    else:
        gamma = gamma_of(mean, shape)
        shift = (1.0 + shape) * grid[np.argmax(deltas <= gamma * np.expm1(grid) / (1.0 - gamma))]
    return shift + grid[np.argmax(mean * deltas <= delta)]


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-15])
@pytest.mark.parametrize("noise", [0.7, 3.0, 30.0])
@pytest.mark.parametrize(("mean", "shape"), [(10.0, 1.0), (30.0, 0.0), (2.0, -0.5), (5.0, math.inf)])
def test_it_is_never_above_its_corollaries(mean, shape, noise, delta):
    def delta_of(epsilon):
        return ndtr(0.5 / noise - epsilon * noise) - np.exp(epsilon) * ndtr(-0.5 / noise - epsilon * noise)

    pair = GaussianPair(noise)
    found = one_step_epsilon(search_pair(pair, pair, Trials.of(mean, shape)), delta).upper
    assert found <= corollary(delta_of, delta, mean, shape) * (1.0 + 1e-3) + 2e-4


def test_the_numbers_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "groups-and-tuning.md").read_text(encoding="utf-8")
    rows = [
        line.split("|")[1:-1]
        for line in page.split("<!-- search -->")[1].split("<!-- /search -->")[0].split("\n")[3:-1]
    ]
    assert len(rows) == len(GOLDEN)
    for row, (event, mean, shape, delta, attack, _, closed) in zip(rows, GOLDEN, strict=True):
        run, law, at, *printed = (cell.strip() for cell in row)
        names = {"Gaussian": Gaussian, "Poisson": Poisson}
        assert (eval(run.strip("`"), names), float(at)) == (event, delta)
        assert law == f"{'Poisson' if math.isinf(shape) else 'geometric'}, mean {mean:g}"
        search = Tuned(event, mean, shape)
        found = [renyi.epsilon(search, delta=delta), Rdp().epsilon(search, delta=delta).upper]
        profile, by_curve, one = (f"{answer:.3f}" for answer in (*found, renyi.epsilon(event, delta=delta)))
        assert printed == [profile, f"{closed:.4f}", by_curve, one]
        assert event == MNIST or f"{attack:.4f}" in page


def test_at_level_0_runs_are_coupled():
    """The best of K differs only if some run does: total variation 1 - f(1 - delta(0)), which one score attains."""
    for mean, shape in LAWS:
        pair = finite(np.array([0.6, 0.4]), np.array([0.4, 0.6]))
        found = float(np.exp(search_pair(pair, pair, Trials.of(mean, shape)).log_profile(np.zeros(1))[0]))
        assert found <= (1.0 - float(generating(mean, shape, 0.8))) * (1.0 + 1e-9)


def test_a_search_among_pure_runs_is_pure():
    for shape in (1.0, 0.0):
        cost = renyi.epsilon(Tuned(PureDP(0.1), 1000.0, shape), delta=0.0)
        assert 0.99 * (2.0 + shape) * 0.1 < cost <= (2.0 + shape) * 0.1 * (1.0 + 1e-12)


def test_both_relations_are_bounded_by_their_own_runs():
    run = (Gaussian(1.0).on(Poisson(0.05)) * 20).canonical()
    search = Tuned(run, 5.0).canonical()
    ((remove, _),), ((add, _),) = (event_steps(search, way).counted for way in (Relation.REMOVE, Relation.ADD))
    level = np.array([0.5, 1.0, 2.0])
    assert (remove.log_profile(level) > add.log_profile(level)).all()
    assert remove.reversed().log_profile(level) == pytest.approx(add.log_profile(level), rel=1e-2)


def test_it_composes_with_other_events():
    search, other = Tuned(Gaussian(4.0), 10.0), Laplace(5.0) * 3
    one, both = Exact().epsilon(search, delta=1e-6).upper, Exact().epsilon(search + other, delta=1e-6).upper
    assert one < both < one + Exact().epsilon(other, delta=0.0).upper
    twice = Exact().epsilon(search * 2, delta=1e-6).upper
    assert one < twice < 2.0 * Exact().epsilon(search, delta=5e-7).upper
    assert twice < Rdp().epsilon(search * 2, delta=1e-6).upper
    nested = Exact().epsilon(Tuned(search, 3.0), delta=1e-6).upper
    assert one < nested < Rdp().epsilon(Tuned(search, 3.0), delta=1e-6).upper


def test_other_neighbours_and_larger_noise():
    costs = [
        renyi.epsilon(Tuned(Gaussian(noise), 10.0), delta=1e-6, adjacency=Adjacency.REPLACE_ONE)
        for noise in (1.0, 2.0, 8.0, 8.001, 64.0)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[2] == pytest.approx(renyi.epsilon(Tuned(Gaussian(4.0), 10.0), delta=1e-6), rel=1e-9)


@pytest.mark.parametrize(
    "run",
    [
        PureDP(0.0),
        PureDP(1e-300),
        Gaussian(1e-300),
        Gaussian(0.0),
        Gaussian(1e300),
        RandomizedResponse(1.0),
        PureDP(1e6),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    ("mean", "shape"), [(10.0, 1.0), (1.0 + 1e-12, 0.0), (1e200, 5.0), (1e5, math.inf), (1e-9, math.inf)]
)
def test_the_ends_of_the_range(run, mean, shape):
    search = Tuned(run, mean, shape)
    for delta in (0.0, 1e-300, 1e-6, 0.5):
        cost = renyi.epsilon(search, delta=delta)
        assert cost >= 0.0
        if mean >= 1.0:
            assert cost >= Exact().epsilon(run, delta=delta).lower * (1.0 - 1e-9)
    assert 0.0 <= renyi.delta(search, epsilon=1.0) <= 1.0


def test_losses_that_are_too_large_for_a_table_are_left_to_the_curve():
    """A table of levels up to 1e8 had lost all of its mass, and epsilon was negative."""
    search = Tuned(RandomizedResponse(0.9987, 3) * 13_460_827, mean=14.9)
    found = renyi.guarantee(search, delta=1.9e-208, adjacency=renyi.Adjacency.REPLACE_ONE)
    alone = renyi.epsilon(search.event, delta=1.9e-208, adjacency=renyi.Adjacency.REPLACE_ONE)
    assert 0.9 * alone < found.epsilon.upper < math.inf
