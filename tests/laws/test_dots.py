"""Dots above and below a profile: at every level, in every tail, however coarse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from renyi.laws.dots.dots import LossMasses, dots, end_slopes, excess, lower_masses, upper_masses
from renyi.laws.dots.lattice import Lattice
from renyi.laws.pair import FiniteLossPair
from renyi.laws.pairs.curve_pair import CurvePair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation
from renyi.mechanisms.approximate_dp import ApproximateDP
from renyi.mechanisms.laplace import LaplacePair
from renyi.numerics.logspace import log_sum_exp
from renyi.sampling.poisson.pair import PoissonPair

LEVELS = np.sort(np.random.default_rng(7).uniform(-25.0, 25.0, 300))

PAIRS = [
    GaussianPair(0.3),
    GaussianPair(1.0),
    GaussianPair(20.0),
    LaplacePair(1.0),
    PoissonPair(GaussianPair(1.0), 0.01),
    PoissonPair(GaussianPair(1.0), 0.01, adding=True),
    PoissonPair(LaplacePair(0.5), 0.1),
    PoissonPair(GaussianPair(0.4), 1e-5),
    PoissonPair(GaussianPair(0.2), 1e-3),
    PoissonPair(LaplacePair(0.1), 1e-3),
    ApproximateDP(1.0, 1e-4).pair(Relation.REMOVE),
]


def log_profile(masses: LossMasses, levels: np.ndarray) -> np.ndarray:
    gap = np.maximum(masses.x - levels[:, None], 0.0)
    with np.errstate(divide="ignore"):
        finite = log_sum_exp(masses.log_p + np.log(-np.expm1(-gap)))
        return np.logaddexp(finite, np.log(masses.infinite))


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize(("step", "offset"), [(0.02, 0.0), (0.1, 0.033), (1.0, 0.0), (1.0, 0.37), (5.0, 0.0)])
def test_the_laws_above_and_below_enclose_the_profile(pair, step, offset):
    x = offset + step * np.arange(math.floor(-30.0 / step), math.ceil(30.0 / step) + 1)
    points = dots(x, excess(pair, x))
    truth = pair.log_profile(LEVELS)
    above = log_profile(upper_masses(points), LEVELS)
    infinite = 1e-4 * (1.0 - 1e-10) if isinstance(pair, FiniteLossPair) else 0.0
    assert np.all(above >= truth - 1e-13)
    for dear in (1e4, 100.0, 1.0):
        below = log_profile(lower_masses(points, infinite, end_slopes(pair, points, dear)), LEVELS)
        assert np.all(below <= truth + 1e-13)


def finite_pair(rng: np.random.Generator) -> FiniteLossPair:
    """A few outcomes, often with losses of one sign only, some of P or of Q alone."""
    size = int(rng.integers(2, 7))
    q = rng.uniform(0.01, 1.0, size)
    p = q * np.exp(rng.normal(rng.normal(0.0, 1.0), 10.0 ** rng.uniform(-3.0, 0.5), size))
    p[0] *= rng.choice([0.0, 1.0])
    q[1] *= rng.choice([0.0, 1.0])
    p, q = p / p.sum(), q / q.sum()
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log(q)
    kept = np.maximum(p, q) > 0.0
    return FiniteLossPair(*(tuple(one[kept].tolist()) for one in (log_p - log_q, log_p, log_q)))


@pytest.mark.parametrize("seed", range(8))
def test_finite_laws_are_enclosed_wherever_the_points_are(seed):
    """With masses of P alone, lowered points left of 0 lay below their limit: the law below had a mass of 1.0007."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        pair = finite_pair(rng)
        finite = np.array([loss for loss in pair.losses if math.isfinite(loss)])
        reach = float(np.max(np.abs(finite), initial=1e-3))
        step = reach * 10.0 ** rng.uniform(-2.5, 0.5)
        low, high = -math.ceil(1.5 * reach / step), math.ceil(1.5 * reach / step)
        x = rng.uniform(0.0, step) + step * np.arange(low - 1.0, high + 1.0)
        kept = rng.random(x.size) < 0.8
        kept[[0, -1]] = True  # on either side of 0
        x = np.unique(np.concatenate([x[kept], rng.choice(finite, 1) if finite.size else []]))
        points = dots(x, excess(pair, x))
        levels = np.sort(np.concatenate([rng.uniform(-2.0 * reach, 2.0 * reach, 100), finite, [-700.0]]))
        truth = np.exp(pair.log_profile(levels))
        above = upper_masses(points)
        assert np.all(np.exp(log_profile(above, levels)) >= truth * (1.0 - 1e-13) - 1e-15)
        assert np.exp(above.log_p).sum() + above.infinite >= 1.0 - 1e-12
        # What Q has alone is what the reversed pair has at infinite loss: a hull without a point left of 0 lost it.
        assert np.exp(above.log_p - above.x).sum() + above.behind >= 1.0 - 1e-12
        for dear in (1e4, 1.0):
            with np.errstate(all="ignore"):
                below = lower_masses(points, pair.infinite_mass * (1.0 - 1e-11), end_slopes(pair, points, dear))
            assert np.all(np.exp(log_profile(below, levels)) <= truth * (1.0 + 1e-13) + 1e-15)
            assert np.exp(below.log_p).sum() + below.infinite <= 1.0 + 1e-12


