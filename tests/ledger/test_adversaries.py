"""No strategy, however it chooses, makes the filter break its promise; and one does break a stop on the exact epsilon."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from renyi import ZCDP, Filter, GaussianDP, delta
from tests import examples
from tests.ledger import filter_campaign
from tests.ledger.adversaries import (
    COIN,
    FAILING,
    LOPSIDED,
    RARE,
    SMALL_COIN,
    Game,
    filter_rule,
    naive_rule,
)

MENU = (COIN, SMALL_COIN, RARE, FAILING)
BUDGETS = [
    Filter(0.5, 0.1, reserve=0.025),
    Filter(1.0, 0.1, reserve=0.04, expected=SMALL_COIN.event),
    Filter(2.0, 0.05, reserve=0.01, expected=COIN.event),
    Filter(3.0, 0.05, reserve=0.005, expected=RARE.event),
]


def test_the_page_shows_what_the_campaign_found_and_only_the_naive_stop_was_broken():
    document = json.loads(filter_campaign.RESULT.read_text(encoding="utf-8"))
    text = filter_campaign.PAGE.read_text(encoding="utf-8")
    assert filter_campaign.page(text, document) == text
    for budget in document["adversaries"]:
        tried = [result for result in budget.values() if isinstance(result, dict) and "strategies" in result]
        assert [result["strategies that break the promise"]["filter"] for result in tried] == [0, 0, 0]
        assert tried[-1]["strategies"] == 10_000
        assert budget["best of all strategies of depth 10: failure over delta"]["filter"] <= 1.0
        assert budget["best of all strategies of depth 10: failure over delta"]["naive"] > 1.0
    for row in document["plans"].values():
        assert row["percent more, expected"] <= 5.0
        assert row["percent more, not expected"] <= 35.0


def games(menu, epsilon):
    return [Game(menu, epsilon, reverse) for reverse in (False, True)]


def test_the_harness_agrees_with_the_exact_answers():
    menu = (COIN, LOPSIDED, RARE)
    for counts in ((1, 0, 0), (2, 1, 3), (0, 3, 1)):
        event = sum(release.event * count for release, count in zip(menu, counts, strict=True))
        exact = max(game.fixed_failure(counts) for game in games(menu, 0.7))
        assert delta(event, epsilon=0.7) == pytest.approx(float(exact), rel=1e-9)


def test_the_best_strategy_is_the_best_of_all_trees():
    menu = (COIN, LOPSIDED, FAILING)
    for rule in (lambda counts: sum(counts) <= 2, filter_rule(BUDGETS[1], menu), naive_rule(menu, 0.5, 0.2)):
        for game in games(menu, 0.5):
            assert max(game.failure(tree, rule) for tree in game.trees(2)) == game.worst_failure(rule, 2)


def test_no_tree_of_depth_three_breaks_the_promise_and_some_break_a_stop_on_the_exact_epsilon():
    menu, budget = (COIN, SMALL_COIN, RARE), BUDGETS[0]
    admitted, naive = filter_rule(budget, menu), naive_rule(menu, 0.5, 0.1)
    game = Game(menu, 0.5)
    promised = Fraction(budget.delta)
    trees = list(game.trees(3))
    assert len(trees) == 7204
    assert max(game.failure(tree, admitted) for tree in trees) <= promised
    assert max(game.failure(tree, naive) for tree in trees) > promised


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: f"{budget.budget:g}-{budget.delta:g}")
def test_the_best_of_all_strategies_does_not_break_the_promise(budget):
    rule = filter_rule(budget, MENU)
    worst = max(game.worst_failure(rule, 6) for game in games(MENU, budget.budget))
    assert Fraction(budget.delta) / 10 < worst <= Fraction(budget.delta)  # the filter is used, and it holds


@pytest.mark.parametrize(("epsilon", "promised"), [(0.5, 0.1), (1.0, 0.1), (2.0, 0.05)])
def test_the_same_strategies_break_a_stop_on_the_exact_epsilon(epsilon, promised):
    rule = naive_rule(MENU, epsilon, promised)
    worst = max(game.worst_failure(rule, 6) for game in games(MENU, epsilon))
    assert worst > Fraction(promised) * Fraction(13, 10)


def test_random_strategies_do_not_break_the_promise():
    rng = random.Random(examples.SEED)
    menu = (*MENU, LOPSIDED)
    for budget in BUDGETS:
        rule = filter_rule(budget, menu)
        for game in games(menu, budget.budget):
            trees = [game.random_tree(rng, 6) for _ in range(100)]
            assert max(game.failure(tree, rule) for tree in trees) <= Fraction(budget.delta)


@pytest.mark.parametrize("level", [0.2, 1.0, 2.5])
def test_budgets_of_rho_and_mu_keep_their_promises(level):
    promises = [
        (Filter.zcdp(0.4, 0.02, floor=0.0), delta(ZCDP(0.4), epsilon=level)),
        (Filter.gdp(1.2, 0.02, floor=0.0), delta(GaussianDP(1.2), epsilon=level)),
    ]
    for budget, concentrated in promises:
        rule = filter_rule(budget, MENU)
        worst = max(game.worst_failure(rule, 6) for game in games(MENU, level))
        assert worst <= Fraction(0.02 + 0.98 * concentrated)
