"""Counted errors, the rates behind them, and what those refute."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from renyi import InvalidInput
from renyi.training import Audit
from renyi.training.auditing.rates import PILOT, Rates, confidence_of, largest_factor, rate_upper
from tests.training.auditing.campaign import CLAIMS, ESTIMATED, LEAST, MOST, plan


@pytest.mark.parametrize(("count", "trials"), [(0, 40), (1, 40), (17, 1000), (999, 1000), (1000, 1000)])
@pytest.mark.parametrize("doubt", [0.05, 0.001])
def test_ends_are_those_of_clopper_and_pearson(count, trials, doubt):
    scipys = stats.binomtest(count, trials).proportion_ci(confidence_level=1.0 - 2.0 * doubt, method="exact")
    assert rate_upper(count, trials, doubt) == pytest.approx(scipys.high, rel=1e-12)


@pytest.mark.parametrize("doubt", [0.05, 0.001])
def test_an_end_lies_below_the_rate_no_more_often_than_is_said(doubt):
    """For every rate of a fine grid, all counts of thirty trials are enumerated."""
    counts = np.arange(31)
    ends = np.array([rate_upper(int(count), 30, doubt) for count in counts])
    rates = np.linspace(0.0, 1.0, 1001)
    wrong = [float(stats.binom.pmf(counts[ends < rate], 30, rate).sum()) for rate in rates]
    assert max(wrong) <= doubt * (1.0 + 1e-9)
    assert max(wrong) >= 0.9 * doubt


def test_the_threshold_is_chosen_on_trials_that_are_not_counted():
    generator = np.random.default_rng(1)
    inside, outside = generator.normal(2.0, 1.0, 500), generator.normal(0.0, 1.0, 500)
    found = Rates.counted("step", 1, inside, outside, 0.01)
    first = int(PILOT * 500)
    assert (found.present, found.absent) == (500 - first, 500 - first)
    assert found.missed == np.sum(inside[first:] < found.threshold)
    assert found.false_alarms == np.sum(outside[first:] >= found.threshold)
    assert 0.0 < found.threshold < 2.0
    turned = Rates.counted("step", 1, np.r_[inside[:first], -inside[first:]], outside, 0.01)
    assert turned.threshold == found.threshold


@pytest.mark.parametrize("distance", [0.5, 1.0])
def test_the_threshold_between_two_normal_laws_lies_near_their_middle(distance):
    """The best of all thresholds alone would stray twice as far: it is the best of these trials by chance."""
    generator = np.random.default_rng(2)
    strays = []
    for _ in range(200):
        inside, outside = generator.normal(distance, 1.0, 4_000), generator.normal(0.0, 1.0, 4_000)
        strays.append(Rates.counted("step", 1, inside, outside, 0.01).threshold - 0.5 * distance)
    assert np.sqrt(np.mean(np.square(strays))) < 0.45


@pytest.mark.parametrize("claim", CLAIMS)
def test_audits_with_the_trials_of_the_campaign_come_close_to_the_claim(claim):
    """Their trials are drawn from the normal laws that the release step has, a hundred times faster than it draws them."""
    claimed, generator = plan(claim, 1.0, 1), np.random.default_rng(3)
    pairs, noise, doubt = CLAIMS[claim] // 4, claimed.noise_at(0), 0.5 * (1.0 - ESTIMATED)
    for _ in range(20):
        outside, inside = generator.normal(0.0, noise, (pairs, 2)), generator.normal(1.0, noise, (pairs, 2))
        rates = (
            Rates.counted("step", 1, inside.ravel(), outside.ravel(), doubt),
            Rates.counted("difference", 2, inside.sum(1), outside.sum(1), doubt),
        )
        made = Audit(claimed, rates, ESTIMATED)
        assert LEAST <= made.epsilon_within_family() / made.claimed() <= MOST


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("ends", [(0.05, 0.3), (0.2, 0.2), (0.4, 0.45)])
def test_the_largest_factor_of_normal_noise_has_a_closed_form(sigma, ends):
    def curve(factor, fpr):
        return float(stats.norm.cdf(stats.norm.isf(fpr) - 1.0 / (sigma * factor)))

    fpr, fnr = ends
    wanted = 1.0 / (sigma * (stats.norm.isf(fpr) - stats.norm.ppf(fnr)))
    found = largest_factor(curve, ends)
    assert wanted <= found <= wanted * (1.0 + 2.0**-13)


def test_rates_at_which_blind_guessing_is_as_good_bound_no_noise():
    assert largest_factor(lambda factor, fpr: 0.5, (0.5, 0.6)) == math.inf
    assert largest_factor(lambda factor, fpr: 0.7, (0.2, 0.6)) == 2.0**-6


def test_an_attack_without_errors_shows_the_epsilon_of_its_number_of_trials():
    rates = Rates("step", 1, 0.5, 1000, 0, 1000, 0)
    end = 1.0 - 0.005 ** (1.0 / 1000)  # no error in a thousand trials
    assert rates.ends(0.01) == pytest.approx((end, end), rel=1e-12)
    assert rates.epsilon_lower(1e-5, 0.01) == pytest.approx(math.log((1.0 - end - 1e-5) / end), rel=1e-12)
    assert Rates("step", 1, 0.5, 1000, 500, 1000, 500).epsilon_lower(1e-5, 0.01) == 0.0


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0, 1.5, math.nan, "high", None])
def test_a_confidence_that_says_nothing_is_refused(value):
    with pytest.raises(InvalidInput, match="confidence"):
        confidence_of(value)