@pytest.mark.parametrize("step", [1e-9, 1e-3, 8.4, 1e6])
def test_a_law_below_starts_left_of_zero(step):
    """A largest loss of 4e-9 was taken for the first place of a lattice with a step of 8, and all mass lay there."""
    pair = PoissonPair(GaussianPair(9.3), 4.3e-9, adding=True)
    top = pair.max_loss
    points = Lattice(top, step, (top,)).sampled(pair, -1e-12, top)
    assert points.x[0] < 0.0 < points.x[-1]
    levels = np.sort(np.concatenate([-np.geomspace(1e-14, 30.0, 60), np.geomspace(1e-14, 1e-8, 20)]))
    truth = np.exp(pair.log_profile(levels))
    with np.errstate(all="ignore"):
        below = lower_masses(points, 0.0, end_slopes(pair, points))
    assert np.all(np.exp(log_profile(below, levels)) <= truth * (1.0 + 1e-13) + 1e-24)


@pytest.mark.parametrize("dear", [1e4, 1.0])
@pytest.mark.parametrize("step", [3e-4, 1e-3, 0.02, 1.0])
def test_an_atom_that_is_nearly_all_stays_below(dear, step):
    pair = PoissonPair(LaplacePair(0.1), 1e-3)
    bottom = -pair.reversed().max_loss
    lattice = Lattice(bottom, step, (bottom, pair.max_loss))
    points = lattice.sampled(pair, bottom, pair.max_loss)
    ends = end_slopes(pair, points, dear)
    below = lower_masses(points, 0.0, ends)
    near = bottom + np.concatenate([np.geomspace(1e-14, 1.0, 120), -np.geomspace(1e-14, 1e-3, 40)])
    levels = np.sort(np.concatenate([near, np.linspace(-0.01, 3.0, 200)]))
    truth, found = np.exp(pair.log_profile(levels)), np.exp(log_profile(below, levels))
    assert np.all(found <= truth * (1.0 + 1e-13) + 1e-15)
    assert np.exp(below.log_p).sum() <= 1.0 + 1e-12


@pytest.mark.parametrize("pair", [GaussianPair(1.0), PoissonPair(GaussianPair(1.0), 0.3), LaplacePair(1.0)], ids=repr)
def test_both_gaps_shrink_with_the_square_of_the_spacing(pair):
    levels = np.array([-0.2, 0.13, 0.55])
    truth = np.exp(pair.log_profile(levels))
    gaps = []
    for step in (0.02, 0.01):
        x = step * np.arange(-2000, 2001)
        points = dots(x, excess(pair, x))
        gaps.append(
            np.exp(log_profile(upper_masses(points), levels)) - np.exp(log_profile(lower_masses(points), levels))
        )
    assert np.all(gaps[1] < 0.4 * gaps[0])
    assert np.all(gaps[1] < 1e-3 * truth)


