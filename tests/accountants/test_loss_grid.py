"""The loss grid against closed forms, exact sums and references, at both ends."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from renyi import ZCDP, Adjacency, DiscreteGaussian, DiscreteLaplace, Exact, LossGrid, Poisson, PureDP
from renyi.composing.grid.grid import grid_answer
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.composing.steps import Steps
from renyi.laws.interval import Interval
from renyi.laws.pair import Counted, DominatingPair
from renyi.laws.pairs.curve_pair import CurvePair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation
from renyi.mechanisms.approximate_dp import ApproximateDP
from renyi.mechanisms.discrete_gaussian import DiscreteGaussianPair
from renyi.mechanisms.exponential_mechanism import BoundedRangePair
from renyi.mechanisms.laplace import LaplacePair
from renyi.mechanisms.randomized_response import RandomizedResponse
from renyi.sampling.poisson.pair import PoissonPair

GAP = 5e-5


def part(pair: DominatingPair, count: int) -> Counted:
    return pair, count


def grid_epsilon(counted: list[Counted], delta: float) -> Interval:
    return grid_answer(Steps.of(tuple(counted)), EpsilonAt(delta))


def grid_delta(counted: list[Counted], epsilon: float) -> Interval:
    return grid_answer(Steps.of(tuple(counted)), DeltaAt(epsilon))


def inverse(pair: DominatingPair, delta: float) -> float:
    """The epsilon at which a profile is delta."""

    def above(epsilon: float) -> bool:
        return float(pair.log_profile(np.array([epsilon]))[0]) > math.log(delta)

    if not above(0.0):
        return 0.0
    low, high = 0.0, 1e-6
    while above(high):
        high *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if above(middle) else (low, middle)
    return high


@pytest.mark.parametrize("noise", [0.05, 0.5, 3.0, 1000.0])
@pytest.mark.parametrize("count", [1, 7, 1000])
@pytest.mark.parametrize("delta", [0.2, 1e-5, 1e-40, 1e-300])
def test_composed_gaussians_are_enclosed_and_close(noise, count, delta):
    truth = inverse(GaussianPair(noise / math.sqrt(count)), delta)
    found = grid_epsilon([part(GaussianPair(noise), count)], delta)
    assert found.lower <= truth * (1.0 + 1e-11)
    assert found.upper >= truth * (1.0 - 1e-11)
    assert found.upper - found.lower <= 1.5 * GAP * max(truth, 1e-6)


@pytest.mark.parametrize(("noise", "count", "epsilon"), [(1.0, 1, 3.0), (30.0, 1000, 4.0), (2.0, 50, 100.0)])
def test_delta_of_composed_gaussians(noise, count, epsilon):
    truth = math.exp(GaussianPair(noise / math.sqrt(count)).log_profile(np.array([epsilon]))[0])
    found = grid_delta([part(GaussianPair(noise), count)], epsilon)
    assert found.lower <= truth * (1.0 + 1e-9)
    assert found.upper >= truth * (1.0 - 1e-9)
    assert found.upper - found.lower <= 2e-3 * truth


def test_unlike_gaussians_compose():
    noises = [(1.0, 2), (5.0, 30), (80.0, 500)]
    whole = GaussianPair(1.0 / math.sqrt(sum(count / noise**2 for noise, count in noises)))
    truth = inverse(whole, 1e-6)
    found = grid_epsilon([part(GaussianPair(noise), count) for noise, count in noises], 1e-6)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 2.0 * GAP * truth


@pytest.mark.parametrize(("probability", "count"), [(0.55, 200), (0.7, 1), (0.75, 10), (0.9, 40), (0.501, 3000)])
def test_randomized_response_matches_exact_binomial_sums(probability, count):
    pair = RandomizedResponse(probability).pair(Relation.REMOVE)
    with mpmath.workdps(40):
        p = mpmath.mpf(probability)
        level = mpmath.log(p / (1 - p))
        for share in (0.05, 0.3, 0.8):
            epsilon = float(level) * min(share * count, 6.0 * math.sqrt(count)) * 0.97
            truth = mpmath.fsum(
                mpmath.binomial(count, k)
                * p**k
                * (1 - p) ** (count - k)
                * -mpmath.expm1(epsilon - (2 * k - count) * level)
                for k in range(count + 1)
                if (2 * k - count) * level > epsilon
            )
            found = grid_delta([part(pair, count)], epsilon)
            assert found.lower <= truth * (1 + mpmath.mpf("1e-10"))
            assert found.upper >= truth * (1 - mpmath.mpf("1e-10"))
            assert found.upper - found.lower <= 1e-6 * truth
            if truth > 0.9:
                continue  # so flat that the last digit of delta is many of epsilon
            again = grid_epsilon([part(pair, count)], float(truth))
            assert again.lower <= epsilon * (1.0 + 1e-9)
            assert again.upper >= epsilon * (1.0 - 1e-9)
            assert again.upper - again.lower <= 1e-6 * epsilon


def test_delta_below_the_smallest_mass_reaches_the_largest_loss():
    pair = RandomizedResponse(0.75).pair(Relation.REMOVE)
    found = grid_epsilon([part(pair, 10)], 1e-300)
    assert found.upper == pytest.approx(10.0 * math.log(3.0), rel=1e-12)
    assert found.lower == pytest.approx(10.0 * math.log(3.0), rel=1e-9)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_laplace_once_is_its_closed_form(scale, delta):
    found = grid_epsilon([part(LaplacePair(scale), 1)], delta)
    truth = max(0.0, 1.0 / scale + 2.0 * math.log1p(-delta))
    assert found.lower <= truth * (1.0 + 1e-11)
    assert found.upper >= truth * (1.0 - 1e-11)
    assert found.upper - found.lower <= 4.0 * GAP * max(truth, 1e-6)


def test_laplace_twice_matches_quadrature():
    scale, epsilon = 1.0, 0.8
    with mpmath.workdps(25):
        b = mpmath.mpf(scale)

        def one(level):
            """The profile of one Laplace pair."""
            if level >= 1 / b:
                return mpmath.mpf(0)
            return 1 - mpmath.exp((level - 1 / b) / 2) if level > -1 / b else -mpmath.expm1(level)

        def density(z):
            """P at z in units of the shift, between the centres 0 and 1; the loss there is (2z - 1)/b."""
            return mpmath.exp(-(1 - z) / b) / (2 * b)

        knots = [0, (epsilon - 1 / b + 1 / b) / 2, 1]
        middle = mpmath.quad(lambda z: density(z) * one(epsilon - (2 * z - 1) / b), sorted(knots))
        truth = middle + one(epsilon - 1 / b) / 2 + one(epsilon + 1 / b) * mpmath.exp(-1 / b) / 2
    found = grid_delta([part(LaplacePair(scale), 2)], epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 2e-4 * truth


@pytest.mark.parametrize("adding", [False, True])
@pytest.mark.parametrize(("rate", "noise", "delta"), [(0.01, 1.0, 1e-5), (0.3, 2.0, 1e-9), (1e-3, 0.5, 1e-4)])
def test_one_sampled_gaussian_is_its_profile_inverted(adding, rate, noise, delta):
    pair = PoissonPair(GaussianPair(noise), rate, adding)
    truth = inverse(pair, delta)
    found = grid_epsilon([part(pair, 1)], delta)
    assert found.lower <= truth * (1.0 + 1e-9)
    assert found.upper >= truth * (1.0 - 1e-9)
    assert found.upper - found.lower <= 1.5 * GAP * max(truth, 1e-6)


def test_the_reference_run_of_ten_thousand_steps():
    pair = PoissonPair(GaussianPair(1.0), 0.01)
    found = grid_epsilon([part(pair, 10_000)], 1e-5)
    assert found.lower <= 6.187712389972 <= found.upper
    assert found.upper - found.lower <= 1.5 * GAP * 6.19
    other = grid_epsilon([part(pair.reversed(), 10_000)], 1e-5)
    assert other.upper < found.lower


def test_a_rare_draw_with_little_noise():
    pair = PoissonPair(GaussianPair(0.4), 1e-5)
    found = grid_epsilon([part(pair, 10**6)], 1e-8)
    assert found.lower <= 6.2290894 <= found.upper
    assert found.upper <= 6.24


def test_mass_at_infinity_composes():
    pair = ApproximateDP(0.5, 1e-6).pair(Relation.REMOVE)
    fails = -math.expm1(10 * math.log1p(-1e-6))
    assert grid_epsilon([part(pair, 10)], 0.999 * fails).upper == math.inf
    assert grid_epsilon([part(pair, 10)], 0.999 * fails).lower > 1e3
    pure = RandomizedResponse(math.exp(0.5) / (1.0 + math.exp(0.5))).pair(Relation.REMOVE)
    spent = (1e-3 - fails) / (1.0 - fails)
    truth = grid_epsilon([part(pure, 10)], spent)
    found = grid_epsilon([part(pair, 10)], 1e-3)
    assert found.lower <= truth.upper * (1.0 + 1e-9)
    assert found.upper >= truth.lower * (1.0 - 1e-9)
    assert found.upper - found.lower <= 2.0 * GAP * truth.upper


def test_the_ends_of_the_domain():
    nothing, everything = PoissonPair(GaussianPair(1.0), 0.0), GaussianPair(0.0)
    assert grid_epsilon([], 1e-5).upper == 0.0
    assert grid_epsilon([part(nothing, 100)], 1e-5).upper == 0.0
    assert grid_delta([part(nothing, 100)], 0.0).upper == 0.0
    assert grid_epsilon([part(everything, 1)], 1e-5).upper == math.inf
    assert grid_delta([part(everything, 1)], 5.0).upper == 1.0
    assert grid_epsilon([part(GaussianPair(1.0), 3)], 0.0).upper == math.inf
    laplace = grid_epsilon([part(LaplacePair(2.0), 3)], 0.0)
    assert laplace.lower <= 1.5 <= laplace.upper
    assert laplace.upper - laplace.lower < 1e-12
    assert grid_delta([part(LaplacePair(2.0), 3)], 2.0).upper == 0.0


def test_without_a_lower_pair_the_lower_end_is_zero():
    pair = GaussianPair(1.0)
    curves = CurvePair(pair.renyi(), pair.renyi())
    found = grid_answer(Steps(((curves, 1), (pair, 3)), ((pair, 3),)), EpsilonAt(1e-6))
    assert found.lower == 0.0
    assert inverse(GaussianPair(0.5), 1e-6) <= found.upper < 1.3 * inverse(GaussianPair(0.5), 1e-6)


@pytest.mark.parametrize(
    ("pair", "count", "delta"),
    [
        (GaussianPair(2e4), 10**9, 1e-6),
        (PoissonPair(GaussianPair(1.0), 1e-4), 10**9, 1e-5),
        (RandomizedResponse(0.50001).pair(Relation.REMOVE), 10**8, 1e-6),
    ],
    ids=repr,
)
def test_a_billion_steps_stay_valid_and_finite(pair, count, delta):
    found = grid_epsilon([part(pair, count)], delta)
    assert 0.0 <= found.lower <= found.upper < math.inf
    if isinstance(pair, GaussianPair):
        assert found.lower <= inverse(GaussianPair(pair.noise / math.sqrt(count)), delta) <= found.upper


def random_parts(rng: np.random.Generator) -> list[Counted]:
    noise = float(np.exp(rng.uniform(math.log(0.05), math.log(300.0))))
    rate = float(np.exp(rng.uniform(math.log(1e-6), 0.0)) * 0.999)
    count = int(np.exp(rng.uniform(0.0, math.log(1e5))))
    pairs: list[DominatingPair] = [
        GaussianPair(noise),
        LaplacePair(noise),
        PoissonPair(GaussianPair(noise), rate),
        PoissonPair(GaussianPair(noise), rate, adding=True),
        PoissonPair(LaplacePair(noise), rate),
        ApproximateDP(1.0 / noise, 1e-12).pair(Relation.REMOVE),
        DiscreteGaussianPair(min(noise, 30.0), 1),
        BoundedRangePair(1.0 / noise),
        RandomizedResponse(0.4, outcomes=7).pair(Relation.REMOVE),
    ]
    chosen = rng.choice(len(pairs), size=int(rng.integers(1, 3)), replace=False)
    return [part(pairs[index], max(count // (1 + place), 1)) for place, index in enumerate(chosen)]


@pytest.mark.parametrize("seed", range(24))
def test_any_question_gets_an_interval(seed):
    rng = np.random.default_rng(seed)
    parts = random_parts(rng)
    delta = float(10.0 ** rng.uniform(-30.0, -0.5))
    found = grid_epsilon(parts, delta)
    assert 0.0 <= found.lower <= found.upper
    if 0.0 < found.upper < math.inf:
        there = grid_delta(parts, found.upper)
        assert there.lower <= delta * (1.0 + 1e-9)
        before = grid_delta(parts, max(found.lower * 0.999, 0.0))
        assert found.lower == 0.0 or before.upper >= delta * (1.0 - 1e-9)


def test_beyond_what_floats_hold_delta_is_not_zero():
    """A curve without a limit: however large epsilon is, delta is positive."""
    ends = LossGrid().delta(ZCDP(0.0054426345153548075, 5.927819931959085e-05), epsilon=15.443232285615403)
    assert ends.lower == 0.0 < ends.upper <= 1e-300


def test_beyond_all_finite_losses_delta_is_what_fails():
    event = (ApproximateDP(0.5, 1e-12) + PureDP(2.0)).on(Poisson(1e-4))
    ends = LossGrid().delta(event, epsilon=1.0)
    assert ends.lower <= 1e-16 <= ends.upper <= 1.01e-16


def test_what_finite_laws_leave_out_is_no_lower_end():
    """Beyond all outcomes that a float can hold, where e^-740 stands for the rest."""
    ends = LossGrid().delta(DiscreteGaussian(8.709649601222411), epsilon=367.9, adjacency=Adjacency.REPLACE_ONE)
    assert ends.lower == 0.0
    assert ends.upper <= 1e-300


def test_sums_over_all_outcomes_are_rounded_by_what_they_lose():
    """85,685 draws could lose a million in all; an outcome that matters loses epsilon, or far enough beyond."""
    event = DiscreteLaplace(0.06894678489380499).on(Poisson(3.927639132243428e-09)) * 85685
    ends, beside = (one.delta(event, epsilon=0.1691848521456021) for one in (Exact(), LossGrid()))
    assert ends.upper - ends.lower <= 1e-8 * ends.upper
    assert ends.lower <= beside.upper
    assert beside.lower <= ends.upper <= beside.upper
