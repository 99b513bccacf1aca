"""Zhu & Wang (2019), result by result: 30 digits, the order of the bounds, the lemmas on finite pairs, the conditions."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renyi import InvalidInput, RandomizedResponse, Relation
from renyi.laws.pairs.gaussian import gaussian_divergence
from renyi.mechanisms.laplace import laplace_divergence
from renyi.papers.zhu_wang.zhu_wang import (
    lemma_9,
    lemma_13,
    lemma_14,
    lemma_15,
    lemma_16,
    theorem_5,
    theorem_6,
    theorem_8,
    theorem_11,
    theorem_11_appendix,
    theorem_20,
)
from renyi.sampling.poisson.amplified import lemma_4
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_add, sampled_gaussian_remove
from tests.golden import Case, golden

TAU_BOUNDS = {"tau_main": theorem_11, "tau_appendix": theorem_11_appendix, "tau_general_factor3": theorem_20}
BOUNDS = (theorem_5, theorem_6, partial(theorem_8, condition_holds=True))


def curve_of(case: Case):
    kind, value = case.params["mechanism"], case.params["param"]
    if kind == "gaussian":
        return partial(gaussian_divergence, noise=value)
    if kind == "laplace":
        return partial(laplace_divergence, scale=value)
    return RandomizedResponse(value).pair(Relation.REMOVE).ratio_law(1000.0).divergence


def half(ell):
    """The Gaussian curve for noise 1."""
    return ell / 2.0


# The golden values.


@pytest.mark.parametrize("case", golden("poisson_general_factor3"), ids=repr)
def test_theorem_5(case):
    assert case.close(theorem_5(case.params["alpha"], rate=case.params["q"], curve=curve_of(case)))


@pytest.mark.parametrize("case", golden("poisson_tight"), ids=repr)
def test_theorems_6_and_8(case):
    order, rate, curve = case.params["alpha"], case.params["q"], curve_of(case)
    assert case.close(theorem_6(order, rate=rate, curve=curve))
    assert theorem_8(order, rate=rate, curve=curve, condition_holds=True) == theorem_6(order, rate=rate, curve=curve)


@pytest.mark.parametrize("case", golden(*TAU_BOUNDS), ids=repr)
def test_theorems_11_and_20(case):
    bound = TAU_BOUNDS[case.formula]
    assert case.close(bound(case.params["alpha"], rate=case.params["q"], tau=case.params["tau"], curve=curve_of(case)))


@pytest.mark.parametrize("case", golden("amplified_eps"), ids=repr)
def test_lemma_4(case):
    epsilon, delta = lemma_4(epsilon=case.params["eps"], delta=1e-3, rate=case.params["gamma"])
    assert case.close(epsilon)
    assert delta == case.params["gamma"] * 1e-3


# The signed forms that are printed, with hundreds of digits.


def printed_theorem_11(order, rate, tau, curve, *, appendix):
    from mpmath import exp, log, mp, mpf

    with mp.workdps(900):
        q = mpf(rate)
        eps = lambda ell: mpf(float(curve(np.array([float(ell)]))[0]))  # noqa: E731
        weight = lambda ell: math.comb(order, ell) * q**ell * (1 - q) ** (order - ell)  # noqa: E731
        e = eps(order if appendix else order - tau)
        total = (1 - q) ** order * (1 - exp(-e)) + exp(-e) * (1 - q + q * exp(e)) ** order
        for ell in range(2, tau + 1):
            total -= weight(ell) * (exp((ell - 1) * e) - exp((ell - 1) * eps(ell)))
        if not appendix:
            for ell in range(order - tau + 1, order + 1):
                total += weight(ell) * (exp((ell - 1) * eps(ell)) - exp((ell - 1) * e))
        return float(log(total) / (order - 1))


@pytest.mark.parametrize("rate", [1e-9, 1e-4, 0.01, 0.3, 0.999])
@pytest.mark.parametrize(("order", "tau"), [(4, 2), (40, 3), (300, 20), (1000, 7), (3000, 12)])
def test_the_positive_form_has_the_value_of_the_printed_one(order, tau, rate):
    curves = [partial(gaussian_divergence, noise=noise) for noise in (0.5, 8.0, 300.0)]
    curves += [partial(laplace_divergence, scale=scale) for scale in (0.2, 50.0)]
    curves.append(lambda ell: 1e-14 * ell)
    for curve in curves:
        for bound, appendix in ((theorem_11, False), (theorem_11_appendix, True)):
            computed = bound(order, rate=rate, tau=tau, curve=curve)
            printed = printed_theorem_11(order, rate, tau, curve, appendix=appendix)
            assert computed == pytest.approx(printed, rel=5e-13)


# The order of the bounds.


@pytest.mark.parametrize("rate", [1e-8, 1e-3, 0.2, 0.9, 1 - 1e-6])
@pytest.mark.parametrize("noise", [0.4, 1.0, 5.0, 80.0])
def test_each_simplification_costs_something(noise, rate):
    """exact <= 3.1 <= 3.2 <= 4.3 and 3.1 <= 4.1 <= 4.2, where for Gaussian noise the exact value is 3.1."""
    curve, slack = partial(gaussian_divergence, noise=noise), 1 + 1e-12
    for order, tau in ((4, 2), (9, 4), (10, 5), (30, 2), (30, 10), (400, 20), (400, 199)):
        sixth = theorem_6(order, rate=rate, curve=curve)
        fifth = theorem_5(order, rate=rate, curve=curve)
        main = theorem_11(order, rate=rate, tau=tau, curve=curve)
        exact = np.array([float(order)])
        assert sampled_gaussian_add(exact, rate=rate, noise=noise)[0] <= sixth * slack
        assert sampled_gaussian_remove(exact, rate=rate, noise=noise)[0] == pytest.approx(sixth, rel=2e-12)
        assert sixth <= fifth * slack
        assert fifth <= sixth + math.log(3) / (order - 1) * slack
        assert fifth <= theorem_20(order, rate=rate, tau=tau, curve=curve) * slack
        assert sixth <= main * slack
        assert main <= theorem_11_appendix(order, rate=rate, tau=tau, curve=curve) * slack
        if order - 2 * tau <= 1:
            assert main == pytest.approx(sixth, rel=1e-12)
        assert theorem_20(order, rate=rate, tau=order, curve=curve) == pytest.approx(fifth, rel=1e-12)


@pytest.mark.parametrize(
    ("bound", "top", "calls"), [(theorem_11, 10, 20), (theorem_11_appendix, 0, 10), (theorem_20, 0, 10)]
)
def test_the_curve_is_asked_at_few_orders(bound, top, calls):
    asked: list[float] = []

    def curve(ell):
        asked.extend(ell)
        return half(ell)

    bound(1000, rate=0.01, tau=10, curve=curve)
    assert asked == [*range(2, 11), *range(1000 - top, 1001)]
    assert len(asked) == calls


@pytest.mark.parametrize("order", [2, 3, 7, 200])
def test_the_ends_of_the_rate(order):
    for bound in BOUNDS:
        assert bound(order, rate=0.0, curve=half) == 0.0
    assert theorem_6(order, rate=1.0, curve=half) == order / 2
    assert theorem_8(order, rate=1, curve=half, condition_holds=True) == order / 2
    factor = 0.0 if order == 2 else math.log(3)
    assert theorem_5(order, rate=1.0, curve=half) == pytest.approx(order / 2 + factor / (order - 1), rel=1e-15)
    assert theorem_5(order, rate=1 - 2**-53, curve=half) == pytest.approx(theorem_5(order, rate=1.0, curve=half))
    if order >= 4:
        for bound in (theorem_11, theorem_11_appendix):
            assert bound(order, rate=0, tau=2, curve=half) == 0.0
            assert bound(order, rate=1.0, tau=2, curve=half) == order / 2
        assert theorem_20(order, rate=1.0, tau=2, curve=half) == theorem_5(order, rate=1.0, curve=half)
    assert lemma_4(epsilon=2.0, delta=0.1, rate=0.0) == (0.0, 0.0)
    assert lemma_4(epsilon=2.0, delta=0.1, rate=1.0) == (2.0, 0.1)


def test_curves_that_reveal_nothing_or_everything():
    for bound in (*BOUNDS, partial(theorem_11, tau=3), partial(theorem_11_appendix, tau=3), partial(theorem_20, tau=3)):
        assert bound(200, rate=0.1, curve=lambda ell: np.full(ell.shape, math.inf)) == math.inf
        nothing = bound(200, rate=0.1, curve=np.zeros_like)
        if bound is theorem_5 or getattr(bound, "func", None) is theorem_20:
            assert 0 < nothing <= math.log(3) / 199  # the factor stays
        else:
            assert nothing == 0.0
        assert 0 < bound(6, rate=1e-200, curve=half) < 1e-300  # what underflows is rounded up


def test_lemma_4_without_overflow():
    epsilon, delta = lemma_4(epsilon=2000.0, delta=0.0, rate=0.5)
    assert (epsilon, delta) == (pytest.approx(2000.0 + math.log(0.5), rel=1e-14), 0.0)
    assert lemma_4(epsilon=1e-300, delta=0.0, rate=0.5).epsilon == pytest.approx(5e-301, rel=1e-12)


# The lemmas, on finite pairs.

laws = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6)


@st.composite
def pairs(draw):
    first, second = draw(laws), draw(laws)
    size = min(len(first), len(second))
    p, q = np.array(first[:size]), np.array(second[:size])
    return p / p.sum(), q / q.sum()


def scale(order, p, q):
    """The size of what cancels in the identities."""
    return float(np.sum((p + q) * (1 + p / q) ** order))


@settings(max_examples=200, deadline=None)
@given(pairs(), st.integers(1, 12))
def test_the_identities(pair, order):
    p, q = pair
    for lemma in (lemma_9, lemma_13):
        left, right = lemma(order, p=p, q=q)
        assert abs(left - right) <= 1e-13 * 2**order * scale(order, p, q)


@settings(max_examples=200, deadline=None)
@given(pairs(), st.integers(2, 12))
def test_the_inequalities(pair, order):
    p, q = pair
    for lemma in (lemma_14, lemma_15):
        left, right = lemma(order, p=p, q=q)
        assert left <= right * (1 + 1e-12)
    if order % 2 == 1:
        left, right = lemma_16(order, p=p, q=q)
        assert left >= right - 1e-13 * scale(order, p, q)


def test_the_lemmas_by_hand():
    p, q = (0.5, 0.5), (0.25, 0.75)  # p/q = 2, 2/3
    assert lemma_9(2, p=p, q=q) == pytest.approx((1 / 3, 1 / 3))
    assert lemma_13(3, p=p, q=q) == pytest.approx((16 / 9, 16 / 9))
    assert lemma_14(2, p=p, q=q) == pytest.approx((4 / 3, 4 / 3 + 20 / 9))
    assert lemma_14(3, p=p, q=q) == pytest.approx((16 / 9, max(4 + 4 / 27, 1 / 32 + 27 / 16)))
    assert lemma_15(2, p=p, q=q) == pytest.approx((4 / 3, 3 * 4 / 3))
    assert lemma_15(3, p=p, q=q) == pytest.approx((16 / 9, 2 * 20 / 9))
    assert lemma_16(3, p=p, q=q) == pytest.approx((20 / 9 - 4 / 3, 0.0), abs=1e-15)


def test_lemma_14_needs_both_directions():
    """An outcome that p cannot produce: E_q (2-R)^3 exceeds E_q R^4, and only the other direction, infinite, bounds it."""
    p, q = np.array([0.0, 1.0]), np.array([0.01, 0.99])
    left, right = lemma_14(3, p=p, q=q)
    assert left > np.sum(q * (p / q) ** 4)
    assert right == math.inf


def test_the_condition_of_theorem_8_can_fail():
    """Two Poisson laws (the paper's Figure 2): E (p/q - 1)^3 is negative one way, positive the other."""
    k = np.arange(40)
    law = lambda mean: np.exp(k * math.log(mean) - mean - np.array([math.lgamma(i + 1.0) for i in k]))  # noqa: E731
    assert lemma_9(3, p=law(0.3), q=law(0.6)).left == pytest.approx(-0.030511314, abs=5e-10)
    assert lemma_9(3, p=law(0.6), q=law(0.3)).left == pytest.approx(1.2705405, abs=5e-8)


def test_an_outcome_that_neither_law_produces_changes_nothing():
    assert lemma_15(4, p=[0.5, 0.5, 0.0], q=[0.2, 0.8, 0.0]) == lemma_15(4, p=[0.5, 0.5], q=[0.2, 0.8])


# Outside the conditions.


def refused(function, *words):
    with pytest.raises(InvalidInput) as caught:
        function()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("order", [1, 0, -3, 2.0, 2.5, math.nan, math.inf, True, "2", None], ids=repr)
def test_the_order_is_an_integer_from_2_on(order):
    for bound in (*BOUNDS, partial(theorem_11, tau=2), partial(theorem_11_appendix, tau=2), partial(theorem_20, tau=2)):
        refused(lambda bound=bound: bound(order, rate=0.1, curve=half), "order", "integer >= 2")


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, "0.1", None, True], ids=repr)
def test_the_rate_is_a_probability(rate):
    for bound in (*BOUNDS, partial(theorem_11, tau=2), partial(theorem_11_appendix, tau=2), partial(theorem_20, tau=2)):
        refused(lambda bound=bound: bound(8, rate=rate, curve=half), "rate", "[0, 1]")
    refused(lambda: lemma_4(epsilon=1.0, delta=0.0, rate=rate), "rate")


