"""The balance as a value: exact whatever the order, and held against a plain list of what was charged."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renyi import Filter, Gaussian, InvalidInput, Laplace
from renyi.ledger import Exhausted, LedgerError
from renyi.ledger.book import acts
from renyi.ledger.book.acts import Allot, Charge, Commit, Reserve, Spend, Void, holder_of
from renyi.ledger.book.balance import WHOLE, Balance
from renyi.ledger.book.dataset import Dataset
from renyi.ledger.status import Status
from renyi.numerics.printing import rounded_up

BUDGET = Filter(epsilon=1.0, delta=1e-6)
DATASET = Dataset("census", BUDGET, "person", ("north", "south"))
EVENTS = (Laplace(20.0), Gaussian(30.0), Gaussian(100.0) * 3, Laplace(4.0))
SECRET = "s"


def start():
    balance = Balance.of(DATASET)
    return balance.after(Allot("team:blue", Fraction(1, 2))).after(Allot("purpose:maps", Fraction(1, 3)))


def charges():
    return st.builds(
        lambda event, team, purpose, part: Charge(event, BUDGET.price(event), team, purpose, part),
        st.sampled_from(EVENTS),
        st.sampled_from([None, "blue"]),
        st.sampled_from([None, "maps"]),
        st.sampled_from([None, "north", "south"]),
    )


def admitted_by_hand(charged, new):
    """The rule in so many words: for everybody touched, in every account that pays, some order stays within its limit."""
    limits = BUDGET.limits
    for account, share in ((None, Fraction(1)), ("team:blue", Fraction(1, 2)), ("purpose:maps", Fraction(1, 3))):
        if account is not None and account not in new.accounts:
            continue
        for part in ("north", "south") if new.part is None else (new.part,):
            counted = [each for each in [*charged, new] if account is None or account in each.accounts]
            prices = [each.price for each in counted if each.part in (None, part)]
            totals = [sum(price.amounts[i] for price in prices) for i in range(len(limits.amounts))]
            if not any(total <= share * limit for total, limit in zip(totals, limits.amounts, strict=True)):
                return False
            if sum(price.failure for price in prices) > share * limits.failure:
                return False
    return True


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(charges(), st.sampled_from(["spend", "commit", "void"])), max_size=25))
def test_a_charge_is_admitted_exactly_when_the_plain_rule_says_so(steps):
    balance, charged = start(), []
    for charge, fate in steps:
        reserve = Reserve(charge, holder_of(SECRET))
        try:
            after = balance.after(Spend(charge) if fate == "spend" else reserve)
        except Exhausted:
            assert not admitted_by_hand(charged, charge)
            continue
        assert admitted_by_hand(charged, charge)
        if fate == "void":
            restored = after.after(Void(1, SECRET), reserve)
            assert spent(restored) == spent(balance)
            continue
        if fate == "commit":
            after = after.after(Commit(1), reserve)
        charged.append(charge)
        balance = after
    assert Balance.from_dict(DATASET, balance.to_dict()) == balance


def spent(balance):
    """What was spent, where a part on which nothing was spent is the same as one that was never charged."""
    nothing = BUDGET.nothing
    return {
        name: (account.whole, {part: price for part, price in account.parts.items() if price != nothing})
        for name, account in balance.accounts.items()
    }


@given(st.permutations(range(12)))
@settings(max_examples=20, deadline=None)
def test_sums_do_not_depend_on_the_order(order):
    prices = [BUDGET.price(Gaussian(100.0 + k)) for k in range(12)]
    balance = Balance.of(DATASET)
    for k in order:
        balance = balance.after(Spend(Charge(Gaussian(100.0 + k), prices[k])))
    assert balance.accounts[WHOLE].whole == sum(prices[1:], start=prices[0])


@settings(max_examples=30, deadline=None)
@given(charges())
def test_what_is_left_is_the_last_number_that_fits(charge):
    balance = start().after(Spend(Charge(Laplace(50.0), BUDGET.price(Laplace(50.0)), part="north")))
    left = balance.left(charge)
    for _ in range(left):
        balance = balance.after(Spend(charge))
    with pytest.raises(Exhausted):
        balance.after(Spend(charge))


def test_the_part_on_which_most_was_spent_is_found_with_one_odometer(monkeypatch):
    dataset = Dataset("census", BUDGET, "person", tuple(f"part {k}" for k in range(50)))
    balance = Balance.of(dataset).after(Allot("team:blue", Fraction(1, 2)))
    for k in range(50):  # the most is spent on part 31; noise of two kinds, whose best orders differ
        event = Laplace(30.0 + (k - 31) ** 2) if k % 2 else Gaussian(90.0 + k)
        balance = balance.after(Spend(Charge(event, BUDGET.price(event), "blue", part=f"part {k}")))
    readings = [BUDGET.odometer(spent) for spent in balance.own.exposures(None)]
    large = Charge(Laplace(1.0), BUDGET.price(Laplace(1.0)))
    together = [BUDGET.odometer(spent + large.price) for spent in balance.own.exposures(None)]
    asked = []
    odometer = Filter.odometer
    monkeypatch.setattr(Filter, "odometer", lambda budget, spent: asked.append(spent) or odometer(budget, spent))

    found = Status.of(balance, 1, "0:0", ()).accounts
    assert found[0].odometer == found[1].odometer == max(readings, key=lambda each: each.used)
    assert len(asked) == 2  # one for each account
    with pytest.raises(Exhausted) as refused:
        balance.after(Spend(large))
    after = max(together, key=lambda each: each.used)
    assert f"that was spent {rounded_up(after.spent)}, of 1 (" in str(refused.value)
    assert len(asked) == 2 + 3  # before, alone and together


ACTS = [
    acts.Open(DATASET),
    Allot("team:blue", Fraction(1, 3)),
    acts.Transfer("team:blue", "purpose:maps", Fraction(1, 7)),
    Spend(Charge(Laplace(20.0), BUDGET.price(Laplace(20.0)), booked=(0.5, 1e-9))),
    Reserve(Charge(Laplace(20.0), BUDGET.price(Laplace(20.0)), "blue", "maps", "north"), "h", True),
    acts.Draw(7),
    Commit(7, Charge(Laplace(20.0), BUDGET.price(Laplace(20.0))), "s"),
    Void(7, "s"),
]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.act)
def test_acts_are_read_back_as_they_were_written_and_nothing_else_is(act):
    document = acts.to_dict(act)
    assert acts.from_dict(document) == act
    for field in document:
        with pytest.raises(InvalidInput):
            acts.from_dict({name: value for name, value in document.items() if name != field})
        for value in ({}, [], -1, "", 1e300):
            with pytest.raises((InvalidInput, LedgerError)):
                acts.from_dict({**document, field: value})
    with pytest.raises(InvalidInput):
        acts.from_dict({**document, "more": 1})
