"""dp-accounting's event trees: there and back, the cost on the way, and what either side lacks."""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from pathlib import Path

import attr
import pytest
from dp_accounting import dp_event as dp
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    ApproximateDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    FinitePair,
    Gaussian,
    GaussianDP,
    GaussianMixture,
    Grouped,
    InvalidInput,
    Laplace,
    Poisson,
    PrivacyError,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RandomPicks,
    Repeated,
    Shuffled,
    TruncatedPoisson,
    Tuned,
    UnsupportedError,
    WithoutReplacement,
)
from renyi.interop import dp_events, from_dp_event, to_dp_event

SAME = [
    (dp.NoOpDpEvent(), Composed(())),
    (dp.GaussianDpEvent(1.1), Gaussian(1.1)),
    (dp.LaplaceDpEvent(2.0), Laplace(2.0)),
    (dp.DiscreteLaplaceDpEvent(0.25, 3), DiscreteLaplace(4.0, 3)),
    (dp.RandomizedResponseDpEvent(0.5, 4), RandomizedResponse(0.625, 4)),
    (dp.MixtureOfGaussiansDpEvent(1.0, (0.0, 2.0), (0.75, 0.25)), GaussianMixture(1.0, (0.0, 2.0), (0.75, 0.25))),
    (dp.ZCDpEvent(0.1, 0.2), ZCDP(0.1, 0.2)),
    (dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.1), 7), Gaussian(1.1) * 7),
    (dp.ComposedDpEvent([dp.GaussianDpEvent(1.1), dp.LaplaceDpEvent(2.0)]), Composed((Gaussian(1.1), Laplace(2.0)))),
    (dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.1)), Gaussian(1.1).on(Poisson(0.01))),
    (
        dp.SampledWithoutReplacementDpEvent(1000, 10, dp.GaussianDpEvent(1.1)),
        Gaussian(1.1).on(WithoutReplacement(batch=10, dataset=1000)),
    ),
    (
        dp.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 20, 1.1),
        Gaussian(1.1).on(TruncatedPoisson(rate=0.01, batch=20, dataset=1000)),
    ),
    (dp.RepeatAndSelectDpEvent(dp.GaussianDpEvent(3.0), 10.0, math.inf), Tuned(Gaussian(3.0), 10.0, math.inf)),
]
"""Every event that both sides know, in both languages, with parameters that convert without rounding."""

ONE_WAY = {
    dp.NonPrivateDpEvent: Gaussian(0.0),
    dp.SingleEpochTreeAggregationDpEvent: GaussianDP(2.0, Adjacency.ZERO_OUT),
}
"""Events of theirs that we know by another name, and so write otherwise."""

REFUSED = {dp.UnsupportedDpEvent, dp.SampledWithReplacementDpEvent}


@pytest.mark.parametrize(("theirs", "ours"), SAME, ids=lambda each: type(each).__name__)
def test_what_both_know_goes_there_and_back(theirs, ours):
    assert from_dp_event(theirs) == ours
    assert to_dp_event(ours) == theirs


def test_every_event_of_dp_accounting_is_read_or_refused_by_name():
    kinds = {each for each in vars(dp).values() if isinstance(each, type) and issubclass(each, dp.DpEvent)} - {
        dp.DpEvent
    }
    assert kinds == {type(theirs) for theirs, _ in SAME} | set(ONE_WAY) | REFUSED
    for kind in REFUSED:
        event = kind(*[None] * len(attr.fields(kind)))
        with pytest.raises(UnsupportedError, match=f"no event for {kind.__name__}"):
            from_dp_event(event)


positive = st.floats(0.01, 100.0)
weights = st.sampled_from([(1.0,), (0.5, 0.5), (0.25, 0.5, 0.25)])
LEAVES = st.one_of(
    st.builds(dp.GaussianDpEvent, positive),
    st.builds(dp.LaplaceDpEvent, positive),
    st.builds(dp.ZCDpEvent, positive, positive),
    st.builds(
        lambda noise, probs: dp.MixtureOfGaussiansDpEvent(noise, tuple(map(float, range(len(probs)))), probs),
        positive,
        weights,
    ),
    st.just(dp.NoOpDpEvent()),
)


