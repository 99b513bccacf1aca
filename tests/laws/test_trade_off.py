"""The trade-off curve against closed forms, brute force, and what is true of every such curve."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from renyi.laws.interval import Interval
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.trade_offs.trade_off import Profile, TradeOff, WorstTradeOff
from renyi.numerics.densities.convex_floor import convex_floor
from tests.attacks import Outcomes, exchanged, neyman_pearson


def gaussian_profile(mu: float) -> Callable[[float], Interval]:
    """The exact profile of N(mu, 1) against N(0, 1), with an interval of a relative 1e-12 around it."""
    pair = GaussianPair(1.0 / mu)

    def profile(epsilon: float) -> Interval:
        value = math.exp(float(pair.log_profile(np.array([epsilon]))[0]))
        return Interval(value * (1 - 1e-12), min(value * (1 + 1e-12), 1.0))

    return profile


def gaussian_curve(mu: float) -> TradeOff:
    return TradeOff(Profile(gaussian_profile(mu)))


def exact_profile(outcomes: Outcomes) -> Profile:
    """The profile of finitely many outcomes, exact but for its last digits."""

    def profile(epsilon: float) -> Interval:
        level = Fraction(math.exp(min(epsilon, 700.0)))
        value = float(sum((max(p - level * q, Fraction(0)) for p, q in outcomes), start=Fraction(0)))
        # A level that is off by one digit moves delta by that digit of Q's share, what is at a kink included.
        slack = 1e-15 * (
            value + float(sum(level * q for p, q in outcomes if p > (1 - Fraction(1, 10**14)) * level * q))
        )
        return Interval(max(value - slack, 0.0), min(value + slack, 1.0))

    largest = max(math.log(p / q) if q else math.inf for p, q in outcomes if p)
    return Profile(profile, lambda: max(largest, 0.0) * (1 + 1e-15))


def both_ways(outcomes: Outcomes) -> tuple[TradeOff, TradeOff]:
    """The curves of the two orders of a pair, which share their profiles."""
    one, other = exact_profile(outcomes), exact_profile(exchanged(outcomes))
    return TradeOff(one, other), TradeOff(other, one)


def lopsided(*weights: tuple[int, int]) -> Outcomes:
    """Outcomes with probabilities in these proportions."""
    p, q = (sum(column) for column in zip(*weights, strict=True))
    return [(Fraction(a, p), Fraction(b, q)) for a, b in weights]


def gaussian_rates(mu: float, fpr: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Phi(Phi^-1(fpr) + mu) and its complement, with 40 digits."""
    with mpmath.workdps(40):
        low, high = mpmath.mpf(-40), mpmath.mpf(40)
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (middle, high) if mpmath.ncdf(middle) < fpr else (low, middle)
        return mpmath.ncdf(low + mu), mpmath.ncdf(-low - mu)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("fpr", [1e-300, 1e-20, 1e-4, 0.01, 0.3, 0.45, 0.5, 0.7, 0.99, 1 - 1e-9])
def test_gaussian_closed_form(mu, fpr):
    curve = gaussian_curve(mu)
    found, missed = gaussian_rates(mu, fpr)
    tpr, fnr = curve.true_positive_rate(fpr), curve.false_negative_rate(fpr)
    assert tpr.lower <= found <= tpr.upper <= float(found) * (1 + 1e-10)
    assert fnr.lower <= missed <= fnr.upper
    assert tpr.lower >= float(found) * (1 - 1e-8)
    if missed > 1e-17:
        assert fnr.lower >= float(missed) * (1 - 1e-6) - 1e-16


@settings(max_examples=60, deadline=None)
@given(st.floats(-2.0, 1.0), st.floats(-30.0, -0.001))
def test_gaussian_closed_form_anywhere(log_mu, log_fpr):
    mu, fpr = 10.0**log_mu, 10.0**log_fpr
    found, _ = gaussian_rates(mu, fpr)
    tpr = gaussian_curve(mu).true_positive_rate(fpr)
    assert tpr.lower <= found <= tpr.upper <= float(found) * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_every_curve_is_convex_falling_and_below_the_diagonal(mu):
    curve = gaussian_curve(mu)
    fpr = np.concatenate([[0.0], np.geomspace(1e-12, 0.1, 8), np.linspace(0.15, 1.0, 12)])
    f = np.array([curve.false_negative_rate(a).lower for a in fpr])
    assert f[0] == 1.0
    assert f[-1] == 0.0
    assert np.all(np.diff(f) <= 0)
    assert np.all(f <= 1 - fpr)
    slopes = np.diff(f) / np.diff(fpr)
    assert np.all(np.diff(slopes) >= -1e-6 * np.abs(slopes[1:]))