@pytest.mark.parametrize("bound", [theorem_11, theorem_11_appendix])
def test_tau_is_at_most_half_the_order(bound):
    for tau in (1, 0, -1, 2.0, math.nan, None):
        refused(lambda tau=tau: bound(10, rate=0.1, tau=tau, curve=half), "tau")
    refused(lambda: bound(10, rate=0.1, tau=6, curve=half), "2 <= tau <= order/2", "tau=6", "theorem_6")
    refused(lambda: bound(3, rate=0.1, tau=2, curve=half), "order/2")
    refused(lambda: theorem_20(10, rate=0.1, tau=11, curve=half), "2 <= tau <= order", "tau=11")


def test_the_curve_is_a_function_that_never_falls():
    falling = lambda ell: 1.0 / ell  # noqa: E731
    for bound in (theorem_11, theorem_11_appendix, theorem_20):
        refused(lambda bound=bound: bound(10, rate=0.1, tau=3, curve=falling), "never falls", "order 2")
    for bound in BOUNDS:
        assert bound(10, rate=0.1, curve=falling) > 0
        refused(lambda bound=bound: bound(10, rate=0.1, curve=0.5), "curve", "function")
        refused(lambda bound=bound: bound(10, rate=0.1, curve=lambda ell: -ell), "curve", ">= 0")
        refused(lambda bound=bound: bound(10, rate=0.1, curve=lambda ell: ell * math.nan), "curve", "NaN")
        refused(lambda bound=bound: bound(10, rate=0.1, curve=lambda ell: 1.0), "curve", "one divergence")


