"""What is true of every mechanism, sampling, accountant and relation."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import renyi
from renyi import (
    Adjacency,
    Classical,
    Composed,
    Gaussian,
    Laplace,
    Mechanism,
    NotSerialisable,
    Poisson,
    Rdp,
    Relation,
    Repeated,
    Sampled,
    UnsupportedError,
)
from renyi.composing.event_laws import dominating_pair, renyi_curve
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.events.sampling import SAMPLINGS
from renyi.laws.ratio_law import log_mixed
from renyi.numerics.quadrature import on_panels
from tests import examples

ORDERS = np.array([1.0, 1.0 + 1e-9, 1.3, 2.0, 2.5, 8.0, 40.0, 1e4])


def each(values):
    return pytest.mark.parametrize("event", values, ids=examples.label)


def relations_of(event):
    """The relations for which the event has a curve at all."""
    for relation in Relation:
        try:
            yield relation, renyi_curve(event.canonical(), relation)
        except UnsupportedError:
            continue


def holds_code(event):
    """Whether an event holds a function, so that it has no JSON form."""
    match event:
        case Sampled(inner, _):
            return holds_code(inner)
        case Composed(parts):
            return any(holds_code(getattr(part, "event", part)) for part in parts)
    return any(callable(getattr(event, field.name)) for field in dataclasses.fields(event))


def not_dearer(accountant, cheap, dear):
    """Between methods, monotone means lower(cheaper) <= upper(dearer).

    Upper ends of one method may cross by their own inaccuracy only; those of pairs that are not attained are anybody's.
    """
    assert cheap.lower <= dear.upper * (1 + 1e-12), (cheap, dear)
    if accountant in (Rdp(), Classical()) or cheap.lower > 0.0:
        assert cheap.upper <= dear.upper * (1 + examples.SLACK[accountant]) + 1e-12, (cheap, dear)


def refused(accountant, event):
    """Whoever has no theorem for any neighbours says so."""
    for adjacency in Adjacency:
        with pytest.raises(UnsupportedError):
            accountant.epsilon(event, delta=1e-6, adjacency=adjacency)


def relations_for(accountant, event):
    """Those with a curve; zero-out and zero-in cost what removing and adding do, which takes the exact accountant a while."""
    for relation, _ in relations_of(event):
        if accountant == Rdp() or relation in (Relation.REMOVE, Relation.ADD, Relation.REPLACE):
            yield relation


ASKED = [
    *itertools.product(examples.ACCOUNTANTS, examples.COVERING),
    # Composition of levels does not look into a sampling; its own tests do that, and asking it is slow.
    *itertools.product([Classical()], examples.FIRST_EXAMPLES),
]

accountants = pytest.mark.parametrize("accountant", examples.ACCOUNTANTS, ids=examples.label)
asked = pytest.mark.parametrize(("accountant", "event"), ASKED, ids=examples.label)


@asked
def test_repeating_is_composing(accountant, event):
    nearly = examples.one_ulp_apart(event, 3)
    assert len(set(nearly)) == 3
    for relation in relations_for(accountant, event):
        repeated = accountant.answer(Repeated(event, 3).canonical(), EpsilonAt(1e-6), (relation,))
        composed = accountant.answer(Composed(nearly).canonical(), EpsilonAt(1e-6), (relation,))
        not_dearer(accountant, repeated.interval, composed.interval)
        not_dearer(accountant, composed.interval, repeated.interval)


@each(examples.EVENTS)
def test_composed_curve_is_the_sum_of_curves(event):
    other = Gaussian(2.5).on(Poisson(0.02)) * 7
    for relation, curve in relations_of(event):
        total = renyi_curve((event * 5 + other).canonical(), relation)(ORDERS)
        by_hand = 5 * curve(ORDERS) + 7 * renyi_curve(Gaussian(2.5).on(Poisson(0.02)), relation)(ORDERS)
        assert (total >= by_hand * (1 - 1e-15)).all()
        assert total == pytest.approx(by_hand, rel=1e-13)


@asked
def test_order_does_not_matter(accountant, event):
    adjacency = examples.adjacency_of(event)
    if adjacency is None:
        refused(accountant, event)
        return
    a, b, c = event * 2, Gaussian(3.0), Laplace(5.0).on(Poisson(0.1)) * 4
    forward, backward = Composed((a, b, c)), Composed((c, Composed((b, a))))
    assert forward == backward
    assert hash(forward) == hash(backward)
    first = accountant.epsilon(forward, delta=1e-7, adjacency=adjacency)
    assert first == accountant.epsilon(backward, delta=1e-7, adjacency=adjacency)


@asked
def test_json_round_trip_gives_the_same_answer_to_the_last_bit(accountant, event):
    run = event * 3 + Gaussian(0.1 + 0.2)
    if holds_code(event):
        with pytest.raises(NotSerialisable, match="register a mechanism class"):
            run.to_json()
        return
    back = renyi.from_json(run.to_json())
    assert back == run
    assert hash(back) == hash(run)
    assert back.to_json() == run.to_json()
    adjacency = examples.adjacency_of(event)
    if adjacency is None:
        refused(accountant, event)
        return
    question = {"delta": 1e-7, "adjacency": adjacency}
    assert accountant.epsilon(back, **question) == accountant.epsilon(run, **question)


@asked
def test_dearer_with_every_step_and_with_smaller_delta(accountant, event):
    for relation in relations_for(accountant, event):

        def epsilon(count, delta, relation=relation):
            return accountant.answer(Repeated(event, count).canonical(), EpsilonAt(delta), (relation,)).interval

        by_count = [epsilon(count, 1e-6) for count in examples.some((0, 1, 2, 10, 1000), 2)]
        by_delta = [epsilon(10, delta) for delta in examples.some((0.5, 1e-2, 1e-6, 1e-100, 1e-300, 0.0), 2)]
        assert by_count[0].upper == 0.0
        for cheap, dear in (*itertools.pairwise(by_count), *itertools.pairwise(by_delta)):
            not_dearer(accountant, cheap, dear)


@asked
def test_delta_falls_with_epsilon_and_inverts_it(accountant, event):
    for relation in relations_for(accountant, event):
        run = Repeated(event, 4).canonical()
        levels = examples.some((0.0, 0.1, 1.0, 5.0, 50.0), 2)
        values = [accountant.answer(run, DeltaAt(epsilon), (relation,)).interval for epsilon in levels]
        assert all(0.0 <= value.lower <= value.upper <= 1.0 for value in values), values
        for dear, cheap in itertools.pairwise(values):
            not_dearer(accountant, cheap, dear)
        epsilon = accountant.answer(run, EpsilonAt(1e-4), (relation,)).interval.upper
        back = accountant.answer(run, DeltaAt(epsilon), (relation,)).interval.upper
        assert back <= 1e-4 * (1 + max(1e-6, 10 * examples.SLACK[accountant]))


@accountants
@pytest.mark.parametrize("mechanism", examples.MECHANISMS_USED, ids=examples.label)
def test_monotone_in_the_parameters_that_a_mechanism_declares(accountant, mechanism):
    for name, trend in mechanism.trends().items():
        value = getattr(mechanism, name)
        low, high = max(trend.low, value * 0.9), min(trend.high, value * 1.1)
        if not low < high:
            continue
        cheap, dear = (low, high) if trend.rising else (high, low)
        for sampling in (None, *examples.samplings_for(mechanism)):
            costs = []
            adjacency = examples.adjacency_of(mechanism if sampling is None else mechanism.on(sampling))
            if adjacency is None:
                continue
            for parameter in (cheap, dear):
                event = dataclasses.replace(mechanism, **{name: parameter})
                sampled = event if sampling is None else event.on(sampling)
                costs.append(accountant.epsilon(sampled * 10, delta=1e-6, adjacency=adjacency))
            not_dearer(accountant, *costs)


@accountants
@pytest.mark.parametrize("mechanism", examples.MECHANISMS_USED, ids=examples.label)
def test_monotone_in_the_parameters_that_a_sampling_declares(accountant, mechanism):
    for sampling in examples.samplings_for(mechanism):
        for name, trend in sampling.trends().items():
            value = getattr(sampling, name)
            more = value + max(value // 20, 1) if isinstance(value, int) else value * 1.05
            adjacency = examples.adjacency_of(mechanism.on(sampling))
            if adjacency is None:
                continue
            costs = [
                accountant.epsilon(
                    mechanism.on(dataclasses.replace(sampling, **{name: parameter})) * 10,
                    delta=1e-6,
                    adjacency=adjacency,
                )
                for parameter in ((value, more) if trend.rising else (more, value))
            ]
            not_dearer(accountant, *costs)


@accountants
@pytest.mark.parametrize("mechanism", examples.MECHANISMS_USED, ids=examples.label)
def test_rate_one_is_no_sampling_and_rate_zero_is_free(accountant, mechanism):
    for adjacency in Adjacency:
        try:
            plain = accountant.epsilon(mechanism * 3, delta=1e-6, adjacency=adjacency)
        except UnsupportedError:
            continue
        assert accountant.epsilon(mechanism.on(Poisson(1.0)) * 3, delta=1e-6, adjacency=adjacency) == plain
        assert accountant.epsilon(mechanism.on(Poisson(0.0)) * 3, delta=1e-6, adjacency=adjacency).upper == 0.0


@each(examples.EVENTS)
def test_curve_never_falls_and_its_log_moment_is_convex_where_exact(event):
    orders = np.array([1.0, 1.0 + 1e-9, 1.1, 1.5, 2.0, 2.7, 4.0, 9.0, 33.0, 200.0, 1e4, 1e6])
    for relation, curve in relations_of(event):
        values = curve(orders)
        assert (values >= 0).all()
        assert (values[1:] >= values[:-1] * (1 - 1e-9)).all()
        assert (values <= curve.limit).all()
        if dominating_pair(event, relation) is None or curve.kinked:
            continue  # a bound, which is the least of several convex ones
        finite = np.isfinite(values) & (orders < 100)
        t = orders[finite] - 1
        moment = t * values[finite]
        slopes = np.diff(moment) / np.diff(t)
        assert (np.diff(slopes) >= -1e-6 * np.abs(slopes[1:]) - 1e-12).all()


@each(examples.EVENTS)
def test_a_curve_that_claims_to_cover_the_opposite_relation_does(event):
    for relation, curve in relations_of(event):
        if curve.covers_opposite:
            opposite = renyi_curve(event.canonical(), relation.opposite)
            assert (opposite(ORDERS) <= curve(ORDERS) * (1 + 1e-11)).all()


@each([event for event in examples.EVENTS if isinstance(event, (Mechanism, Sampled))])
def test_curve_is_the_quadrature_of_the_pair(event):
    """Every f-divergence is an integral of hockey sticks, so the profile alone determines the curve.

    e^((a-1) D) - 1 = a (a-1) * integral over s > 0 of e^((a-1)s) H(P||Q; s) + e^(-as) H(Q||P; s)
    (Sason & Verdu 2016, arXiv:1508.00335, Proposition 3).
    """
    checked = 0
    for relation, curve in relations_of(event):
        pair = dominating_pair(event, relation)
        if pair is None or curve.mass > 0.0:
            continue  # nothing to compare: there is no profile, or the curve leaves a failure mass out
        end = where_it_ends(pair)
        edges = np.unique(
            np.concatenate([np.linspace(0, 1, 400), np.arange(0.0, end, 0.17), kinks(pair), [max(end, 1.0)]])
        )
        s, weight = on_panels(edges, 12)
        forward, backward = profiles(pair, s)
        for alpha in (1.0, 1.5, 3.0, 6.0):
            with np.errstate(under="ignore"):
                total = np.sum(weight * (np.exp((alpha - 1) * s + forward) + np.exp(backward - alpha * s)))
            expected = total if alpha == 1.0 else math.log1p(alpha * (alpha - 1) * total) / (alpha - 1)
            if pair.attained:
                numerical = "FromDensities" in repr(event)
                assert curve.at(alpha) == pytest.approx(expected, rel=2e-5 if numerical else 1e-9)
            elif pair.largest_order > 0.0:  # without a law the curve comes from the inner curves
                assert curve.at(alpha) <= expected * (1 + (1e-9 if pair.finite else 1e-3))
            checked += 1
    assert (
        checked
        or not any(dominating_pair(event, relation) for relation, _ in relations_of(event))
        or any(curve.mass > 0.0 for _, curve in relations_of(event))
    )


def profiles(pair, s):
    return pair.log_profile(s), pair.reversed().log_profile(s)


def where_it_ends(pair):
    """Beyond which the integrand of order 6 is below e^-60."""
    s = np.linspace(0.0, 260.0, 131)
    forward, backward = profiles(pair, s)
    matter = np.flatnonzero(np.maximum(5.0 * s + forward, backward - s) > -60.0)
    return s[min(matter[-1] + 1, s.size - 1)] if matter.size else 0.0


def kinks(pair):
    """Where a profile is not smooth: the losses that have mass of their own, mixed or left alone by a sampling."""
    base, rate = getattr(pair, "base", pair), getattr(pair, "rate", 1.0)
    losses = [base.max_loss, -base.reversed().max_loss, *getattr(base, "losses", ())]
    if hasattr(base, "shift"):
        losses += [(2 * x - base.shift) * base.shift / (2 * base.scale**2) for x in range(-300, 301)]
    finite = np.array([loss for loss in losses if abs(loss) < 260])
    points = np.concatenate(
        [np.abs(finite), np.abs(log_mixed(finite, rate)), [pair.max_loss, pair.reversed().max_loss]]
    )
    return points[(points > 0) & (points < 260)]


def test_the_registry_fills_the_contracts():
    used = {type(m).__name__ for m in examples.MECHANISMS_USED}
    assert {"Gaussian", "Laplace", "RandomizedResponse", "Lopsided", "CurveOnly"} <= used
    assert {type(s).__name__ for s in examples.SAMPLINGS_USED} == {SAMPLINGS.get(n).__name__ for n in SAMPLINGS.names()}