@pytest.mark.parametrize("fpr", [1e-9, 1e-3, 0.1, 0.3])
def test_the_curve_is_its_own_inverse(fpr):
    curve = gaussian_curve(1.5)
    assert curve.false_negative_rate(curve.false_negative_rate(fpr).lower).lower == pytest.approx(fpr, rel=1e-6)


def test_pure_dp_has_two_straight_pieces():
    """The profile of randomized response with e^epsilon = 3: delta = (3 - e^epsilon)/4."""
    curve = TradeOff(
        Profile(lambda e: Interval(max(3 - math.exp(e), 0) / 4, max(3 - math.exp(e), 0) / 4), lambda: math.log(3.0))
    )
    for fpr in (1e-300, 1e-9, 0.1, 0.25, 0.3, 0.9):
        expected = min(3 * fpr, 1 - (1 - fpr) / 3)
        assert curve.true_positive_rate(fpr).upper == pytest.approx(expected, rel=1e-12)
        assert curve.true_positive_rate(fpr).lower == pytest.approx(expected, rel=1e-9)
    assert curve.true_positive_rate(0.0) == Interval(0.0, 0.0)


def test_nothing_released_and_everything_released():
    nothing = TradeOff(Profile(lambda e: Interval(0.0, 0.0), lambda: 0.0))
    everything = TradeOff(Profile(lambda e: Interval(1.0, 1.0)))
    for fpr in (0.0, 1e-300, 0.2, 0.5, 0.8, 1.0):
        assert nothing.true_positive_rate(fpr).upper == pytest.approx(fpr, rel=1e-14)
        assert nothing.true_positive_rate(fpr).lower == pytest.approx(fpr, rel=1e-14)
        assert everything.false_negative_rate(fpr).lower == 0.0
        assert everything.true_positive_rate(fpr).lower == pytest.approx(1.0, rel=1e-14)
    assert nothing.advantage.upper == 0.0
    assert nothing.success(0.3).lower == pytest.approx(0.7) == nothing.success(0.3).upper
    assert everything.success(0.3).lower == pytest.approx(1.0)


def test_an_infinite_loss_is_found_without_any_false_alarm():
    """delta = 1e-3 at every epsilon beyond 1: whoever escapes is recognised for certain."""

    def profile(epsilon):
        value = 1e-3 + 0.999 * max(-math.expm1(min(epsilon - 1, 0.0)), 0.0) / (1 + math.exp(-1))
        return Interval(value, value)

    curve = TradeOff(Profile(profile))
    assert curve.true_positive_rate(0.0).upper == 1e-3
    assert curve.true_positive_rate(1e-300).lower == pytest.approx(1e-3, rel=1e-9)
    assert curve.true_positive_rate(1e-6).upper == pytest.approx(1e-3 + math.e * 1e-6, rel=1e-9)


def test_only_an_upper_profile_gives_only_an_upper_bound():
    exact = gaussian_curve(1.0)
    loose = TradeOff(Profile(lambda e: Interval(0.0, gaussian_profile(1.0)(e).upper)))
    for fpr in (1e-6, 0.01, 0.4, 0.9):
        assert loose.true_positive_rate(fpr).upper == pytest.approx(exact.true_positive_rate(fpr).upper, rel=1e-8)
        assert loose.true_positive_rate(fpr).lower == fpr
        assert loose.false_negative_rate(fpr).upper == pytest.approx(1 - fpr)


