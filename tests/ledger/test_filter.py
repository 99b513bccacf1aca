"""The filter: its sums are exact, it wastes little, it says what is left, and it can be read back."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from renyi import (
    TCDP,
    ZCDP,
    Adjacency,
    ApproximateDP,
    Filter,
    Gaussian,
    InvalidInput,
    Laplace,
    Ledger,
    Poisson,
    PrivacyError,
    PureDP,
    Rdp,
    UnsupportedError,
    WithoutReplacement,
    divergence,
    epsilon,
    gdp,
    rho,
)
from renyi.laws.conversion import improved_epsilon, optimal_epsilon
from renyi.ledger import Price
from renyi.ledger.pricing.price import INFINITE, UNIT_BITS, units_above, units_below
from renyi.numerics.rounding import float_above
from tests import examples
from tests.ledger.plans import PLANS, QUERIES, README_RUN, YEAR_OF_QUERIES

UNIT = Fraction(1, 1 << UNIT_BITS)
STEP = Gaussian(1.1).on(Poisson(256 / 60_000))
BUDGET = Filter(2.0, 1e-5)
KINDS = [BUDGET, Filter(2.0, 1e-5, expected=STEP), Filter.zcdp(0.5, 1e-5), Filter.gdp(1.0, 1e-5)]
EVENTS = [STEP, Laplace(20.0), Gaussian(8.0), ApproximateDP(0.1, 1e-8), STEP * 50 + Laplace(30.0)]


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_costs_at_most_35_percent_more_than_if_it_were_fixed_and_5_percent_if_it_was_expected(name):
    event, delta = PLANS[name]
    fixed = Rdp().epsilon(event, delta=delta).upper
    for factor, expected in ((1.35, None), (1.05, event)):
        budget = Filter(factor * fixed, delta, expected=expected)
        assert budget.admits(budget.nothing, budget.price(event))
        smaller = Filter(fixed * (1.0 - 1e-6), delta, expected=expected)
        assert not smaller.admits(
            smaller.nothing, smaller.price(event)
        )  # one order with all of delta is the best there is


def test_to_expect_one_step_is_to_expect_the_run():
    budget = Filter(1.05 * Rdp().epsilon(README_RUN, delta=1e-5).upper, 1e-5, expected=STEP)
    assert budget.left(budget.nothing, STEP) >= 14_063


def test_a_short_run_at_a_small_rate_costs_as_much_more_as_the_page_says():
    run = Gaussian(0.7).on(Poisson(1e-4)) * 1_000
    fixed = Rdp().epsilon(run, delta=1e-6).upper
    for factor, expected, admitted in ((1.65, None, True), (1.6, None, False), (1.05, run, True)):
        budget = Filter(factor * fixed, 1e-6, expected=expected)
        assert budget.admits(budget.nothing, budget.price(run)) is admitted


def test_the_queries_of_a_year_are_forty():
    assert sum(count for _, count in YEAR_OF_QUERIES) == 40
    budget = Filter(3.0, 1e-6)
    assert budget.price(QUERIES) == sum(
        (budget.price(query) * count for query, count in YEAR_OF_QUERIES), start=budget.nothing
    )


@pytest.mark.parametrize("event", [STEP, Laplace(20.0), Gaussian(8.0), PureDP(0.3)], ids=examples.label)
def test_as_many_as_fit_cost_no_more_than_the_budget_by_the_exact_answer(event):
    for budget in KINDS[:2]:
        most = event * budget.left(budget.nothing, event)
        assert 0.5 * budget.budget < epsilon(most, delta=budget.delta) <= budget.budget


# Prices


@pytest.mark.parametrize("event", examples.COVERING, ids=examples.label)
def test_a_price_is_the_worst_divergence(event):
    adjacency = examples.adjacency_of(event)
    if adjacency is None:
        with pytest.raises(UnsupportedError):
            BUDGET.price(event)
        return
    budget = Filter(2.0, 1e-5, adjacency=adjacency)
    price = budget.price(event)
    for order, amount in zip(budget.currency.orders, price.amounts, strict=True):
        worst = float(divergence(event, order=order, adjacency=adjacency))
        if math.isinf(worst):
            assert amount == INFINITE
        else:  # both are upper ends, computed at one order or at many at once
            assert float(amount * UNIT) == pytest.approx(worst, rel=1e-9, abs=1e-38)


def test_a_gaussian_costs_what_the_formula_says():
    for order, amount in zip(BUDGET.currency.orders[:-1], BUDGET.price(Gaussian(3.0)).amounts, strict=False):
        exact = Fraction(order) / 18
        assert exact <= amount * UNIT <= exact * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize(
    "event", [STEP, Laplace(20.0), ApproximateDP(0.1, 1e-9), Gaussian(2.0) + Laplace(3.0)], ids=str
)
def test_prices_add_up_exactly(event):
    price = BUDGET.price(event)
    assert BUDGET.price(event * 1_000_000_007) == price * 1_000_000_007
    assert BUDGET.price(event * 3 + Gaussian(7.0)) == price * 3 + BUDGET.price(Gaussian(7.0))
    assert BUDGET.price(event * 0) == BUDGET.nothing


def test_a_sum_of_many_prices_does_not_depend_on_their_order_and_each_can_be_taken_back():
    rng = random.Random(examples.SEED)
    prices = [BUDGET.price(Gaussian(10.0 ** rng.uniform(-1, 12))) for _ in range(300)]
    total = sum(prices, start=BUDGET.nothing)
    shuffled = rng.sample(prices, len(prices))
    assert sum(shuffled, start=BUDGET.nothing) == total
    for price in prices:
        total = total - price
    assert total == BUDGET.nothing
    with pytest.raises(InvalidInput, match="more would be taken back"):
        total - prices[0]


def test_what_is_infinite_at_an_order_can_be_taken_back_and_never_fits_there():
    few_orders, pure = BUDGET.price(TCDP(1e-4, 3.0)), BUDGET.price(PureDP(0.01))
    assert few_orders.amounts[-1] == INFINITE
    assert few_orders + pure - few_orders == pure
    nothing_hidden = BUDGET.price(Gaussian(0.0))
    assert not BUDGET.admits(BUDGET.nothing, nothing_hidden)
    assert BUDGET.left(BUDGET.nothing, Gaussian(0.0)) == 0
    assert min(nothing_hidden.amounts) > max(Filter(1e15, 0.5).limits.amounts)


def test_units_are_rounded_to_the_safe_side():
    for value in (0.0, 5e-324, 1e-40, 0.1, 1.0, 1e30):
        assert units_below(value) * UNIT <= Fraction(value) <= units_above(value) * UNIT
        assert units_above(value) - units_below(value) <= 1
    assert units_above(math.inf) == units_above(math.nan) == INFINITE


def test_threads_get_the_same_prices():
    events = [Gaussian(1.0 + k / 7).on(Poisson(0.01)) for k in range(12)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(BUDGET.price, events * 4))
    assert found == [BUDGET.price(event) for event in events] * 4


# Limits


@pytest.mark.parametrize(("promised", "delta"), [(2.0, 1e-5), (0.01, 1e-6), (50.0, 1e-9), (1e-6, 0.1), (0.3, 0.5)])
def test_limits_are_the_largest_divergences_that_imply_the_budget(promised, delta):
    budget = Filter(promised, delta)
    orders, shares = budget.currency.orders, budget.currency.shares
    assert sum(map(Fraction, shares)) + Fraction(budget.reserve) <= Fraction(delta)
    assert sum(shares) + budget.reserve > 0.999 * delta
    for order, share, limit in zip(orders, shares, budget.limits.amounts, strict=True):
        divergence = float(limit * UNIT)
        if math.isinf(order):
            assert limit == units_below(promised)
            continue
        assert optimal_epsilon(order, divergence, math.log(share)) <= promised
        assert optimal_epsilon(order, divergence * (1 + 1e-6) + 1e-13, math.log(share)) > promised
        assert improved_epsilon(order, divergence, math.log(share)) >= promised * (
            1 - 1e-9
        )  # never worse than this bound


def test_orders_rise_and_end_with_infinity():
    for budget in (Filter(promised, delta) for promised in (1e-15, 0.1, 10.0, 1e15) for delta in (1e-250, 1e-6, 0.9)):
        orders = budget.currency.orders
        assert all(a < b for a, b in itertools.pairwise(orders))
        assert orders[-1] == math.inf
        assert len(orders) <= 41


def test_pure_guarantees_compose_at_least_by_their_sum():
    budget = Filter(1.0, 1e-6)
    assert budget.left(budget.nothing, PureDP(0.25)) == 4
    assert budget.left(budget.nothing, PureDP(0.01)) > 100  # and better where there are many


def test_some_order_is_enough_but_it_must_be_one():
    """Two events, each of which fits at orders where the other does not, do not fit together."""
    low, high = BUDGET.price(TCDP(0.02, 3.0)), BUDGET.price(PureDP(2.0))
    limits = BUDGET.limits.amounts
    assert all(BUDGET.admits(BUDGET.nothing, price) for price in (BUDGET.price(STEP), high))
    both = [a + b <= limit for a, b, limit in zip(low.amounts, high.amounts, limits, strict=True)]
    assert BUDGET.admits(low, high) == any(both)
    assert not BUDGET.admits(low, high)


# Failures


def test_failures_leave_the_reserve_and_nothing_else():
    budget = Filter(1.0, 1e-5, reserve=4e-6)
    assert budget.left(budget.nothing, ApproximateDP(0.0, 1e-6)) == 4
    spent = budget.price(ApproximateDP(0.0, 1e-6)) * 4
    assert not budget.admits(spent, budget.price(ApproximateDP(0.0, 1e-30)))
    assert budget.admits(spent, budget.price(Gaussian(10.0)))
    assert spent.amounts == budget.nothing.amounts


def test_an_expected_guarantee_with_a_failure_gets_half_of_delta():
    assert Filter(1.0, 1e-5, expected=ApproximateDP(0.1, 1e-8)).reserve == 5e-6
    assert Filter(1.0, 1e-5, expected=Gaussian(3.0)).reserve == pytest.approx(5e-7)


# What was spent, what is left


@pytest.mark.parametrize("budget", KINDS, ids=lambda budget: budget.kind)
@pytest.mark.parametrize("event", EVENTS, ids=examples.label)
def test_as_many_fit_as_are_said_to_be_left_and_no_more(budget, event):
    spent = budget.price(Gaussian(12.0))
    price, left = budget.price(event), budget.left(spent, event)
    assert left > 0
    assert budget.admits(spent, price * left)
    assert not budget.admits(spent, price * (left + 1))
    assert budget.left(spent + price, event) == left - 1


def test_what_costs_nothing_never_ends():
    assert BUDGET.left(BUDGET.nothing, PureDP(0.0)) == math.inf
    assert BUDGET.left(BUDGET.price(Gaussian(0.1)), PureDP(0.0)) == 0  # nothing is admitted after the end


@pytest.mark.parametrize("budget", KINDS, ids=lambda budget: budget.kind)
def test_the_odometer_is_the_least_budget_that_would_have_admitted_what_was_spent(budget):
    spent = budget.price(STEP * 1_000 + Laplace(30.0) * 4)
    reading = budget.odometer(spent)
    assert 0.0 < reading.fraction < 1.0
    document = json.loads(budget.to_json())
    for factor, admitted in ((1.0 + 1e-9, True), (1.0 - 1e-6, False)):
        other = Filter.from_json(json.dumps({**document, "budget": reading.spent * factor}))
        assert other.admits(other.nothing, spent) is admitted
    assert f"{budget.kind} " in str(reading)
    assert "fixed beforehand" in str(reading)


@pytest.mark.parametrize("budget", [*KINDS, Filter(1.0, 1e-6, reserve=0.0)], ids=lambda budget: budget.kind)
@pytest.mark.parametrize("count", [0, 1, 7, 10**400])
def test_what_is_used_is_what_the_odometer_says_without_its_epsilon(budget, count):
    event = STEP + Laplace(20.0)
    if budget.reserve > 0.0:
        event += ApproximateDP(0.01, 1e-9)
    spent = budget.price(event) * count
    used, reading = budget.used(spent), budget.odometer(spent)
    exact = min(Fraction(*each) for each in zip(spent.amounts, budget.limits.amounts, strict=True))
    assert reading.fraction == float_above(exact)
    assert used == reading.used >= reading.fraction


def test_the_odometer_of_a_run_lies_above_its_renyi_answer():
    reading = BUDGET.odometer(BUDGET.price(STEP * 5_000))
    fixed = Rdp().epsilon(STEP * 5_000, delta=1e-5).upper
    assert fixed < reading.spent < 1.35 * fixed
    assert BUDGET.odometer(BUDGET.nothing).spent == BUDGET.odometer(BUDGET.nothing).fraction == 0.0


def test_a_share_caps_a_sub_budget_at_every_order():
    whole, third = BUDGET.left(BUDGET.nothing, STEP), Fraction(1, 3)
    price = BUDGET.price(STEP)
    fits = max(n for n in range(1, whole, 50) if BUDGET.admits(BUDGET.nothing, price * n, share=third))
    assert whole / 3 - 50 <= fits <= whole / 3


# Budgets of rho and mu


def test_rho_and_the_square_of_mu_add_up():
    for budget in (Filter.zcdp(0.5, 0.0), Filter.gdp(1.0, 0.0)):
        assert budget.left(budget.nothing, Gaussian(4.0)) in (15, 16)  # 16 up to the last digit of 1/16
        assert budget.left(budget.nothing, Gaussian(4.0000001)) == 16
    budget = Filter.zcdp(0.5, 0.0)
    assert budget.left(budget.nothing, ZCDP(0.125)) == 4


def test_what_is_concentrated_everywhere_pays_no_floor_and_a_run_on_samples_pays_one():
    run = STEP * 2_000
    for budget, amount in (
        (Filter.zcdp(0.5, 1e-5), rho(run, delta=1e-7)),
        (Filter.gdp(1.0, 1e-5), gdp(run, delta=1e-7).mu.upper ** 2),
    ):
        assert budget.price(Gaussian(5.0)).failure == budget.price(Laplace(20.0)).failure == 0
        price = budget.price(run)
        assert float(price.failure * UNIT) == pytest.approx(1e-7)
        assert float(price.amounts[0] * UNIT) == pytest.approx(amount)
        guarantee = budget.price(run + ApproximateDP(0.01, 1e-6))
        assert float(guarantee.failure * UNIT) == pytest.approx(1.1e-6)


def test_a_floor_is_paid_only_where_it_saves_a_larger_part_of_the_budget_than_of_delta():
    barely_sampled = Gaussian(5.0).on(Poisson(0.9))
    assert Filter.zcdp(0.01, 1e-5).price(barely_sampled).failure > 0
    assert Filter.zcdp(10.0, 1e-5).price(barely_sampled).failure == 0


# JSON


@pytest.mark.parametrize("budget", KINDS, ids=lambda budget: budget.kind)
def test_the_very_same_filter_and_price_come_back(budget):
    again = Filter.from_json(budget.to_json())
    assert again == budget
    assert again.limits == budget.limits
    assert hash(again) == hash(budget)
    assert again.to_json() == budget.to_json()
    price = budget.price(STEP * 1_000 + ApproximateDP(0.5, 1e-9))
    assert Price.from_json(price.to_json()) == price
    assert Price.from_json((price * 10**300).to_json()) == price * 10**300
    assert again.price(STEP * 1_000) == budget.price(STEP * 1_000)


def _changed(text, **changes):
    document = json.loads(text)
    for path, value in changes.items():
        place = document
        *outer, last = path.split("__")
        for name in outer:
            place = place[name]
        place[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "renyi-price"},
        {"version": 2},
        {"version": True},
        {"budget": 0.0},
        {"budget": "2"},
        {"budget": 1e300},
        {"delta": 0.0},
        {"delta": 1.5},
        {"reserve": -1e-9},
        {"reserve": 1e-5},
        {"extra": 1},
        {"currency": None},
        {"currency": {"kind": []}},
        {"currency__kind": "euro"},
        {"currency__orders": []},
        {"currency__orders": "2"},
        {"currency__orders": [1.0, 2.0]},
        {"currency__orders": list(range(2, 5000))},
        {"currency__shares": [1e-9]},
        {"currency__adjacency": "friends"},
        {"currency__more": 1},
    ],
    ids=str,
)
def test_a_filter_that_was_tampered_with_is_refused(changes):
    with pytest.raises(InvalidInput):
        Filter.from_json(_changed(BUDGET.to_json(), **changes))


def test_orders_and_shares_that_promise_more_than_delta_are_refused():
    document = json.loads(BUDGET.to_json())
    orders, shares = document["currency"]["orders"], document["currency"]["shares"]
    for wrong in (
        {"orders": orders[::-1]},
        {"shares": [2.0 * share for share in shares]},
        {"shares": [*shares[:-1], 1e-12]},
        {"shares": [0.0, *shares[1:]]},
    ):
        with pytest.raises(InvalidInput):
            Filter.from_json(json.dumps({**document, "currency": {**document["currency"], **wrong}}))


def test_any_filter_that_is_read_answers_or_is_refused():
    rng = random.Random(examples.SEED)
    document = json.loads(BUDGET.to_json())
    read = 0
    for _ in range(150):
        finite = sorted(set(rng.choices([1 + 2**-52, 1 + 1e-9, 1.5, 2.0, 1e3, 1e8, 1e16, 1e100, 1e308], k=3)))
        orders = [*finite, "inf"] if rng.random() < 0.5 else finite
        shares = [0.0 if order == "inf" else rng.choice([5e-324, 1e-300, 1e-9, 0.1]) for order in orders]
        changes = {
            "budget": rng.choice([1e-15, 0.1, 30.0, 1e15]),
            "delta": rng.choice([0.9, 0.5, 1e-5, 1e-300]),
            "reserve": rng.choice([0.0, 5e-324, 0.01]),
            "currency": {**document["currency"], "orders": orders, "shares": shares},
        }
        try:
            budget = Filter.from_json(json.dumps({**document, **changes}))
        except InvalidInput:
            continue
        read += 1
        for event in (Gaussian(1.1), STEP, PureDP(0.1), Gaussian(0.0), TCDP(0.1, 3.0)):
            price = budget.price(event)
            left, reading = budget.left(price, event), budget.odometer(price * 3)
            assert left >= 0
            assert reading.spent >= 0.0
            assert reading.fraction >= 0.0
    assert read > 50


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "renyi-filter"},
        {"amounts": None},
        {"amounts": [0.5]},
        {"amounts": [-1]},
        {"amounts": [True]},
        {"amounts": [0] * 101},
        {"failure": -1},
        {"failure": 10**400 - 1},
        {"currency": 7},
        {"currency": "x" * 41},
        {"extra": 1},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_price_that_was_tampered_with_is_refused(changes):
    with pytest.raises(InvalidInput):
        Price.from_json(_changed(BUDGET.price(STEP).to_json(), **changes))


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "[" * 10_000, b"\xff\xfe", 7, '{"format": NaN}'], ids=repr)
def test_other_texts_are_refused(text):
    for read in (Filter.from_json, Price.from_json):
        with pytest.raises(InvalidInput):
            read(text)


def test_promises_and_what_was_spent_are_shown_rounded_up():
    budget = Filter(epsilon=2.6123441, delta=1.2345671e-6)
    assert "(2.61235, 1.23457e-06)-differential privacy" in str(budget)
    spent = budget.odometer(budget.price(Gaussian(7.0)))
    shown = re.search(r"of 2\.61235 \((\S+) % of the limit\), at delta (\S+)\. ", str(spent))
    assert float(shown[1]) >= 100.0 * spent.fraction
    assert float(shown[2]) >= spent.delta
    assert float(shown[1]) == pytest.approx(100.0 * spent.fraction, rel=1e-5)


def test_filters_and_prices_show_themselves_in_a_line():
    for budget in KINDS:
        assert f"{budget.kind}={budget.budget}" in repr(budget)
        assert f"{budget.budget:g}" in str(budget)
        assert len(repr(budget)) < 128
        assert len(repr(budget.price(Gaussian(0.0)))) < 128


# Errors that teach


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Filter(0.0, 1e-5), "epsilon of a budget must be above 0"),
        (lambda: Filter(-1.0, 1e-5), "Did a sign slip in"),
        (lambda: Filter(math.inf, 1e-5), "finite"),
        (lambda: Filter(1.0, 0.0), "needs a delta above 0, such as 1e-6"),
        (lambda: Filter(1.0, 1.0), "probability of failure"),
        (lambda: Filter(1.0, 1e-5, reserve=1e-5), "reserve must be below delta"),
        (lambda: Filter(1.0, 1e-5, reserve=-1.0), "sign"),
        (lambda: Filter(1.0, 1e-5, adjacency="friends"), "add-or-remove"),
        (lambda: Filter(1.0, 1e-5, expected=3.0), "must be an event"),
        (lambda: Filter.zcdp(0.5), "comes with a delta"),
        (lambda: Filter.gdp(0.5), "comes with a delta"),
        (lambda: Filter.zcdp(0.0, 1e-5), "rho of a budget must be above 0"),
        (lambda: Filter.gdp(1.0, 1e-5, floor=1e-3), "floor must be at most delta"),
        (lambda: BUDGET.price(0.5), "must be an event"),
        (lambda: BUDGET.price(STEP) + Filter(1.0, 1e-5).price(STEP), "Price the event again"),
        (lambda: BUDGET.admits(Filter(1.0, 1e-5).nothing, BUDGET.price(STEP)), "Price the event again"),
        (lambda: BUDGET.admits(BUDGET.nothing, BUDGET.nothing, share=Fraction(3, 2)), "fraction from 0 to 1"),
        (lambda: BUDGET.price(STEP) + Filter(2.0, 1e-5, adjacency="zero-out").price(STEP), "Price the event again"),
        (lambda: BUDGET.nothing + Price(BUDGET.nothing.currency, (0,)), "has 1 amounts"),
        (lambda: BUDGET.left(Filter(1.0, 1e-5).nothing, STEP), "Price the event again"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(build, says):
    with pytest.raises(InvalidInput, match=says):
        build()


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (PureDP(0.1, Adjacency.REPLACE_ONE), "statement about replace-one neighbours"),
        (Gaussian(4.0).on(WithoutReplacement(100, 10_000)), "no theorem"),
    ],
)
@pytest.mark.parametrize("budget", KINDS, ids=lambda budget: budget.kind)
def test_an_event_without_a_price_is_refused_with_the_reason(budget, event, says):
    with pytest.raises(UnsupportedError, match=says):
        budget.price(event)


def test_other_neighbours_have_their_own_prices():
    replace = Filter(2.0, 1e-5, adjacency="replace-one")
    assert replace.adjacency is Adjacency.REPLACE_ONE
    for order, single, double in zip(
        replace.currency.orders[:-1],
        BUDGET.price(Gaussian(8.0)).amounts,
        replace.price(Gaussian(8.0)).amounts,
        strict=False,
    ):
        assert np.isclose(double / single, 4.0, rtol=1e-12), order


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Filter(epsilon=1.0), "Filter needs delta"),
        (lambda: Filter(eps=1.0, delta=1e-6), "Did you mean epsilon=1.0"),
        (lambda: Filter(1.0, 1e-6).admits(0.3, 0.2), "a price is wanted, such as filter.price"),
        (lambda: Ledger("budget.db"), r"write Ledger.open\('budget.db'\)"),
    ],
)
def test_a_wrong_call_is_answered_with_the_right_one(call, words):
    with pytest.raises(PrivacyError, match=words):
        call()