def unsampled(inner):
    return st.one_of(
        st.builds(dp.SelfComposedDpEvent, inner, st.integers(1, 10**9)),
        st.builds(dp.ComposedDpEvent, st.lists(inner, min_size=1, max_size=3)),
    )


def run(inner):
    return st.one_of(unsampled(inner), st.builds(dp.RepeatAndSelectDpEvent, inner, st.floats(2.0, 50.0), positive))


FREE = st.recursive(LEAVES, unsampled, max_leaves=5)
SAMPLED = st.one_of(
    st.builds(dp.PoissonSampledDpEvent, st.floats(0.0, 1.0), FREE),
    st.builds(dp.SampledWithoutReplacementDpEvent, st.integers(50, 100), st.integers(0, 50), FREE),
    st.builds(
        dp.TruncatedSubsampledGaussianDpEvent, st.integers(50, 100), st.floats(0.0, 1.0), st.integers(0, 60), positive
    ),
)


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.one_of(LEAVES, SAMPLED), run, max_leaves=8))
def test_trees_go_there_and_back(tree):
    """Exactly, because these parameters mean the same on both sides."""
    assert to_dp_event(from_dp_event(tree)) == tree


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-6, 1e6))
def test_discrete_noise_is_converted_within_rounding_and_never_to_a_smaller_cost(rate):
    theirs = dp.DiscreteLaplaceDpEvent(rate, 2)
    ours = from_dp_event(theirs)
    assert Fraction(ours.scale) * Fraction(rate) <= 1
    back = to_dp_event(ours)
    assert back.noise_parameter >= rate
    assert back.noise_parameter == pytest.approx(rate, rel=5e-16)


@settings(max_examples=200, deadline=None)
@given(st.floats(0.0, 1.0), st.integers(2, 1000))
def test_answers_are_converted_within_rounding_and_never_to_a_smaller_cost(noise, buckets):
    """Theirs is the probability of a random answer, which may be the true one; ours is the probability of the truth."""
    ours = from_dp_event(dp.RandomizedResponseDpEvent(noise, buckets))
    assert Fraction(ours.probability) >= 1 - Fraction(noise) * (buckets - 1) / buckets
    assert ours.probability == pytest.approx(1.0 - noise + noise / buckets, abs=5e-16)
    back = to_dp_event(ours)
    assert back.noise_parameter <= noise
    assert back.noise_parameter == pytest.approx(noise, abs=5e-16)


DISTRIBUTIONS = {
    Gaussian(1.5): lambda: pld.from_gaussian_mechanism(1.5),
    Laplace(1.5): lambda: pld.from_laplace_mechanism(1.5),
    DiscreteLaplace(4.0, 2): lambda: pld.from_discrete_laplace_mechanism(0.25, 2),
    RandomizedResponse(0.625, 4): lambda: pld.from_randomized_response(0.5, 4),
    Gaussian(1.0).on(Poisson(0.1)): lambda: pld.from_gaussian_mechanism(1.0, sampling_prob=0.1),
}


@pytest.mark.parametrize("event", DISTRIBUTIONS, ids=repr)
def test_the_parameters_mean_what_their_distributions_say(event):
    theirs = DISTRIBUTIONS[event]()
    for level in (0.1, 0.5):
        assert renyi.delta(event, epsilon=level) == pytest.approx(theirs.get_delta_for_epsilon(level), abs=1e-4)