@pytest.mark.parametrize("prior", [0.0, 1e-9, 0.01, 0.3, 0.5, 0.7, 0.999, 1.0])
def test_success_is_the_best_point_of_the_curve(prior):
    curve = gaussian_curve(1.0)
    fpr = np.concatenate([np.geomspace(1e-12, 0.5, 120), 1 - np.geomspace(1e-12, 0.5, 120)])
    tpr = np.array([curve.true_positive_rate(a).upper for a in fpr])
    best = max(float(np.max(prior * tpr + (1 - prior) * (1 - fpr))), prior, 1 - prior)
    found = curve.success(prior)
    assert found.lower <= found.upper <= 1.0
    assert best <= found.upper + 1e-9
    assert found.upper == pytest.approx(best, rel=2e-3)


def test_many_rates_share_the_work():
    asked = []
    pair = GaussianPair(1.0)

    def profile(epsilon):
        asked.append(epsilon)
        value = math.exp(float(pair.log_profile(np.array([epsilon]))[0]))
        return Interval(value * (1 - 1e-12), value * (1 + 1e-12))

    curve = TradeOff(Profile(profile))
    rates = np.geomspace(1e-6, 0.3, 40)
    for rate in rates:
        curve.true_positive_rate(float(rate))
        curve.false_negative_rate(float(rate))
    assert len(asked) == len(set(asked)) <= 7 * len(rates)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=9, unique=True), st.floats(-1.0, 1.0), st.floats(0.0, 1e-3))
def test_the_floor_is_below_a_convex_function(places, centre, width):
    place = np.array(sorted(places))
    if np.min(np.diff(place)) < 1e-6:
        return

    def value(x):
        return np.abs(x - centre) + 0.3 * (x - centre) ** 2 + 1.0

    floor, _ = convex_floor(
        place, np.zeros(place.size), value(place) - width, value(place), left_end=True, right_end=True
    )
    fine = np.linspace(place[0], place[-1], 2001)
    assert floor <= np.min(value(fine)) + 1e-12


def test_the_floor_finds_a_kink_exactly():
    place, exact = np.array([0.0, 1.0, 3.0, 4.0]), np.zeros(4)
    value = np.abs(place - 2.0)
    floor = convex_floor(place, exact, value, value, left_end=True, right_end=True)
    assert floor == pytest.approx((0.0, 2.0), abs=1e-14)
    open_ended = convex_floor(place[:2], exact[:2], value[:2], value[:2], left_end=True, right_end=False)
    assert open_ended == (-math.inf, None)


def test_the_floor_survives_places_far_apart():
    """A kink at 1 between places up to e^700: lines from so far away are rounded beyond use, and must not be believed."""
    epsilon = np.array([-3.0, -2.0, 90.0, 120.0, 690.0])
    place = np.expm1(epsilon)
    spread = 2e-16 * (np.exp(epsilon) * np.abs(epsilon) + np.abs(place))
    value = 1.0 - np.minimum(place, 1.0) * 0.5 + 1e-12 * np.exp(epsilon)
    floor, _ = convex_floor(place, spread, value * (1 - 1e-15), value * (1 + 1e-15), left_end=True, right_end=False)
    assert floor <= 0.5


def test_rates_asked_before_do_not_matter():
    """Whatever is remembered from other rates, each interval holds: a kinked profile, asked in every order."""

    def profile(epsilon):
        x = math.exp(min(epsilon, 600.0))
        value = 0.12 + 0.3 * max(1 - x / 1e4, 0.0) + 0.4 * max(1 - x / 1e9, 0.0)
        return Interval(value * (1 - 1e-14), value * (1 + 1e-14))

    rates = [1e-300, 1e-12, 1e-7, 1e-3, 0.05]
    truth = {a: min(1.0, *(a * x + profile(math.log(x)).upper for x in (1.0, 1e4, 1e9))) for a in rates}
    for order in itertools.permutations(rates):
        curve = TradeOff(Profile(profile))
        for a in order:
            ends = curve.true_positive_rate(a)
            assert ends.lower <= truth[a] * (1 + 1e-12)
            assert ends.upper == pytest.approx(truth[a], rel=1e-8)


LOPSIDED = [
    lopsided((1, 9), (1, 1)),
    lopsided((3, 0), (4, 5), (1, 4), (0, 2)),
    lopsided((10**6, 1), (10**9, 10**9), (1, 10**5)),
    lopsided((1, 10**17), (10**18, 10**18)),
]


