"""Attack risk of events: against closed forms, against brute force over all outcomes, and between accountants."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import renyi
from renyi import (
    Adjacency,
    ApproximateDP,
    Exact,
    FinitePair,
    Gaussian,
    InvalidInput,
    Laplace,
    LossGrid,
    Poisson,
    RandomizedResponse,
    Rdp,
    UnsupportedError,
)
from renyi.composing.question import DeltaAt
from renyi.composing.steps import event_steps
from tests.attacks import exchanged, neyman_pearson, sampled_gaussian_tpr, worst_tpr


def responses(p: Fraction, rate: Fraction, steps: int) -> list[tuple[Fraction, Fraction]]:
    """Every outcome of ``steps`` randomized responses on Poisson samples, with the record and without it."""
    one = [(rate * p + (1 - rate) * (1 - p), 1 - p), (rate * (1 - p) + (1 - rate) * p, p)]
    return [
        (math.prod((pq[0] for pq in way), start=Fraction(1)), math.prod((pq[1] for pq in way), start=Fraction(1)))
        for way in itertools.product(one, repeat=steps)
    ]


FPR = [
    Fraction(1, 10**6),
    Fraction(1, 1000),
    Fraction(1, 100),
    Fraction(1, 10),
    Fraction(1, 4),
    Fraction(1, 2),
    Fraction(9, 10),
]


@pytest.mark.parametrize("p", [Fraction(9, 16), Fraction(3, 4), Fraction(15, 16)])
@pytest.mark.parametrize("steps", [1, 3, 8])
def test_randomized_response_against_every_outcome(p, steps):
    outcomes = responses(p, Fraction(1), steps)
    found = renyi.risk(RandomizedResponse(float(p)) * steps)
    for fpr in FPR:
        best = float(neyman_pearson(outcomes, Fraction(float(fpr))))
        tpr = found.true_positive_rate(float(fpr))
        assert tpr.lower * (1 - 1e-13) <= best <= tpr.upper
        assert tpr.upper == pytest.approx(best, rel=1e-10)
        assert tpr.lower == pytest.approx(best, rel=1e-9)
    for prior in (Fraction(1, 2), Fraction(1, 10), Fraction(4, 5)):
        right = float(sum(max(prior * p, (1 - prior) * q) for p, q in outcomes))
        assert found.success(float(prior)).upper == pytest.approx(right, rel=1e-12)
        assert found.success(float(prior)).upper >= right * (1 - 1e-15)
    total_variation = float(sum(abs(p - q) for p, q in outcomes) / 2)
    assert found.advantage.upper >= total_variation * (1 - 1e-15)
    assert found.advantage.upper == pytest.approx(total_variation, rel=1e-11)


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 8)])
def test_sampled_randomized_response_against_every_outcome(rate):
    """Where the two relations differ, the better of the two orders' best tests reaches the figure, and none does better."""
    p, steps = Fraction(7, 8), 5
    outcomes = responses(p, rate, steps)
    found = renyi.risk(RandomizedResponse(float(p)).on(Poisson(float(rate))) * steps)
    for fpr in FPR:
        best = worst_tpr(outcomes, float(fpr))
        tpr = found.true_positive_rate(float(fpr))
        assert tpr.lower * (1 - 1e-13) <= best <= tpr.upper * (1 + 1e-15)
        assert tpr.upper == pytest.approx(best, rel=1e-9)
        assert tpr.lower == pytest.approx(best, rel=1e-8)
        assert found.false_negative_rate(float(fpr)).lower == pytest.approx(1 - best, rel=1e-9)
    for prior in (Fraction(1, 2), Fraction(1, 10), Fraction(4, 5)):
        right = max(
            float(sum(max(prior * p, (1 - prior) * q) for p, q in way)) for way in (outcomes, exchanged(outcomes))
        )
        assert found.success(float(prior)).upper >= right * (1 - 1e-15)
        assert found.success(float(prior)).upper == pytest.approx(right, rel=1e-12)
        assert found.success(float(1 - prior)).upper == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(("fpr", "best"), [(0.2, 5 / 9), (0.3, 11 / 18), (0.4, 0.72)])
def test_two_outcomes_by_hand(fpr, best):
    """0.5 against 0.9 and 0.5 against 0.1: accuse by the second, or, the other way round, by the first."""
    found = renyi.risk(FinitePair((0.5, 0.5), (0.9, 0.1)))
    assert found.true_positive_rate(fpr).upper == pytest.approx(best, rel=1e-10)
    assert found.true_positive_rate(fpr).lower == pytest.approx(best, rel=1e-9)
    assert renyi.trade_off(FinitePair((0.5, 0.5), (0.9, 0.1)), fpr=fpr) == pytest.approx(1 - best, rel=1e-9)


LOPSIDED = [
    ((0.5, 0.5), (0.875, 0.125)),
    ((0.0, 1.0), (0.25, 0.75)),
    ((0.25, 0.0, 0.75), (0.5, 0.5, 0.0)),
    ((2.0**-20, 0.5, 0.5 - 2.0**-20), (2.0**-40, 2.0**-10, 1 - 2.0**-10 - 2.0**-40)),
    ((0.125, 0.125, 0.25, 0.5), (0.5, 0.375, 0.125, 0.0)),
]


