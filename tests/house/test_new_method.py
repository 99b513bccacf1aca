"""A method is one file, and its place in a list: the one of docs/adding-a-method.md, beside the library's own."""

from __future__ import annotations

import math

import pytest

import renyi
from renyi import Adjacency, ApproximateDP, Gaussian, Laplace, Poisson, RandomizedResponse, Rdp
from renyi.accountants import exact
from renyi.composing.compose import decide
from renyi.composing.question import DeltaAt, EpsilonAt
from tests.house.pages import loaded, printed

RUNS = [
    Gaussian(1.0),
    Gaussian(3.0) * 30,
    Gaussian(1.1).on(Poisson(0.01)) * 1000,
    RandomizedResponse(0.7) * 12 + Laplace(2.0),
    Laplace(5.0).on(Poisson(0.2)) * 40,
]
QUESTIONS = [EpsilonAt(1e-5), EpsilonAt(0.3), EpsilonAt(0.0), EpsilonAt(1.0), DeltaAt(0.0), DeltaAt(2.0), DeltaAt(90.0)]
NEIGHBOURS = Adjacency.ADD_OR_REMOVE.relations


@pytest.fixture(scope="module")
def method(tmp_path_factory):
    path = tmp_path_factory.mktemp("method") / "few_orders.py"
    path.write_text(printed("docs/adding-a-method.md"), encoding="utf-8")
    return loaded(path).FewOrders()


def asked(methods, event, question):
    return decide(methods, event.canonical(), question, NEIGHBOURS).found


@pytest.mark.parametrize("event", RUNS, ids=repr)
def test_its_interval_holds_the_truth(method, event):
    for question in QUESTIONS:
        truth = asked(exact.METHODS, event, question).interval
        mine = asked((method,), event, question).interval
        assert mine.lower <= truth.upper
        assert truth.lower <= mine.upper


@pytest.mark.parametrize("count", [1, 50])
def test_its_answer_is_the_papers_formula(method, count):
    orders = [1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0]
    expected = min(
        count * a / (2 * 4.0**2) + math.log(1 - 1 / a) - math.log(1e-6 * a) / (a - 1)  # order/(2 noise^2) of each step
        for a in orders
    )
    found = asked((method,), Gaussian(4.0) * count, EpsilonAt(1e-6))
    assert found.interval.upper == pytest.approx(expected, rel=1e-12)
    assert found.words == "Renyi divergence at a few orders"
    best = Rdp().epsilon(Gaussian(4.0) * count, delta=1e-6).upper
    assert best <= found.interval.upper < 1.2 * best
    back = asked((method,), Gaussian(4.0) * count, DeltaAt(found.interval.upper)).interval.upper
    assert back == pytest.approx(1e-6, rel=1e-9)


def test_what_it_refuses_is_left_to_others(method):
    event = ApproximateDP(0.1, 1e-9) * 3
    assert not asked((method,), event, EpsilonAt(1e-5)).answered
    both = asked((method, *exact.METHODS), event, EpsilonAt(1e-5)).interval
    assert both == asked(exact.METHODS, event, EpsilonAt(1e-5)).interval


@pytest.mark.parametrize("event", RUNS, ids=repr)
def test_with_one_line_in_the_list_the_accountant_asks_it(method, monkeypatch, event):
    before = renyi.Exact().epsilon(event, delta=1e-5)
    monkeypatch.setattr(exact, "METHODS", (*exact.METHODS, method))
    with_it = renyi.Exact().epsilon(event, delta=1e-5)
    assert before.lower == with_it.lower
    assert before.lower <= with_it.upper <= before.upper
    monkeypatch.setattr(exact, "METHODS", (method,))
    alone = renyi.Exact().guarantee(event, delta=1e-5)
    assert "a few orders" in alone.method
    assert alone.epsilon.lower == 0.0
    assert alone.epsilon.upper >= before.lower