@pytest.mark.parametrize("outcomes", LOPSIDED)
@pytest.mark.parametrize("fpr", [0.0, 1e-12, 1e-4, 0.05, 0.3, 0.5, 0.88, 0.999, 1.0])
def test_each_order_of_a_lopsided_pair_has_the_curve_of_its_own_best_tests(outcomes, fpr):
    for curve, way in zip(both_ways(outcomes), (outcomes, exchanged(outcomes)), strict=True):
        best = neyman_pearson(way, Fraction(fpr))
        tpr, fnr = curve.true_positive_rate(fpr), curve.false_negative_rate(fpr)
        assert tpr.lower <= best <= tpr.upper
        assert fnr.lower <= 1 - best <= fnr.upper
        assert tpr.upper == pytest.approx(float(best), rel=1e-9)
        assert tpr.lower == pytest.approx(float(best), rel=1e-7)


WEIGHTS = st.one_of(st.integers(0, 9), st.integers(0, 60).map(lambda power: 2**power))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(WEIGHTS, WEIGHTS), min_size=2, max_size=6),
    st.lists(st.one_of(st.floats(1e-3, 0.999), st.floats(-12.0, -3.0).map(lambda x: 10.0**x)), min_size=1, max_size=3),
)
@example([(1, 0), (1, 1), (2**26, 2**32)], [1e-10])  # far from where a Gaussian of that advantage has its best line
def test_both_ends_hold_for_any_outcomes(weights, rates):
    if not all(sum(column) for column in zip(*weights, strict=True)):
        return
    outcomes = lopsided(*weights)
    curves = both_ways(outcomes)
    worst = WorstTradeOff(both_ways(outcomes))
    for fpr in rates:
        best = [neyman_pearson(way, Fraction(fpr)) for way in (outcomes, exchanged(outcomes))]
        for curve, truth in zip((*curves, worst), (*best, max(best)), strict=True):
            tpr, fnr = curve.true_positive_rate(fpr), curve.false_negative_rate(fpr)
            assert tpr.lower <= truth <= tpr.upper
            assert fnr.lower <= 1 - truth <= fnr.upper
            assert tpr.upper <= float(truth) * (1 + 1e-6) + 1e-13


@pytest.mark.parametrize("outcomes", LOPSIDED[:2])
def test_each_order_falls_is_convex_and_is_the_inverse_of_the_other(outcomes):
    fpr = np.linspace(0.0, 1.0, 31)
    for curve, mirror in itertools.permutations(both_ways(outcomes)):
        f = np.array([curve.false_negative_rate(float(a)).lower for a in fpr])
        assert np.all(np.diff(f) <= 1e-14)
        assert np.all(np.diff(f, 2) >= -1e-9)
        for a in (0.05, 0.2, 0.4):
            missed = curve.false_negative_rate(a).lower
            if 0.0 < missed < 1.0:
                assert mirror.false_negative_rate(missed).lower == pytest.approx(a, rel=1e-7)


def test_the_worst_of_two_orders_is_searched_for_once_where_one_lies_above():
    outcomes = lopsided((1, 9), (1, 1))
    alone, _ = both_ways(outcomes)
    worst = WorstTradeOff(both_ways(outcomes))
    assert worst.true_positive_rate(0.2) == alone.true_positive_rate(0.2)
    assert worst.true_positive_rate(0.2).upper == pytest.approx(5 / 9, rel=1e-10)
    assert worst.true_positive_rate(0.4).upper == pytest.approx(0.72, rel=1e-10)
    assert worst.advantage.upper == pytest.approx(0.4, rel=1e-12)


@pytest.mark.parametrize("prior", [0.01, 0.2, 0.5, 0.8, 0.99])
def test_success_of_each_order_is_that_of_the_likelier_guess(prior):
    outcomes = LOPSIDED[1]
    chance = Fraction(prior)
    for curve, way in zip(both_ways(outcomes), (outcomes, exchanged(outcomes)), strict=True):
        right = sum(max(chance * p, (1 - chance) * q) for p, q in way)
        assert curve.success(prior).lower <= right <= curve.success(prior).upper
        assert curve.success(prior).upper == pytest.approx(float(right), rel=1e-13)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("fpr", [1e-5, 0.01, 0.3, 0.9])