@pytest.mark.parametrize("rate", [1.0, 0.25])
@pytest.mark.parametrize(("p", "q"), LOPSIDED)
def test_lopsided_pairs_against_every_test(p, q, rate):
    """Two steps of a pair that is not its own mirror image, some of its losses infinite."""
    share = Fraction(rate)
    one = [(share * Fraction(a) + (1 - share) * Fraction(b), Fraction(b)) for a, b in zip(p, q, strict=True)]
    outcomes = [(a * c, b * d) for (a, b), (c, d) in itertools.product(one, one)]
    event = FinitePair(p, q).on(Poisson(rate)) * 2 if rate < 1.0 else FinitePair(p, q) * 2
    found = renyi.risk(event)
    for fpr in (1e-9, 1e-3, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 0.999):
        best = worst_tpr(outcomes, fpr)
        tpr, fnr = found.true_positive_rate(fpr), found.false_negative_rate(fpr)
        assert tpr.lower * (1 - 1e-12) <= best <= tpr.upper * (1 + 1e-14)
        assert tpr.upper == pytest.approx(best, rel=1e-8)
        assert tpr.lower == pytest.approx(best, rel=1e-6)
        assert fnr.lower <= 1 - best + 1e-15
        assert fnr.upper >= 1 - best - 1e-15


@pytest.mark.parametrize(("noise", "rate"), [(0.5, 0.5), (1.0, 0.1), (2.0, 0.9), (0.3, 0.01)])
def test_the_sampled_gaussian_against_half_lines(noise, rate):
    found = renyi.risk(Gaussian(noise).on(Poisson(rate)))
    for fpr in (1e-6, 0.001, 0.05, 0.2, 0.3, 0.4, 0.6, 0.9):
        best = max(sampled_gaussian_tpr(noise, rate, fpr))
        tpr = found.true_positive_rate(fpr)
        assert tpr.lower * (1 - 1e-12) <= best <= tpr.upper * (1 + 1e-12)
        assert tpr.upper == pytest.approx(best, rel=1e-9)
        assert tpr.lower == pytest.approx(best, rel=1e-7)
    assert max(sampled_gaussian_tpr(0.5, 0.5, 0.3)) == pytest.approx(0.614987, abs=5e-7)


@pytest.mark.parametrize(
    "event", [Gaussian(0.5).on(Poisson(0.5)), RandomizedResponse(0.9).on(Poisson(0.25)) * 4], ids=repr
)
def test_the_smaller_of_two_curves_falls_and_is_told_by_both_names(event):
    """It need not be convex, but falls, starts below 1 - fpr, and is one minus the larger true-positive rate."""
    fpr = np.linspace(0.0, 1.0, 21)
    f = renyi.trade_off(event, fpr=fpr)
    assert np.all(np.diff(f) <= 0)
    assert np.all(f <= 1 - fpr)
    found = renyi.risk(event)
    assert [1 - found.true_positive_rate(float(a)).upper for a in fpr] == pytest.approx(list(f), abs=1e-14)


def test_what_costs_the_same_both_ways_round_is_asked_once():
    class Counting(Exact):
        asked = []

        def answer(self, event, question, relations):
            if isinstance(question, DeltaAt):
                self.asked.append((question.epsilon, relations))
            return super().answer(event, question, relations)

    event = Gaussian(1.0) * 3
    assert event_steps(event, renyi.Relation.ADD) == event_steps(event, renyi.Relation.REMOVE)
    assert renyi.trade_off(event, fpr=[0.01, 0.3, 0.9], accountant=Counting()).shape == (3,)
    assert all(relations == (renyi.Relation.REMOVE,) for epsilon, relations in Counting.asked if epsilon > 0.0)
    assert len(Counting.asked) <= 24


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("steps", [1, 9])
def test_gaussian_against_the_closed_form(noise, steps):
    mu = math.sqrt(steps) / noise
    found = renyi.risk(Gaussian(noise) * steps)
    for fpr in (1e-12, 1e-4, 0.01, 0.3, 0.5, 0.9):
        expected = float(ndtr(ndtri(fpr) + mu))
        assert found.true_positive_rate(fpr).upper >= expected * (1 - 1e-14)
        assert found.true_positive_rate(fpr).upper == pytest.approx(expected, rel=1e-10)
        assert found.true_positive_rate(fpr).lower == pytest.approx(expected, rel=1e-8)
    assert found.advantage.upper == pytest.approx(2 * float(ndtr(mu / 2)) - 1, rel=1e-10)
    assert found.success(0.5).upper == pytest.approx(float(ndtr(mu / 2)), rel=1e-10)


def test_replacing_one_record_doubles_the_separation():
    found = renyi.trade_off(Gaussian(2.0), fpr=0.01, adjacency=Adjacency.REPLACE_ONE)
    assert found == pytest.approx(1 - float(ndtr(ndtri(0.01) + 1.0)), rel=1e-9)
    assert found == pytest.approx(renyi.trade_off(Gaussian(1.0), fpr=0.01), rel=1e-9)


