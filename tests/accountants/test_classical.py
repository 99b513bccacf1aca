"""The classical accountant: 30 digits where it is exact, above the truth elsewhere, below no default."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import renyi
from renyi import (
    ZCDP,
    Adjacency,
    ApproximateDP,
    Classical,
    Exact,
    ExponentialMechanism,
    FromRenyi,
    Gaussian,
    Interval,
    Laplace,
    Poisson,
    PureDP,
    RandomizedResponse,
    Rdp,
    Relation,
    UnsupportedError,
    WithoutReplacement,
)
from renyi.accountants.best import Best
from renyi.accountants.classical.composition_theorems import improved_advanced_composition
from renyi.accountants.classical.optimal_composition import optimal_composition_epsilon
from renyi.accountants.classical.release import PoissonRelease, release
from renyi.composing.question import DeltaAt, EpsilonAt
from tests.golden import golden
from tests.soundness import exact_campaign, random_events


def refuse(event):
    raise AssertionError(f"{event} is one release")


@pytest.mark.parametrize("case", golden("kov_delta"), ids=repr)
def test_pure_dp_composes_optimally(case):
    p = case.params
    ends = Classical().delta(PureDP(p["eps"]) * p["k"], epsilon=p["eps_g"])
    if case.value == 0:
        # The level's last digit is not known to an accountant: 7 * 0.3 may be a hair above 2.1.
        assert ends.lower == 0.0
        assert ends.upper < 1e-14
    else:
        assert Fraction(ends.lower) <= case.value <= Fraction(ends.upper)
        assert ends.upper - ends.lower <= 1e-11 * ends.upper


@pytest.mark.parametrize(
    "event",
    [
        PureDP(0.3) * 7,
        ApproximateDP(0.3, 1e-9) * 70,
        RandomizedResponse(0.6) * 500,
        PureDP(0.1) * 40 + RandomizedResponse(0.7) * 12 + ApproximateDP(0.4, 1e-8) * 3,
    ],
    ids=repr,
)
def test_exact_where_releases_are_as_bad_as_their_levels(event):
    for delta in (0.1, 1e-6):
        ends, exact = Classical().epsilon(event, delta=delta), Exact().epsilon(event, delta=delta)
        assert ends.upper == pytest.approx(exact.upper, rel=1e-10)
        assert ends.lower == pytest.approx(exact.lower, rel=1e-10)
        assert 0.0 < ends.lower <= exact.upper * (1 + 1e-14)
        assert exact.lower <= ends.upper * (1 + 1e-14)


@pytest.mark.parametrize(
    ("event", "classical", "exact"),
    [
        (Gaussian(5.0) * 10, 8.3676, 2.59438),
        (Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063, 1279.7, 2.38169),
        (Laplace(10.0) * 1000, 17.787, 17.4237),
        (ExponentialMechanism(0.1) * 1000, 17.787, 8.0703),
    ],
    ids=repr,
)
def test_what_is_lost_by_knowing_epsilon_and_delta_only(event, classical, exact):
    ends = Classical().epsilon(event, delta=1e-5)
    assert ends.lower == 0.0
    assert ends.upper == pytest.approx(classical, rel=2e-3)
    assert renyi.epsilon(event, delta=1e-5) == pytest.approx(exact, rel=1e-2)


def test_one_release_is_its_profile():
    for event in (Gaussian(1.3), Laplace(2.0), Gaussian(0.8).on(Poisson(0.05)), RandomizedResponse(0.7, outcomes=5)):
        assert Classical().epsilon(event, delta=1e-4).upper == pytest.approx(renyi.epsilon(event, delta=1e-4), rel=1e-9)
        assert Classical().delta(event, epsilon=0.1).upper == pytest.approx(renyi.delta(event, epsilon=0.1), rel=1e-9)


def test_the_division_of_delta_is_optimised():
    """Against a fine scan of the per-step delta, by the same theorem."""
    steps, delta, noise = 100, 1e-5, 6.0
    best = math.inf
    for share in np.linspace(0.01, 0.999, 300):
        step_delta = share * delta / steps
        step = renyi.epsilon(Gaussian(noise), delta=step_delta)
        best = min(
            best, optimal_composition_epsilon(step_epsilon=step, step_delta=step_delta, count=steps, delta=delta)
        )
    assert Classical().epsilon(Gaussian(noise) * steps, delta=delta).upper <= best * (1 + 2e-3)


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.01, 0.03, 0.1, 0.2])
def test_delta_of_releases_that_tell_little_is_near_their_levels(epsilon):
    """Laplace noise as wide as this is all but its level: composing levels costs little, if the division finds that."""
    run = Laplace(10.0) * 4
    exact = Exact().delta(run, epsilon=epsilon)
    assert exact.lower <= Classical().delta(run, epsilon=epsilon).upper <= 1.05 * exact.upper


@pytest.mark.parametrize("delta", [0.1, 0.05, 0.03, 0.01, 1e-3, 1e-6])
def test_epsilon_of_releases_that_tell_little_is_near_their_levels(delta):
    run = Laplace(10.0) * 4
    exact = Exact().epsilon(run, delta=delta)
    assert exact.lower <= Classical().epsilon(run, delta=delta).upper <= 1.08 * exact.upper


def test_one_level_is_not_spent_twice():
    """Delta that releases spend is missing for their composition: here by the same theorem, at the best of many shares."""
    steps, delta = 50, 1e-6
    shares = [
        (share := delta * 10.0 ** (-0.05 * i) / steps, renyi.epsilon(Gaussian(10.0), delta=share)) for i in range(1, 80)
    ]
    best = min(
        optimal_composition_epsilon(step_epsilon=step, step_delta=share, count=steps, delta=delta)
        for share, step in shares
    )
    found = Classical().epsilon(Gaussian(10.0) * steps, delta=delta).upper
    assert best * (1 - 2e-3) <= found <= best * (1 + 5e-3)


def test_never_above_the_closed_form():
    """The division of half and half, and advanced composition."""
    for noise, rate, steps in ((4.0, 0.01, 10_000), (20.0, 1.0, 50), (1.0, 1e-4, 10**6)):
        event = Gaussian(noise).on(Poisson(rate))
        step_delta = 0.5e-6 / steps
        step = renyi.epsilon(event, delta=step_delta)
        bound = improved_advanced_composition(step_epsilon=step, step_delta=step_delta, count=steps, slack=0.5e-6)
        assert Classical().epsilon(event * steps, delta=1e-6).upper <= bound.epsilon


def test_lemma_4_is_the_exact_profile_of_removing():
    one = release(Gaussian(1.0).on(Poisson(0.1)), Relation.REMOVE, refuse)
    assert isinstance(one, PoissonRelease)
    for delta in (0.01, 1e-6, 1e-100):
        exact = Exact().epsilon(Gaussian(1.0).on(Poisson(0.1)), delta=delta)
        assert exact.upper * (1 - 1e-11) <= one.epsilon(delta) <= exact.upper * (1 + 1e-9)
    assert one.epsilon(0.1) == 0.0
    assert one.delta(0.2) == pytest.approx(Exact().delta(Gaussian(1.0).on(Poisson(0.1)), epsilon=0.2).upper, rel=1e-9)


@pytest.mark.parametrize(
    "event",
    [Gaussian(1.0), Laplace(0.7), Gaussian(2.0).on(Poisson(0.01)), ZCDP(0.1), RandomizedResponse(0.8, outcomes=3)],
    ids=repr,
)
def test_what_a_release_offers_is_true(event):
    one = release(event, Relation.REMOVE, refuse)
    for delta in (1e-3, 1e-6, 1e-12):
        epsilon = one.epsilon(delta)
        assert Exact().delta(event, epsilon=epsilon).lower <= delta * (1 + 1e-12)
        assert one.least_epsilon(delta) <= epsilon * (1 + 1e-9)
        assert one.delta(epsilon) <= delta * (1 + 1e-6)


def test_it_wins_where_curves_are_flat():
    """A curve that is 1 at every order is pure DP of level 1, which the sum of curves forgets; so the default asks it too."""
    event = FromRenyi(((math.inf, 1.0),)) * 100
    classical = Classical().epsilon(event, delta=1e-5).upper
    assert classical == pytest.approx(optimal_composition_epsilon(step_epsilon=1.0, count=100, delta=1e-5), rel=1e-9)
    assert Rdp().epsilon(event, delta=1e-5).upper == pytest.approx(100.0)
    assert renyi.epsilon(event, delta=1e-5) == classical
    assert "(epsilon, delta) guarantees" in renyi.guarantee(event, delta=1e-5).method
    flat = ZCDP(1e-6, xi=0.1) * 100
    assert renyi.epsilon(flat, delta=1e-5) == Classical().epsilon(flat, delta=1e-5).upper < 5.0
    assert Rdp().epsilon(flat, delta=1e-5).upper > 10.0


def test_one_level_repeated_is_as_close_by_the_contour():
    """The contour's ends are 1e-10 apart here, the binomial sum's 1e-11: not worth asking twice."""
    event = ApproximateDP(epsilon=0.02675059680040993, delta=7.383448187690126e-300) * 166322
    found = renyi.delta(event, epsilon=202.80247399082546)
    assert found == pytest.approx(Classical().delta(event, epsilon=202.80247399082546).upper, rel=1e-9)


@pytest.mark.parametrize("part", range(4))
def test_the_default_is_never_above_and_nothing_contradicts(part):
    seed = 20261120
    for number in range(6 * part, 6 * (part + 1)):
        question = exact_campaign.point(seed, number)
        event = random_events.event_of(question.terms)
        classical, best = (question.answer(accountant, event).interval for accountant in (Classical(), Best()))
        where = f"seed {seed}, number {number}: {question}"
        assert 0.0 <= classical.lower <= classical.upper, where
        assert best.upper <= classical.upper * (1 + 1e-9), where
        assert classical.lower <= best.upper * (1 + 1e-11), where
        assert best.lower <= classical.upper * (1 + 1e-11), where


FLAT = FromRenyi(((1.5, 0.4), (math.inf, 0.4)))


@pytest.mark.parametrize(
    "event",
    [FLAT * 100, FLAT * 30 + Laplace(20.0) * 5, ExponentialMechanism(0.1).on(Poisson(0.3)) * 200, ZCDP(0.01) * 7],
    ids=repr,
)
@pytest.mark.parametrize("question", [DeltaAt(0.5), DeltaAt(6.0), EpsilonAt(1e-6)], ids=repr)
def test_what_surely_exceeds_a_bound_does(event, question):
    """The shortcut of the default never costs an answer."""
    event, relations = event.canonical(), Adjacency.ADD_OR_REMOVE.relations
    found = Classical().answer(event, question, relations).interval.upper
    assert not Classical().surely_exceeds(found, event, question, relations)
    assert not Classical().surely_exceeds(min(3.0 * found, 1.0) if found < 1.0 else found, event, question, relations)
    assert Classical().surely_exceeds(1e-9 * found, event, question, relations) or isinstance(question, DeltaAt)


def test_failures_that_are_all_but_certain():
    """A budget of nearly a million beside one of delta was too much for an exponential."""
    event = ApproximateDP(0.0039, 0.12) * 6_833_295
    for delta in (1e-300, 0.5, 1.0 - 1e-12):
        assert Classical().epsilon(event, delta=delta) == Interval(math.inf, math.inf)
        assert renyi.epsilon(event, delta=delta) == math.inf
    for epsilon in (0.0, 3.4e-5, 1e6):
        assert Classical().delta(event, epsilon=epsilon).upper == 1.0
        assert renyi.delta(event, epsilon=epsilon) == 1.0


def test_deltas_that_underflow():
    """The sum of what lies beyond was known up to itself, and a lower end was divided by the rest: nothing."""
    event = PureDP(6.115123135300941e-06) * 104_230_966
    assert renyi.delta(event, epsilon=35.48655845559655) == 5e-324
    for delta in (5e-324, 1e-310, 1e-300):
        found = Classical().epsilon(event, delta=delta)
        assert 0.0 < found.lower <= found.upper < 6.2e-6 * 104_230_966
        assert found.lower <= Rdp().epsilon(event, delta=delta).upper
        assert found.upper <= Rdp().epsilon(event, delta=delta).upper or delta < 1e-307  # fewer digits, but true


def test_edges():
    epsilon = Classical().epsilon
    assert epsilon(Gaussian(1.0) * 0, delta=0.0).upper == 0.0
    assert epsilon(Gaussian(1.0) * 3, delta=0.0).upper == math.inf
    assert epsilon(Gaussian(0.0) * 3, delta=1e-3).upper == math.inf
    assert epsilon(Gaussian(1.0).on(Poisson(0.0)) * 9, delta=0.0).upper == 0.0
    assert epsilon(PureDP(0.0) * 10**9, delta=0.0).upper == 0.0
    assert epsilon(PureDP(0.1) * 3, delta=0.0).upper == pytest.approx(0.3, rel=1e-14)
    assert epsilon(PureDP(700.0) * 2, delta=1e-9).upper == pytest.approx(1400.0, rel=1e-12)
    assert epsilon(ApproximateDP(0.1, 1e-3) * 100, delta=1e-3).upper == math.inf
    assert 0.3 > epsilon(PureDP(0.1) * 3, delta=1e-300).lower > 0.2999
    assert Classical().delta(PureDP(0.1) * 3, epsilon=0.31).upper == 0.0
    assert Classical().delta(Laplace(1.0) * 2 + PureDP(0.5), epsilon=2.51).upper == 0.0
    assert Classical().delta(Gaussian(1e-3) * 2, epsilon=0.0).upper == 1.0
    big = epsilon(PureDP(1e-4) * 10**9, delta=1e-6)
    assert big.lower == pytest.approx(big.upper, rel=1e-7)
    assert big.upper == pytest.approx(renyi.epsilon(PureDP(1e-4) * 10**9, delta=1e-6), rel=1e-6)
    more = epsilon(PureDP(1e-6) * 10**12, delta=1e-6)  # too many for the sum: the closed form
    assert more.lower == 0.0
    assert more.upper == pytest.approx(0.5 + math.sqrt(2 * math.log(1e6)), rel=1e-6)


def test_adjacencies_and_what_has_no_theorem():
    assert Classical().epsilon(Gaussian(2.0) * 3, delta=1e-5, adjacency=Adjacency.REPLACE_ONE) == Classical().epsilon(
        Gaussian(1.0) * 3, delta=1e-5
    )
    zero = Classical().epsilon(Gaussian(2.0).on(Poisson(0.1)) * 3, delta=1e-5, adjacency=Adjacency.ZERO_OUT)
    assert zero == Classical().epsilon(Gaussian(2.0).on(Poisson(0.1)) * 3, delta=1e-5)
    with pytest.raises(UnsupportedError, match="REPLACE_ONE"):
        Classical().epsilon(Laplace(2.0).on(WithoutReplacement(10, 1000)), delta=1e-5)
    with pytest.raises(UnsupportedError, match="adjacency="):
        Classical().epsilon(PureDP(0.1) * 2, delta=1e-5, adjacency=Adjacency.REPLACE_ONE)


def test_the_guarantee_names_its_theorem():
    said = {
        text: str(renyi.guarantee(event, delta=1e-6, accountant=Classical()))
        for text, event in {
            "optimal composition": Laplace(10.0) * 100,
            "one release": Laplace(10.0),
            "basic composition": Gaussian(1.0) * 0,
        }.items()
    }
    assert all(text in sentence for text, sentence in said.items())


@pytest.mark.parametrize("count", [10**3, 10**7])
def test_steps_of_bounded_loss_need_no_share_of_delta(count):
    """Half of delta for the one release that needs some, half for the composition."""
    few, many, delta = Gaussian(5.0), Laplace(1e8) * count, 1e-30
    alone = Classical().epsilon(few, delta=0.45 * delta).upper
    pure = Classical().epsilon(many, delta=0.0).upper
    assert Classical().epsilon(few + many, delta=delta).upper <= alone + pure


@pytest.mark.parametrize("mechanism", [Gaussian(0.3), Laplace(4.0), PureDP(0.2), ExponentialMechanism(1.0)], ids=repr)
@pytest.mark.parametrize("delta", [1e-100, 1e-6, 0.3])
def test_the_quick_look_at_a_release_is_a_hundredth_below_it(mechanism, delta):
    one = release(mechanism, Relation.REMOVE, refuse)
    epsilon = one.epsilon(delta)
    assert epsilon / 1.011 - 1e-9 <= one.least_epsilon(delta) <= epsilon
