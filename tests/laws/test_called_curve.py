"""Curves given as functions: a textbook formula is rounding noise next to order 1, and still answered above the truth."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

import renyi
from renyi import FromDensities, FromRenyi, InvalidInput, RandomizedResponse, Rdp
from renyi.composing.event_laws import renyi_curve
from renyi.laws.curves.called import SMALLEST_EXCESS
from renyi.laws.relation import Relation


def textbook(p, q):
    """The larger divergence of the two directions by sums of powers, where those are numbers."""
    p, q = np.array(p), np.array(q)

    def divergence(order):
        if order == math.inf:
            return np.max(np.abs(np.log(p / q)))
        with np.errstate(all="ignore"):
            sums = [np.sum(a**order * b ** (1 - order)) for a, b in ((p, q), (q, p))]
            value = np.max(np.log(sums)) / (order - 1)
        return math.inf if math.isnan(value) else value

    return divergence


def by_logarithms(p, q):
    """The same by ``logsumexp``, clamped at 0 as people do it."""
    p, q = np.log(p), np.log(q)

    def divergence(order):
        if order == math.inf:
            return np.max(np.abs(p - q))
        return max(0.0, max(logsumexp(order * a + (1 - order) * b) for a, b in ((p, q), (q, p))) / (order - 1))

    return divergence


def near(excess):
    return (0.5 + excess, 0.5 - excess), (0.5 - excess, 0.5 + excess)


def rare(mass, loss):
    return (mass * math.exp(loss), 1 - mass * math.exp(loss)), (mass, 1 - mass)


PAIRS = [
    *(near(excess) for excess in (1e-3, 2.345e-5, 1e-7, 3e-10, 0.2)),
    *(rare(*given) for given in ((1e-9, 3.0), (1e-12, 8.0), (1e-5, 0.1))),
    ((0.2, 0.3, 0.5), (0.2 + 1e-6, 0.3 - 3e-6, 0.5 + 2e-6)),
]


def delta_of(pair, epsilon):
    """The larger hockey-stick divergence, by its definition."""
    return max(
        math.fsum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(*way, strict=True)) for way in (pair, pair[::-1])
    )


@pytest.mark.parametrize("formula", [textbook, by_logarithms])
@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_a_textbook_formula_is_never_answered_below_the_truth(pair, formula):
    run = FromRenyi(formula(*pair))
    total_variation = delta_of(pair, 0.0)
    for epsilon in (0.0, 1e-3 * total_variation, total_variation / 3):
        assert renyi.delta(run, epsilon=epsilon) >= delta_of(pair, epsilon) * (1 - 1e-14)
    assert renyi.divergence(run, order=1.0) >= math.fsum(
        a * math.log1p((a - b) / b) for a, b in zip(*pair, strict=True)
    ) * (1 - 1e-12)


def test_randomized_response_by_its_formula_is_close_too():
    pair = near(1e-3)
    run = FromRenyi(textbook(*pair))
    assert renyi.delta(run, epsilon=0.0) == pytest.approx(2e-3, rel=1e-5)
    assert renyi.risk(run).advantage.upper == pytest.approx(2e-3, rel=1e-5)
    assert renyi.risk(run).advantage.upper >= 2e-3
    hundred = renyi.delta(RandomizedResponse(0.501) * 100, epsilon=0.0)
    assert hundred * (1 - 1e-12) <= renyi.delta(run * 100, epsilon=0.0) <= 1.3 * hundred


CLOSE = {
    "gaussian": lambda order: 0.02 * order,
    "tiny gaussian": lambda order: 1e-14 * order,
    "pure": lambda order: min(0.25, 0.03125 * order),
    "sampled": renyi_curve(renyi.Gaussian(1.0).on(renyi.Poisson(1e-3)), Relation.REMOVE).at,
    "randomized response": RandomizedResponse(0.501).renyi(Relation.REMOVE).at,
}


@pytest.mark.parametrize("function", CLOSE.values(), ids=CLOSE)
def test_what_keeps_its_digits_is_raised_by_next_to_nothing(function):
    orders = np.array([1.0, 1.0 + 1e-9, 1.0 + 1e-6, 1.001, 1.5, 2.0, 30.0, 1e4])
    truth = np.array([function(order) for order in orders])
    value = renyi.divergence(FromRenyi(function), order=orders)
    assert np.all(value >= truth)
    assert value == pytest.approx(truth, rel=1.0e-6, abs=0.0)
    assert value[4:] == pytest.approx(truth[4:], rel=1e-13, abs=0.0)


def test_a_constant_error_of_the_moment_is_seen():
    """As of a quadrature that misses 1e-9 of the mass: the divergences near order 1 would be negative."""

    def divergence(order):
        return 1e-4 * order - 1e-9 / (order - 1) if order < math.inf else math.inf

    orders = np.array([1.0, 1 + 1e-6, 1 + 1e-5, 1.01, 2.0])
    value = renyi.divergence(FromRenyi(divergence), order=orders)
    assert np.all(value >= 1e-4 * orders)
    assert value[-1] <= 2e-4 + 1e-7


def test_a_function_is_asked_seldom_and_not_next_to_order_1():
    asked = []

    def divergence(order):
        asked.append(order)
        return 0.02 * order

    run = FromRenyi(divergence)
    answers = renyi.delta(run, epsilon=0.0), renyi.epsilon(run, delta=1e-6), Rdp().epsilon(run, delta=1e-6)
    assert all(answers)
    assert min(asked) == 1 + SMALLEST_EXCESS
    finite = [order for order in asked if order < math.inf]
    assert len(set(finite)) == len(finite) < 700
    assert any("not asked closer to 1" in text for text in renyi.guarantee(run, delta=1e-6).assumptions)


def _overflows(order):
    return math.log(0.75**order * 0.25 ** (1 - order) + 0.25**order * 0.75 ** (1 - order)) / (order - 1)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda order: 1 / 0, "raised ZeroDivisionError: division by zero at order inf"),
        (
            lambda order: 1 / 0 if order < math.inf else 1.0,
            r"raised ZeroDivisionError: division by zero at order 1\.0000",
        ),
        (_overflows, "gave nan, .* at order inf.*largest privacy loss"),
        (lambda order: math.log(3) if order == math.inf else _overflows(order), "raised OverflowError.*logsumexp"),
        (lambda order: order.missing, "raised AttributeError"),
        (lambda order: order if order < math.inf else None, "gave None"),
        (lambda order: 1j, "gave 1j"),
        (lambda order: np.complex128(1.0), "gave np.complex128"),
        (lambda order: "3", "gave '3'"),
        (lambda order: True, "gave True"),
        (lambda order: [order], r"gave \[inf\]"),
        (lambda order: np.full(3, 1.0), "gave array"),
        (lambda order: 10**400, "gave 1000"),
        (lambda order: math.nan, "gave nan"),
        (lambda order: order if order < 1e5 or order == math.inf else math.nan, "gave nan"),
        (lambda order: -1.0, "negative divergence, at order inf"),
        (lambda order: 1.0 if order == math.inf else -1.0, "negative divergence"),
    ],
)
def test_what_is_no_curve_says_where_and_what_to_write(function, said):
    for ask in (
        lambda run: renyi.epsilon(run, delta=1e-6),
        lambda run: renyi.delta(run * 3, epsilon=0.1),
        lambda run: renyi.divergence(run, order=[2.0, 1e6]),
    ):
        with pytest.raises(InvalidInput, match=said) as caught:
            ask(FromRenyi(function))
        assert "at every order above 1" in str(caught.value)


def test_an_error_of_ours_passes():
    def divergence(order):
        raise renyi.UnsupportedError("no theorem")

    with pytest.raises(renyi.UnsupportedError, match="no theorem"):
        renyi.epsilon(FromRenyi(divergence), delta=1e-6)


def test_other_kinds_of_numbers_are_numbers():
    for number in (1, np.float32(1.0), np.array(1.0), Fraction(1), Decimal(1)):
        assert renyi.divergence(FromRenyi(lambda order, number=number: number), order=2.0) == pytest.approx(1.0)


def test_orders_of_which_nothing_is_known_may_be_infinite():
    told = FromRenyi(lambda order: order / 2 if 1.001 < order < 500 else math.inf)
    assert renyi.epsilon(told, delta=1e-6) == pytest.approx(
        renyi.epsilon(FromRenyi(lambda order: order / 2), delta=1e-6)
    )


def test_what_cannot_be_hashed_is_refused_when_it_is_built():
    class Curve:
        __hash__ = None

        def __call__(self, order):
            return order

    with pytest.raises(InvalidInput, match="hashable"):
        FromRenyi(Curve())
    with pytest.raises(InvalidInput, match="hashable"):
        FromDensities(Curve(), Curve(), 0.0, 1.0)
    with pytest.raises(InvalidInput, match="table"):
        FromRenyi(((2.0, 10**400),))


@pytest.mark.parametrize(
    ("log_density", "said"),
    [
        (lambda x: 1 / 0, "raised ZeroDivisionError.*write it with NumPy"),
        (lambda x: math.exp(x), "raised TypeError"),
        (lambda x: 0.0 if x > 0 else 1.0, "raised ValueError"),
        (lambda x: 1j * x, "real numbers; got an array of type complex"),
        (lambda x: ["none"] * x.size, "real numbers; got an array of type <U4"),
        (lambda x: None, r"shape \(\)"),
    ],
)
def test_a_log_density_that_fails_is_an_error_that_says_so(log_density, said):
    with pytest.raises(InvalidInput, match=said):
        FromDensities(log_density, np.zeros_like, 0.0, 1.0, bounded=True)