def test_a_mixture_is_theirs_in_both_directions():
    """By their closed formula; their distribution of a mixture takes a minute."""
    levels = [0.1, 0.5]
    sides = [
        privacy_loss_mechanism.MixtureGaussianPrivacyLoss(1.0, [1.0, 2.0], [0.5, 0.5], adjacency_type=side)
        for side in (privacy_loss_mechanism.AdjacencyType.ADD, privacy_loss_mechanism.AdjacencyType.REMOVE)
    ]
    theirs = [max(deltas) for deltas in zip(*(side.get_delta_for_epsilon(levels) for side in sides), strict=True)]
    event = from_dp_event(dp.MixtureOfGaussiansDpEvent(1.0, [1.0, 2.0], [0.5, 0.5]))
    assert [renyi.delta(event, epsilon=level) for level in levels] == pytest.approx(theirs, rel=1e-6)


def test_tree_aggregation_is_the_path_of_one_leaf():
    """Seven steps make trees of three levels, eight one of four; the longest tree counts."""
    for steps, levels in ((1, 1), (2, 2), (3, 2), (7, 3), (8, 4), ([2, 8, 3], 4)):
        ours = from_dp_event(dp.SingleEpochTreeAggregationDpEvent(0.5, steps))
        assert ours.adjacency is Adjacency.ZERO_OUT
        assert Fraction(ours.mu) ** 2 >= 4 * levels
        assert ours.mu == pytest.approx(2.0 * math.sqrt(levels), rel=5e-16)
        exact = renyi.epsilon(Gaussian(0.5) * levels, delta=1e-6, adjacency=Adjacency.ZERO_OUT)
        assert renyi.epsilon(ours, delta=1e-6, adjacency=Adjacency.ZERO_OUT) == pytest.approx(exact, rel=1e-9)
    with pytest.raises(UnsupportedError, match="zero-out"):
        renyi.epsilon(ours, delta=1e-6)
    assert from_dp_event(dp.SingleEpochTreeAggregationDpEvent(0.0, 3)) == Gaussian(0.0)


def test_what_is_not_private_costs_infinity():
    assert renyi.epsilon(from_dp_event(dp.NonPrivateDpEvent()), delta=1e-6) == math.inf
    assert to_dp_event(DiscreteLaplace(0.0)) == dp.NonPrivateDpEvent()
    assert to_dp_event(Gaussian(0.0)) == dp.GaussianDpEvent(0.0)


def test_nothing_is_written_as_nothing():
    assert to_dp_event(Repeated(Gaussian(1.0), 0)) == dp.NoOpDpEvent()
    assert from_dp_event(dp.RandomizedResponseDpEvent(0.0, 1)) == Composed(())


def test_a_claim_keeps_its_neighbours():
    claim = from_dp_event(dp.ZCDpEvent(0.1), adjacency=Adjacency.REPLACE_ONE)
    assert claim == ZCDP(0.1, adjacency=Adjacency.REPLACE_ONE)
    assert to_dp_event(claim, adjacency="replace-one") == dp.ZCDpEvent(0.1)
    with pytest.raises(UnsupportedError, match=r"Pass adjacency=Adjacency\.REPLACE_ONE"):
        to_dp_event(claim)


@pytest.mark.parametrize(
    "event",
    [
        DiscreteGaussian(2.0),
        ExponentialMechanism(1.0),
        PureDP(1.0),
        ApproximateDP(1.0, 1e-6),
        GaussianDP(1.0),
        TCDP(0.5, 8.0),
        FinitePair((0.5, 0.5), (0.4, 0.6)),
        RandomizedResponse(0.1, 4),
        Grouped(Gaussian(1.0), 2),
        Tuned(Gaussian(1.0), 3.0, -0.5),
        Tuned(Gaussian(1.0), 0.5, math.inf),
        Gaussian(1.0).on(RandomAllocation(10)),
        Gaussian(1.0).on(RandomPicks(10, 2)),
        Gaussian(1.0).on(Shuffled(10)),
        Laplace(1.0).on(TruncatedPoisson(rate=0.01, batch=20, dataset=1000)),
    ],
    ids=repr,
)
def test_what_dp_accounting_lacks_is_refused_by_name(event):
    named = event.sampling if hasattr(event, "sampling") else event
    with pytest.raises(UnsupportedError) as caught:
        to_dp_event(event + Gaussian(1.0))
    assert f"dp-accounting has no event for {named!r}" in str(caught.value)