def test_masses_keep_their_digits_far_below_the_smallest_float():
    x = 0.05 * np.arange(-3000, 3001)
    masses = upper_masses(dots(x, excess(GaussianPair(1.0), x)))
    far = np.searchsorted(masses.x, 60.0)
    density = -0.5 * (masses.x[far] - 0.5) ** 2 - 0.5 * math.log(2.0 * math.pi) + math.log(0.05)
    assert density < -1700.0
    # The chords put a mass a little higher where it falls by e^3 per step.
    assert masses.log_p[far] == pytest.approx(density, abs=1.0)
    assert np.exp(masses.log_p).sum() == pytest.approx(1.0, abs=1e-12)


def test_refinement_knows_the_gap_of_the_moments():
    pair, tilt, count = PoissonPair(GaussianPair(1.0), 0.01), 4.0, 10_000
    lattice = Lattice(0.0, 0.5)
    points, error = lattice.refined(
        pair, lattice.sampled(pair, -8.0, 20.0), tilt=tilt, count=count, target=1e-3, finest=0.0, most=10**5
    )
    above, below = (
        count * float(log_sum_exp(masses.log_p + tilt * masses.x))
        for masses in (upper_masses(points), lower_masses(points))
    )
    assert 0.0 < above - below < 1.1e-3
    assert above - below == pytest.approx(error, rel=0.2)


def test_noise_in_a_profile_costs_points_not_validity():
    rng = np.random.default_rng(3)
    pair = GaussianPair(1.0)
    x = 1e-4 * np.arange(-30_000, 30_001)
    noisy = excess(pair, x) + 5e-13 * rng.uniform(-1.0, 1.0, x.size)
    points = dots(x, noisy)
    truth = pair.log_profile(LEVELS)
    assert np.all(log_profile(upper_masses(points), LEVELS) >= truth - 1e-13)
    assert np.all(log_profile(lower_masses(points), LEVELS) <= truth + 1e-13)


@pytest.mark.parametrize("noise", [0.3, 1.0, 8.0, 300.0])
def test_a_pair_of_curves_lies_above_the_pair_that_has_them(noise):
    pair = GaussianPair(noise)
    curves = CurvePair(pair.renyi(), pair.renyi())
    levels = np.sort(np.concatenate([LEVELS, LEVELS / 100.0, LEVELS / 10_000.0])) / noise
    truth, bound = pair.log_profile(levels), curves.log_profile(levels)
    assert np.all(bound >= truth - 1e-13)
    assert np.all(bound <= 0.0)
    # Not far above: the conversion loses a factor of the order of the standardised level.
    near = (levels > 0.2 / noise) & (truth > -100.0)
    assert np.all(bound[near] <= truth[near] + 4.5)


def test_a_pair_of_curves_honours_limit_and_mass():
    mechanism = ApproximateDP(1.0, 1e-6)
    curve = mechanism.renyi(Relation.REMOVE)
    truth = mechanism.pair(Relation.REMOVE)
    levels = np.array([-3.0, -0.7, 0.0, 0.5, 0.9, 1.1, 30.0])
    bound = CurvePair(curve, curve).log_profile(levels)
    assert np.all(bound >= truth.log_profile(levels) - 1e-13)
    assert bound[-1] == pytest.approx(math.log(1e-6), abs=1e-9)


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.0125733, 0.1, 1.0, 30.0, 1e4])
def test_no_mass_is_lost_however_large_the_losses(noise):
    """Between -1e-12 and losses of thousands, e^loss does not fit into a float: what falls there must still be found."""
    pair = GaussianPair(noise)
    x = np.concatenate([-np.geomspace(1e15, 1e-12, 200), [0.0], np.geomspace(1e-12, 1e15, 200)])
    masses = upper_masses(dots(x, excess(pair, x)))
    assert np.sum(np.exp(masses.log_p)) + masses.infinite >= 1.0 - 1e-12


def test_losses_near_anchors_are_the_anchors():
    anchors = (-1.0, -0.3, 0.1, 0.1 + 1e-9, 0.7)
    lattice = Lattice(-1.0, 0.1, anchors)
    x = lattice.x(np.arange(0.0, 18.0, 0.5))
    assert {-1.0, -0.3, 0.1, 0.7} <= set(x.tolist())
    assert np.all(np.diff(x) > 0.0)
    assert np.max(np.abs(x - (-1.0 + 0.1 * np.arange(0.0, 18.0, 0.5)))) < 1e-14