@pytest.mark.parametrize("verdict", [False, None, 1, "yes", np.False_], ids=repr)
def test_theorem_8_asks_for_its_condition(verdict):
    refused(lambda: theorem_8(4, rate=0.1, curve=half, condition_holds=verdict), "condition (4)", "theorem_6")
    assert theorem_8(4, rate=0.1, curve=half, condition_holds=np.True_) == theorem_6(4, rate=0.1, curve=half)


def test_lemmas_outside_their_domain():
    p, q = (0.5, 0.5), (0.25, 0.75)
    refused(lambda: lemma_16(4, p=p, q=q), "odd", "order=4")
    refused(lambda: lemma_16(1, p=p, q=q), "order")
    refused(lambda: lemma_9(1.5, p=p, q=q), "integer")
    refused(lambda: lemma_9(0, p=p, q=q), "order")
    refused(lambda: lemma_13(1001, p=p, q=q), "at most 1000")
    for lemma in (lemma_14, lemma_15):
        refused(lambda lemma=lemma: lemma(1, p=p, q=q), "integer >= 2")
    for lemma in (lemma_9, lemma_13, lemma_14, lemma_15, lemma_16):
        refused(lambda lemma=lemma: lemma(3, p=p, q=(1.0,)), "same outcomes")
        refused(lambda lemma=lemma: lemma(3, p=p, q=(1.0, 0.0)), "q = 0")
        refused(lambda lemma=lemma: lemma(3, p=(0.5, 0.6), q=q), "p must be")
        refused(lambda lemma=lemma: lemma(3, p=p, q=(-0.5, 1.5)), "q must be")
        refused(lambda lemma=lemma: lemma(201, p=p, q=(1e-100, 1.0)), "smaller order")
    refused(lambda: lemma_4(epsilon=-1.0, delta=0.0, rate=0.1), "epsilon")
    refused(lambda: lemma_4(epsilon=1.0, delta=1.0, rate=0.1), "delta")