def test_a_refusal_names_the_zcdp_statement_that_an_event_implies():
    with pytest.raises(UnsupportedError, match=r"ZCDP\(0\.12500000000000006\)"):
        to_dp_event(ExponentialMechanism(1.0))


def deep(levels):
    event = dp.GaussianDpEvent(1.0)
    for _ in range(levels):
        event = dp.SelfComposedDpEvent(event, 1)
    return event


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (None, "event of dp-accounting is wanted"),
        (Gaussian(1.0), "event of dp-accounting is wanted"),
        (dp.SelfComposedDpEvent("x", 2), "event of dp-accounting is wanted"),
        (dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), 2.5), "count must be an integer"),
        (dp.ComposedDpEvent(None), "must be a list"),
        (dp.GaussianDpEvent("x"), "noise_multiplier"),
        (dp.GaussianDpEvent(-1.0), "noise_multiplier"),
        (dp.GaussianDpEvent(math.nan), "noise_multiplier"),
        (dp.DiscreteLaplaceDpEvent(0.0, 1), "noise_parameter must be above 0"),
        (dp.RandomizedResponseDpEvent(1.5, 2), "noise_parameter"),
        (dp.SingleEpochTreeAggregationDpEvent(1.0, []), "step_counts"),
        (dp.SingleEpochTreeAggregationDpEvent(1.0, 0), "step_counts"),
        (dp.PoissonSampledDpEvent(1.5, dp.GaussianDpEvent(1.0)), "rate must be in"),
        (
            dp.PoissonSampledDpEvent(0.1, dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(1.0))),
            "free of sampling",
        ),
        (deep(5_000), "levels deep"),
    ],
    ids=lambda each: repr(each)[:40] if isinstance(each, str) else None,
)
def test_wrong_trees_are_refused_with_the_reason(event, message):
    with pytest.raises(InvalidInput, match=message):
        from_dp_event(event)


def test_a_tree_that_holds_its_parts_twice_is_read_at_once():
    event = dp.GaussianDpEvent(1.0)
    for _ in range(90):
        event = dp.ComposedDpEvent([event, event])
    assert from_dp_event(event) == Gaussian(1.0) * 2**90


def test_noise_too_small_for_a_float_of_its_inverse_is_not_private():
    assert to_dp_event(DiscreteLaplace(1e-310)) == dp.NonPrivateDpEvent()
    assert from_dp_event(dp.SingleEpochTreeAggregationDpEvent(1e-310, 3)) == Gaussian(0.0)


def test_deep_and_wrong_events_of_ours():
    assert from_dp_event(deep(dp_events.MOST_LEVELS - 1)) == Gaussian(1.0)
    limits = Path(__file__).parents[2] / "docs" / "limits.md"
    assert f"up to {dp_events.MOST_LEVELS} levels deep" in limits.read_text(encoding="utf-8")
    with pytest.raises(InvalidInput, match="event of renyi"):
        to_dp_event(dp.GaussianDpEvent(1.0))
    with pytest.raises(InvalidInput, match="adjacency"):
        from_dp_event(dp.GaussianDpEvent(1.0), adjacency="unknown")


def test_a_missing_library_is_named_with_the_line_that_installs_it(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("dp_accounting"):
            raise ImportError("No module named 'dp_accounting'")
        return real(name, *rest)

    monkeypatch.setattr("renyi.interop.peer.import_module", missing)
    with pytest.raises(PrivacyError, match="pip install dp-accounting"):
        from_dp_event(dp.GaussianDpEvent(1.0))


def test_an_old_release_is_named(monkeypatch):
    monkeypatch.setattr("renyi.interop.dp_events.peer", lambda *_: object())
    with pytest.raises(PrivacyError, match=r"0\.6 or newer"):
        dp_events.to_dp_event(Gaussian(1.0))