def test_a_rate_from_above_is_close_where_it_is_close_to_the_limit(mu, fpr):
    """Against the curve of a Gaussian: never below it, within 1e-9 at the limit, within a share of the distance elsewhere."""
    truth = float(ndtr(ndtri(fpr) + mu))
    for limit, slack in (
        (truth, 1e-9 * truth),
        (0.5 * (1.0 + truth), 2e-3 * (1.0 - truth)),
        (fpr, 2e-3 * (truth - fpr)),
    ):
        heading = None
        for _ in range(2):  # the second search begins where the first one ended
            rate, heading = WorstTradeOff((gaussian_curve(mu),)).rate_from_above(fpr, limit, heading)
            assert truth * (1.0 - 1e-12) <= rate <= truth + slack + 1e-9 * truth


@pytest.mark.parametrize("far", [0.2, 0.9, 1.1, 4.0])
@pytest.mark.parametrize("fpr", [1e-5, 0.01, 0.3])
def test_a_rate_that_is_far_off_is_bounded_from_a_poor_guess(fpr, far):
    """A search that expects another curve than it finds, as when a parameter moves in strides."""
    mu = 1.3
    limit = float(ndtr(ndtri(fpr) + far * mu))
    truth = float(ndtr(ndtri(fpr) + mu))
    rate, _ = WorstTradeOff((gaussian_curve(mu),)).rate_from_above(fpr, limit)
    assert truth * (1.0 - 1e-12) <= rate <= truth + 2e-3 * abs(truth - limit)


def test_a_rate_from_above_is_asked_with_fewer_lines():
    def lines_asked(mu, ask):
        asked = []
        profile = Profile(lambda e: asked.append(e) or gaussian_profile(mu)(e))
        found = ask(WorstTradeOff((TradeOff(profile),)))
        return len(asked), found

    limit = float(ndtr(ndtri(0.01) + 1.0))
    close, _ = lines_asked(1.05, lambda curve: curve.true_positive_rate(0.01).upper)
    first, (_, heading) = lines_asked(1.05, lambda curve: curve.rate_from_above(0.01, limit))
    second, (found, _) = lines_asked(1.001, lambda curve: curve.rate_from_above(0.01, limit, heading))
    assert found == pytest.approx(float(ndtr(ndtri(0.01) + 1.001)), rel=1e-5)
    assert second <= first <= 4 < close


def test_a_curve_is_not_asked_where_another_exceeds_the_limit():
    """Of the two orders of a lopsided pair, the worse one is asked for all of them once it is known to be the worse."""
    asked = []

    def curve(mu):
        return TradeOff(Profile(lambda e: asked.append(mu) or gaussian_profile(mu)(e)))

    limit = float(ndtr(ndtri(0.1) + 1.2))
    rate, heading = WorstTradeOff((curve(1.0), curve(1.5))).rate_from_above(0.1, limit)
    assert rate == pytest.approx(float(ndtr(ndtri(0.1) + 1.5)), rel=1e-3)
    assert heading.first == 1
    asked.clear()
    again, _ = WorstTradeOff((curve(1.0), curve(1.5))).rate_from_above(0.1, limit, heading)
    assert again == pytest.approx(rate, rel=1e-3)
    assert set(asked) == {1.5}


def test_a_rate_from_above_at_a_kink_and_at_the_ends():
    """One line, of epsilon log 3, is the best over a range of rates; at 0 and 1 no line is needed."""
    level = math.log(3.0)
    kinked = WorstTradeOff(
        (TradeOff(Profile(lambda e: Interval(*(2 * [max(3 - math.exp(e), 0) / 4])), lambda: level)),)
    )
    for fpr in (0.01, 0.1, 0.2):
        assert kinked.rate_from_above(fpr, 3 * fpr)[0] == pytest.approx(3 * fpr, rel=1e-9)
    assert kinked.rate_from_above(0.0, 0.5)[0] == 0.0
    assert kinked.rate_from_above(1.0, 0.5)[0] == 1.0
