"""Several releases on one draw as one pair: above and below the truth, in both directions, at every level."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest

import renyi
from renyi import ApproximateDP, Exact, FinitePair, Gaussian, Laplace, LossGrid, Poisson, PureDP
from renyi.composing.one_draw.one_draw_law import one_draw_law
from renyi.composing.question import DeltaAt
from renyi.composing.steps import event_steps
from renyi.laws.pair import Counted, DominatingPair, FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation
from renyi.mechanisms.laplace import LaplacePair
from renyi.mechanisms.randomized_response import RandomizedResponse


def part(pair: DominatingPair, count: int) -> Counted:
    return pair, count


def test_few_outcomes_are_enumerated():
    pair = RandomizedResponse(0.7).pair(Relation.REMOVE)
    composed = one_draw_law([part(pair, 5)], upper=True)
    assert isinstance(composed, FiniteLossPair)
    assert len(composed.losses) == 6
    levels = np.array([-2.0, 0.0, 0.4, 2.0, 4.0])
    exact = [
        math.fsum(
            max(
                math.prod(0.7 if bit else 0.3 for bit in bits)
                - math.exp(level) * math.prod(0.3 if bit else 0.7 for bit in bits),
                0.0,
            )
            for bits in product((0, 1), repeat=5)
        )
        for level in levels
    ]
    assert np.exp(composed.log_profile(levels)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("counts", [(3, 1), (40, 7)])
@pytest.mark.parametrize("scale", [0.05, 1.0, 50.0])
def test_a_composed_pair_keeps_to_its_side_in_both_directions(upper, counts, scale):
    parts = [part(GaussianPair(2.0 * scale), counts[0]), part(GaussianPair(1.5 * scale), counts[1])]
    noise = 1.0 / math.sqrt(sum(count / pair.noise**2 for pair, count in parts))
    truth = GaussianPair(noise)
    levels = np.linspace(-35.0, 35.0, 201) / noise + 0.5 / noise**2
    composed = one_draw_law(parts, upper)
    for pair in (composed, composed.reversed()):
        found, exact = pair.log_profile(levels), truth.log_profile(levels)
        seen = exact > -650.0
        gap = (found - exact)[seen]
        assert np.all(gap >= -1e-11 if upper else gap <= 1e-11)
        # In units of epsilon: the profile falls by about the standardised level per standard deviation.
        size = np.maximum(np.abs(levels[seen]) * noise, 1.0)
        assert np.all(np.abs(gap) / size < 1e-3 * size)
        assert np.all(np.abs(gap)[size < 8.0] < (2e-4 if upper else 1e-3) * size[size < 8.0] ** 2)


def laplace_and_gaussian(scale: float, noise: float, level: float) -> mpmath.mpf:
    """The profile of the product by quadrature: Laplace losses have two atoms, and a density between them."""
    limit = 1 / mpmath.mpf(scale)

    def gaussian(x):
        return mpmath.ncdf(1 / (2 * mpmath.mpf(noise)) - x * noise) - mpmath.exp(x) * mpmath.ncdf(
            -1 / (2 * mpmath.mpf(noise)) - x * noise
        )

    atoms = gaussian(level - limit) / 2 + mpmath.exp(-limit) * gaussian(level + limit) / 2
    return atoms + mpmath.quad(
        lambda x: mpmath.exp((x - limit) / 2) / 4 * gaussian(level - x), mpmath.linspace(-limit, limit, 5)
    )


@pytest.mark.parametrize(("scale", "noise"), [(2.0, 1.0), (0.3, 2.0), (20.0, 0.5)])
def test_laplace_and_gaussian_on_one_draw_match_quadrature(scale, noise):
    parts = [part(LaplacePair(scale), 1), part(GaussianPair(noise), 1)]
    above, below = one_draw_law(parts, upper=True), one_draw_law(parts, upper=False)
    with mpmath.workdps(25):
        for level in (-3.0, 0.0, 0.3, 5.0, 20.0):
            truth = float(mpmath.log(laplace_and_gaussian(scale, noise, level)))
            for low, high in ((below, above), (below.reversed(), above.reversed())):
                found = [float(pair.log_profile(np.array([level]))[0]) for pair in (low, high)]
                assert found[0] <= truth + 1e-11
                assert found[1] >= truth - 1e-11
                assert found[1] - truth < 3e-5 * (1.0 + level * level) + 2e-4 * abs(truth)
                assert truth - found[0] < 5e-4 * (1.0 + level * level) + 1e-3 * abs(truth)


@pytest.mark.parametrize(("count", "truth"), [(1, 1.978719291712), (5, 2.771573579177), (100, 8.357754531106)])
def test_two_releases_on_one_draw_reach_the_reference(count, truth):
    event = (renyi.Gaussian(1.0) + renyi.Laplace(2.0)).on(renyi.Poisson(0.1)) * count
    found = renyi.Exact().epsilon(event, delta=1e-5)
    assert found.lower <= truth <= found.upper
    assert found.upper <= truth * (1.0 + 1e-5)
    assert found.lower >= truth * (1.0 - 1e-3)


def test_far_tails_keep_their_accuracy():
    event = (renyi.Gaussian(1.0) + renyi.Gaussian(2.0) + renyi.Laplace(50.0)).on(renyi.Poisson(0.1))
    alone = (renyi.Gaussian(1.0) + renyi.Gaussian(2.0)).on(renyi.Poisson(0.1))
    for delta in (1e-30, 1e-100, 1e-200):
        least = renyi.Exact().epsilon(alone, delta=delta)
        found = renyi.Exact().epsilon(event, delta=delta)
        assert found.upper - found.lower <= 1e-3 * found.upper
        assert least.lower <= found.upper
        assert found.lower <= least.upper + 0.02


@pytest.mark.parametrize("level", [0.5, 0.1, 0.01, 1e-4])
@pytest.mark.parametrize("noise", [1.0, 0.3])
def test_a_rare_failure_beside_noise_costs_what_it_adds_to_delta(level, noise):
    """With probability 1e-9 of failure instead of none, 100 draws at 0.01 spend 1e-9 of delta more, and nothing else."""
    pure = (PureDP(level) + Gaussian(noise)).on(Poisson(0.01)) * 100
    fails = (ApproximateDP(level, 1e-9) + Gaussian(noise)).on(Poisson(0.01)) * 100
    ends = Exact().epsilon(fails, delta=1e-6)
    most, least = Exact().epsilon(pure, delta=1e-6 - 1e-9), Exact().epsilon(pure, delta=1e-6)
    assert ends.upper <= most.upper * (1 + 1e-4)
    assert ends.lower >= least.lower * (1 - 2e-3)


@pytest.mark.parametrize("noise", [0.05, 0.11791632838153547, 0.118, 0.3, 5.0])
@pytest.mark.parametrize("fails", [0.0, 1e-30, 5e-259])
def test_products_of_large_losses_are_held_from_below_too(noise, fails):
    event = ApproximateDP(0.002, fails) * 23 + Gaussian(noise) * 14
    parts = event_steps(event.canonical(), Relation.REMOVE).counted
    middle = 7.0 / noise**2
    levels = middle + np.array([-2.0, -0.5, 0.5, 2.0]) * math.sqrt(14.0) / noise
    below, above = (np.exp(one_draw_law(parts, upper).log_profile(np.maximum(levels, 0.0))) for upper in (False, True))
    assert np.all(below <= above)
    assert np.all(below >= 0.9 * above)


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.2])
def test_what_only_the_record_can_cause_counts_when_it_is_added_too(epsilon):
    """An outcome that betrays the record, with probability 1/4, beside Laplace noise on one draw; against a convolution.

    Without the record there is no such outcome, so each of the others speaks for its absence: the loss is
    -log(1 - q + 3/4 q r), r the ratio of the noise. That share was lost, and delta was 27 times too small.
    """
    rate, count, step = 0.01, 50, 4e-6
    draw = FinitePair(p=(0.25, 0.75), q=(0.0, 1.0)) + Laplace(1.0)
    event = (draw.on(Poisson(rate)) * count).canonical()
    z = np.linspace(-30.0, 31.0, 400_001)
    loss = -np.log(1.0 - rate + 0.75 * rate * np.exp(np.abs(z) - np.abs(z - 1.0)))
    weight = 0.5 * np.exp(-np.abs(z))
    place = np.floor((loss - loss.min()) / step).astype(np.intp)
    weight /= weight.sum()
    size = 2**19
    total = np.fft.irfft(np.fft.rfft(np.bincount(place, weight), size) ** count, size)
    x = count * float(np.sum(weight * (loss - step * place))) + step * np.arange(size)  # the mean is what it was
    truth = float(np.sum(total[x > epsilon] * -np.expm1(epsilon - x[x > epsilon])))
    for accountant in (Exact(), LossGrid()):
        found = accountant.answer(event, DeltaAt(epsilon), (Relation.ADD,)).interval
        assert found.lower <= truth * 1.001
        assert truth * 0.999 <= found.upper <= truth * 1.01


def test_what_the_record_rules_out_has_no_far_end():
    """An outcome that only others cause: the lattice reached to losses of 1e15, and a lower end was half too high."""
    event = ((FinitePair(p=(0.0, 1.0), q=(0.2, 0.8)) + Laplace(1.0)).on(Poisson(0.01)) * 50).canonical()
    for relation, truth in ((Relation.REMOVE, 0.0141333), (Relation.ADD, 0.0131014)):  # by a convolution, to 1e-4
        found = Exact().answer(event, DeltaAt(0.05), (relation,)).interval
        assert found.lower <= truth * (1.0 + 2e-4)
        assert truth * (1.0 - 2e-4) <= found.upper <= truth * 1.001