def test_the_curve_of_a_training_run_is_convex_and_of_the_shape_that_was_asked():
    run = Gaussian(1.1).on(Poisson(256 / 60_000)) * 14_063
    fpr = np.array([[0.0, 1e-6, 1e-3, 0.01], [0.1, 0.5, 0.9, 1.0]])
    f = renyi.trade_off(run, fpr=fpr)
    assert f.shape == fpr.shape
    flat, a = f.ravel(), fpr.ravel()
    assert np.all(np.diff(flat) <= 0)
    assert np.all(flat <= 1 - a)
    slopes = np.diff(flat) / np.diff(a)
    assert np.all(np.diff(slopes) >= -1e-6 * np.abs(slopes[1:]))
    assert isinstance(renyi.trade_off(run, fpr=0.01), float)
    assert renyi.trade_off(run, fpr=0.01) == pytest.approx(flat[3], rel=1e-9)
    assert 1 - flat[3] == pytest.approx(0.0402064532, rel=1e-8)


@pytest.mark.parametrize(
    "event",
    [Gaussian(2.0).on(Poisson(0.1)) * 20, Laplace(3.0) * 2, RandomizedResponse(0.7) * 4 + Gaussian(3.0)],
    ids=repr,
)
def test_every_accountant_bounds_the_same_attackers(event):
    exact, grid, moments = (renyi.risk(event, accountant=a) for a in (Exact(), LossGrid(), Rdp()))
    for fpr in (1e-6, 0.01, 0.3, 0.8):
        ends = exact.true_positive_rate(fpr)
        assert ends.lower <= grid.true_positive_rate(fpr).upper * (1 + 1e-12)
        assert grid.true_positive_rate(fpr).lower <= ends.upper * (1 + 1e-12)
        assert ends.lower <= moments.true_positive_rate(fpr).upper
        assert moments.true_positive_rate(fpr).lower == fpr
    assert exact.advantage.lower <= moments.advantage.upper


def test_edges():
    nothing, everything = Gaussian(1.0) * 0, Gaussian(0.0)
    some = ApproximateDP(1.0, 1e-3)
    for fpr in (0.0, 1e-300, 0.01, 0.5, 1.0):
        assert renyi.trade_off(nothing, fpr=fpr) == pytest.approx(1 - fpr, rel=1e-14)
        assert renyi.trade_off(everything, fpr=fpr) == 0.0
    assert renyi.risk(some).true_positive_rate(0.0).upper == pytest.approx(1e-3)
    assert renyi.risk(some).true_positive_rate(0.0).lower == pytest.approx(1e-3)
    assert renyi.risk(Laplace(1.0)).true_positive_rate(0.0).upper == 0.0
    assert renyi.risk(Laplace(1.0)).true_positive_rate(1e-300).upper == pytest.approx(math.e * 1e-300, rel=1e-9)
    assert renyi.risk(Gaussian(1.0)).true_positive_rate(0.0).upper <= 5e-324


def test_sentences_and_machines():
    found = renyi.risk(RandomizedResponse(0.75))
    assert "accepts 1 % false alarms finds at most 3.0000" in str(found)
    data = found.to_dict(fpr=(0.01, 0.1), prior=(0.5,))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [row["fpr"] for row in data["rates"]] == [0.01, 0.1]
    assert data["rates"][1]["tpr"]["upper"] == pytest.approx(0.3)
    assert data["relation"] in ("remove", "add")


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "0.1", None, True], ids=repr)
def test_rates_outside_the_domain_are_refused(value):
    found = renyi.risk(Gaussian(1.0))
    for ask in (
        lambda: renyi.trade_off(Gaussian(1.0), fpr=value),
        lambda: found.true_positive_rate(value),
        lambda: found.false_negative_rate(value),
        lambda: found.success(value),
    ):
        with pytest.raises(InvalidInput, match=r"fpr|prior"):
            ask()


def test_what_is_not_an_event_or_has_no_theorem_is_refused():
    with pytest.raises(InvalidInput, match="event"):
        renyi.risk(1.0)
    with pytest.raises(InvalidInput, match="accountant"):
        renyi.trade_off(Gaussian(1.0), fpr=0.1, accountant="rdp")
    with pytest.raises(UnsupportedError):
        renyi.risk(renyi.PureDP(1.0), adjacency=Adjacency.REPLACE_ONE)


def test_of_a_run_that_releases_nothing_half_are_guessed_and_no_more():
    found = renyi.risk(Gaussian(1.1).on(Poisson(0.01)) * 0)
    assert found.success(0.5) == renyi.Interval(0.5, 0.5)
    assert found.success(0.9) == renyi.Interval(0.9, 0.9)
    assert found.success(0.1).upper >= 0.9
    assert "for at most 50 % of candidates" in str(found)


def test_a_notebook_shows_the_sentences():
    found = renyi.risk(Gaussian(2.0))
    assert found._repr_html_().count("<li>") == len(found.sentences())
    assert "finds at most 3.38" in found._repr_html_()
