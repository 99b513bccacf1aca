"""`make filter`: what the filter costs on seven plans, and adversaries who try to break its promise.

Writes docs/filter.json and two tables of docs/budget.md.

For each budget: all strategies of at most three releases from two menus, and 10,000 random strategies of at most six, each
evaluated without rounding under both relations; then the best of *all* strategies of at most ten releases, by dynamic
programming. The same strategies are tried on the naive rule that goes on while the exact delta of what was released is within
the budget, which they break.

Usage: python -m tests.ledger.filter_campaign [--strategies 10000] [--output docs/filter.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import renyi
from renyi import Filter, Gaussian, Poisson, Rdp
from tests.ledger.adversaries import (
    COIN,
    FAILING,
    LOPSIDED,
    RARE,
    SMALL_COIN,
    Game,
    Release,
    Rule,
    Tree,
    filter_rule,
    naive_rule,
)
from tests.ledger.plans import PLANS, needed_epsilon
from tests.soundness.journal import tree_of_source

RESULT = Path(__file__).parents[2] / "docs" / "filter.json"
PAGE = RESULT.with_name("budget.md")
SEED = 20261118
DEPTH_OF_RANDOM, DEPTH_OF_BEST = 6, 10

BINARY = Release.pair((544, 480), (448, 576))
"""A coin that is not symmetric."""

MENUS = {
    "two coins, a rare outcome, a lopsided coin": (COIN, SMALL_COIN, RARE, BINARY),
    "a coin and a release that may fail": (COIN, FAILING),
}
LARGE_MENU = (COIN, SMALL_COIN, RARE, LOPSIDED, FAILING)

BUDGETS = (
    Filter(0.5, 0.1, reserve=0.025),
    Filter(1.0, 0.1, reserve=0.04, expected=SMALL_COIN.event),
    Filter(2.0, 0.05, reserve=0.01, expected=COIN.event),
    Filter(3.0, 0.05, reserve=0.005, expected=RARE.event),
)


def figures() -> dict[str, Any]:
    """The epsilon that each plan needs of a filter, beside the Renyi answer for a plan that is fixed beforehand."""
    rows = {}
    for name, plan in PLANS.items():
        fixed = Rdp().epsilon(plan.event, delta=plan.delta).upper
        found = {"not expected": needed_epsilon(plan), "expected": needed_epsilon(plan, expected=plan.event)}
        rows[name] = {
            "delta": plan.delta,
            "epsilon if fixed": round(fixed, 4),
            **{f"epsilon of a filter, {how}": round(epsilon, 4) for how, epsilon in found.items()},
            **{f"percent more, {how}": round(100.0 * (epsilon / fixed - 1.0), 2) for how, epsilon in found.items()},
        }
    return rows


def tried(trees: Iterable[Tree], games: list[Game], rules: dict[str, Rule], delta: float) -> dict[str, Any]:
    """The largest failure of some strategies over delta, and how many exceed it, for each rule."""
    promised = Fraction(delta)
    worst = dict.fromkeys(rules, Fraction(0))
    broken = dict.fromkeys(rules, 0)
    count = 0
    for tree in trees:
        count += 1
        for name, rule in rules.items():
            failure = max(game.failure(tree, rule) for game in games)
            worst[name] = max(worst[name], failure)
            broken[name] += failure > promised
    return {
        "strategies": count,
        "largest failure over delta": {name: round(float(failure / promised), 4) for name, failure in worst.items()},
        "strategies that break the promise": broken,
    }


def adversaries(budget: Filter, strategies: int) -> dict[str, Any]:
    """All that is tried on one budget."""
    rng = random.Random(SEED)
    epsilon, delta = budget.budget, budget.delta
    found: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "reserve": budget.reserve}

    def rules(menu: tuple[Release, ...]) -> dict[str, Rule]:
        return {"filter": filter_rule(budget, menu), "naive": naive_rule(menu, epsilon, delta)}

    for name, menu in MENUS.items():
        games = [Game(menu, epsilon, reverse) for reverse in (False, True)]
        found[f"all trees of depth 3: {name}"] = tried(games[0].trees(3), games, rules(menu), delta)
    games = [Game(LARGE_MENU, epsilon, reverse) for reverse in (False, True)]
    chosen = (games[0].random_tree(rng, DEPTH_OF_RANDOM) for _ in range(strategies))
    found[f"random strategies of depth {DEPTH_OF_RANDOM}"] = tried(chosen, games, rules(LARGE_MENU), delta)
    menu = (COIN, SMALL_COIN, RARE, FAILING)
    games = [Game(menu, epsilon, reverse) for reverse in (False, True)]
    found[f"best of all strategies of depth {DEPTH_OF_BEST}: failure over delta"] = {
        name: round(float(max(game.worst_failure(rule, DEPTH_OF_BEST) for game in games)) / delta, 4)
        for name, rule in rules(menu).items()
    }
    return found


def speed() -> dict[str, float]:
    """Milliseconds of CPU, the median of 21."""

    def median(action: Any) -> float:
        times = []
        for k in range(21):
            start = time.process_time()
            action(k)
            times.append(time.process_time() - start)
        return round(1e3 * sorted(times)[10], 3)

    budget = Filter(2.0, 1e-5)
    step = Gaussian(1.1).on(Poisson(0.004))
    price = budget.price(step)
    spent, _ = budget.nothing + price, budget.limits
    return {
        "price of a step of a new kind": median(lambda k: budget.price(Gaussian(1.1).on(Poisson(0.01 + k / 1e4)))),
        "price of a step of a known kind": median(lambda _: budget.price(step * 100)),
        "to admit it": median(lambda _: budget.admits(spent, price)),
        "a filter and its limits": median(lambda k: Filter(2.0 + k / 100, 1e-5).limits),
        "a filter that expects a step": median(lambda k: Filter(2.0 + k / 100, 1e-5, expected=step).limits),
        "odometer": median(lambda _: budget.odometer(spent)),
    }


def plans_table(document: dict[str, Any]) -> str:
    """The plans, for the page."""
    rows = ["| plan | delta | fixed beforehand (Renyi) | filter that expects it | filter |", "|---|---|---|---|---|"]
    for name, row in document["plans"].items():
        cells = [f"{row['epsilon if fixed']:.3f}"]
        for how in ("expected", "not expected"):
            cells.append(f"{row[f'epsilon of a filter, {how}']:.3f} (+{row[f'percent more, {how}']:.1f} %)")
        rows.append(f"| {name} | {row['delta']:g} | {' | '.join(cells)} |")
    return "\n".join(rows)


def adversaries_table(document: dict[str, Any]) -> str:
    """What was tried on the filter and on a naive stop, for the page: the largest failure, in units of the promised delta."""
    rows = ["| budget | strategies | tried | filter: largest failure / delta | naive stop |", "|---|---|---|---|---|"]
    for budget in document["adversaries"]:
        head = f"({budget['epsilon']:g}, {budget['delta']:g})"
        for name, result in budget.items():
            if not isinstance(result, dict):
                continue
            worst = result.get("largest failure over delta", result)
            count = f"{result['strategies']:,}" if "strategies" in result else "all"
            rows.append(
                f"| {head} | {name.split(': failure')[0]} | {count} | {worst['filter']:.2f} | {worst['naive']:.2f} |"
            )
    return "\n".join(rows)


def page(text: str, document: dict[str, Any]) -> str:
    """The page with its two tables renewed."""
    for name, table in (("filter", plans_table(document)), ("adversaries", adversaries_table(document))):
        begin, end = f"<!-- {name}: written by `make filter` -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    return text


def main() -> int:
    """Run the campaign, write the result, and fail if a promise was broken by the filter, or none by the naive rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategies", type=int, default=10_000)
    parser.add_argument("--output", type=Path, default=RESULT)
    arguments = parser.parse_args()
    document = {
        "tree of src": tree_of_source(),
        "versions": {"python": platform.python_version(), "renyi": renyi.__version__},
        "plans": figures(),
        "milliseconds of CPU": speed(),
        "adversaries": [adversaries(budget, arguments.strategies) for budget in BUDGETS],
    }
    arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    broken = [
        result["strategies that break the promise"]
        for row in document["adversaries"]
        for result in row.values()
        if isinstance(result, dict) and "strategies" in result
    ]
    filters, naive = sum(one["filter"] for one in broken), sum(one["naive"] for one in broken)
    print(f"strategies that break the promise: {filters} of the filter, {naive} of a stop on the exact epsilon")
    return int(filters > 0 or naive == 0)


if __name__ == "__main__":
    sys.exit(main())
