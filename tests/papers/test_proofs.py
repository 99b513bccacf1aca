"""What the papers' proofs rest on: both sides of each inequality on random input, and where the printed forms fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renyi
from renyi import Gaussian, InvalidInput, Poisson, PureDP, Relation
from renyi.composing.event_laws import renyi_curve
from renyi.papers.sampled_gaussian.mironov_talwar_zhang import largest_order
from renyi.papers.sampled_gaussian.proofs import equation_3, lemma_6, lemma_8, lemma_9, lemma_10, theorem_5
from renyi.papers.zhu_wang.proofs import appendix_d, equation_5, equation_7
from renyi.papers.zhu_wang.published_bounds import claim_24
from renyi.papers.zhu_wang.weak_amplification import claim_25, example_4
from tests.golden import golden

rates = st.floats(1e-6, 0.999)
weights = st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=6)


def law(values):
    array = np.array(values)
    return tuple(array / array.sum())


@settings(max_examples=80, deadline=None)
@given(rates, st.floats(1e-3, 30.0), st.floats(1.01, 100.0))
def test_equation_5(rate, epsilon, order):
    adding = renyi_curve(PureDP(epsilon).on(Poisson(rate)), Relation.ADD)
    assert adding.at(order) <= equation_5(rate=rate, epsilon=epsilon) * (1 + 1e-11)
    assert equation_5(rate=rate, epsilon=epsilon) <= equation_5(rate=rate)
    assert adding.limit == pytest.approx(equation_5(rate=rate, epsilon=epsilon), rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(weights, st.integers(1, 6), rates, st.data())
def test_equation_7_at_even_orders(p, half, rate, data):
    q = data.draw(st.lists(st.floats(1e-3, 1.0), min_size=len(p), max_size=len(p)))
    left, right = equation_7(2 * half, rate=rate, p=law(p), q=law(q))
    assert left <= right * (1 + 1e-9)


def test_equation_7_is_false_at_odd_orders():
    """Randomized response 0.01/0.99, rate 0.1, order 3: 1.21957 on the left, -3.61846 on the right."""
    p, q, rate = np.array([0.99, 0.01]), np.array([0.01, 0.99]), 0.1
    ratio = p / q
    left = np.sum(q * (1 - rate + rate * ratio) ** -2)
    right = rate * np.sum(p * (1 - rate + rate / ratio) ** 3) + (1 - rate) * np.sum(q * (1 + rate - rate * ratio) ** 3)
    assert (left, right) == pytest.approx((1.21957, -3.61846), abs=1e-5)
    with pytest.raises(InvalidInput, match=r"even order.*theorem_6"):
        equation_7(3, rate=rate, p=p, q=q)
    assert (
        equation_7(3, rate=rate, p=(0.5, 0.5), q=(0.3, 0.7)).left
        <= equation_7(3, rate=rate, p=(0.5, 0.5), q=(0.3, 0.7)).right
    )


@pytest.mark.parametrize("case", [c for c in golden("sgm_rdp_remove") if c.params["alpha"] <= 200][:12], ids=repr)
def test_appendix_d(case):
    p = case.params
    moments = appendix_d(p["alpha"], rate=p["q"], noise=p["sigma"])
    assert case.close(moments.log_e2 / (p["alpha"] - 1))
    assert moments.log_e1 <= moments.log_e2 * (1 + 1e-11)


@settings(max_examples=100, deadline=None)
@given(weights, st.floats(1.01, 30.0), rates, st.data())
def test_theorem_5_of_mironov_and_others(p, order, rate, data):
    q = data.draw(st.lists(st.floats(1e-3, 1.0), min_size=len(p), max_size=len(p)))
    total = sum(p) + sum(q)
    both, other = tuple(x / total for x in p + q), tuple(x / total for x in q + p)
    removing, adding = theorem_5(order, rate=rate, p=both, q=other)
    assert adding <= removing * (1 + 1e-9) + 1e-13


def test_theorem_5_needs_the_measure_to_be_kept():
    """Their map between pieces of unlike lengths is its own inverse, and yet adding costs more: 0.75264 > 0.46083."""
    length = np.array([1.0, 0.05, 1.0, 0.05])
    q, p = np.array([3.0, 1.0, 6.0, 8.0]) * length, np.array([1.0, 3.0, 8.0, 6.0]) * length
    p, q = p / p.sum(), q / q.sum()
    with pytest.raises(InvalidInput, match="permutation"):
        theorem_5(8.0, rate=0.1, p=p, q=q)
    x = np.log1p(0.9 * (p - q) / q)  # their q = 0.1 is the weight of Q
    removing, adding = (math.log(np.sum(q * np.exp(power * x))) / 7 for power in (8.0, -7.0))
    assert (removing, adding) == pytest.approx((0.46083, 0.75264), abs=1e-5)


@settings(max_examples=150, deadline=None)
@given(st.floats(1.001, 20.0), st.floats(0.0, 1.0), st.floats(1e-2, 1e2), st.floats(1e-2, 1e2))
def test_lemma_6(order, rate, u, v):
    left, right = lemma_6(order, rate=rate, u=u, v=v)
    assert left >= right * (1 - 1e-12)


@settings(max_examples=150, deadline=None)
@given(st.floats(1.001, 50.0), st.floats(-0.999, 1.0))
def test_equation_3(order, share):
    w = share / (order - 1.0) if share > 0 else share
    left, right = equation_3(order, w=w)
    assert left <= right * (1 + 1e-12) + 1e-12


@settings(max_examples=150, deadline=None)
@given(st.floats(1.001, 50.0), st.floats(1e-4, 1.0), st.floats(1e-3, 1e3), st.floats(-1.0, 1.0))
def test_lemma_8(order, rate, x, share):
    y = x * (1.0 + 1.0 / (rate * (order - 1.0))) ** share
    left, right = lemma_8(order, rate=rate, x=x, y=y)
    assert left <= right * (1 + 1e-11)


@pytest.mark.parametrize("rate", [1e-5, 0.01, 0.1, 0.2])
@pytest.mark.parametrize("noise", [4.0, 8.0, 30.0])
def test_lemmas_9_and_10_split_the_moment(rate, noise):
    last = math.floor(largest_order(rate=rate, noise=noise))
    for order in sorted({2, 3, (2 + last) // 2, last}):
        if not 2 <= order <= min(last, 3000):
            continue
        below, above = lemma_9(order, rate=rate, noise=noise), lemma_10(order, rate=rate, noise=noise)
        assert below.left <= below.right
        assert above.left <= above.right
        moment = math.exp((order - 1) * float(renyi.divergence(Gaussian(noise).on(Poisson(rate)), order=order)))
        assert below.left + above.left == pytest.approx(moment, rel=1e-11)


def test_lemma_9_needs_no_conditions():
    for order, rate, noise in ((2, 0.9, 0.3), (50, 0.5, 1.0), (7, 1e-9, 100.0)):
        left, right = lemma_9(order, rate=rate, noise=noise)
        assert left <= right


@settings(max_examples=100, deadline=None)
@given(st.floats(1.001, 20.0), st.lists(st.tuples(st.floats(0.0, 10.0), st.floats(1e-2, 10.0)), min_size=1, max_size=8))
def test_claim_25(order, pairs):
    p, q = zip(*pairs, strict=True)
    left, right = claim_25(order, p=p, q=q)
    assert left <= right * (1 + 1e-11)


def test_example_4_is_above_claim_24():
    for order, rate, noise in ((2.0, 0.01, 4.0), (10.0, 0.3, 20.0), (1.5, 0.9, 1.0)):
        rho = order / (2 * noise**2)
        linear = example_4(order, rate=rate, noise=noise, bound=1.0)
        assert claim_24(order, rate=rate, divergence=rho) <= linear
        assert linear == pytest.approx(rate * rho * math.expm1(1.0), rel=1e-12)
    with pytest.raises(InvalidInput, match="claim_24 needs no such condition"):
        example_4(50.0, rate=0.1, noise=2.0, bound=1.0)


def test_conditions():
    assert equation_5(rate=1.0) == math.inf
    assert equation_5(rate=0.0) == 0.0
    for call, words in (
        (lambda: appendix_d(1.0, rate=0.1, noise=1.0), "orders > 1"),
        (lambda: equation_7(2, rate=0.1, p=(1.0, 0.0), q=(0.5, 0.5)), "positive probability"),
        (lambda: lemma_6(1.0, rate=0.1, u=1.0, v=1.0), "order"),
        (lambda: lemma_6(2.0, rate=0.1, u=0.0, v=1.0), "u must be > 0"),
        (lambda: equation_3(3.0, w=0.6), "w <= 1/"),
        (lambda: lemma_8(3.0, rate=0.5, x=10.0, y=1.0), "Lemma 8"),
        (lambda: lemma_9(2, rate=0.0, noise=1.0), "rates between"),
        (lambda: lemma_10(500, rate=0.01, noise=4.0), "conditions"),
        (lambda: lemma_10(2, rate=0.3, noise=4.0), "rate <= 1/5"),
        (lambda: claim_25(2.0, p=(1.0,), q=(0.0,)), "q_i > 0"),
        (lambda: claim_25(1.0, p=(1.0,), q=(1.0,)), "order > 1"),
    ):
        with pytest.raises(InvalidInput, match=words):
            call()
