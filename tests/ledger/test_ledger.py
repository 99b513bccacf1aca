"""What a ledger promises to those who spend from it, on a SQLite file and on a PostgreSQL server alike."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

import renyi
from renyi import Adjacency, ApproximateDP, Filter, Gaussian, InvalidInput, Laplace, NotSerialisable, UnsupportedError
from renyi.ledger import (
    AlreadySettled,
    Exhausted,
    KeyReused,
    Ledger,
    LedgerError,
    NotInLedger,
    Payer,
    Receipt,
    Reservation,
    TamperedLedger,
)
from renyi.ledger.store import page

BUDGET = Filter(epsilon=1.0, delta=1e-6)
COUNT = Laplace(20.0)


@pytest.fixture
def ledger(where):
    with Ledger.open(where, who="ada") as opened:
        opened.create("census", BUDGET, unit="person")
        yield opened


@pytest.fixture
def local(tmp_path):
    """A ledger in a file, for what does not depend on the store."""
    with Ledger.open(tmp_path / "budget.db", who="ada") as opened:
        opened.create("census", BUDGET, unit="person")
        yield opened


def spent(ledger, account=0, **named):
    return ledger.status(**named).accounts[account].odometer.spent


def test_a_spend_is_charged_what_its_event_costs_and_nothing_else(ledger):
    before = ledger.status()
    receipt = ledger.spend(COUNT, why="a count")
    after = ledger.status()
    assert (before.entries, after.entries) == (1, 2)
    assert before.accounts[0].used == 0.0
    assert after.head == receipt.head
    assert after.accounts[0].odometer == BUDGET.odometer(BUDGET.price(COUNT))
    assert ledger.verify() == {"census": receipt.head}


def test_exactly_as_many_releases_are_admitted_as_what_if_says(ledger):
    event = Laplace(3.0)
    left = ledger.what_if(event).left
    assert left == BUDGET.left(BUDGET.nothing, event)
    for _ in range(left):
        ledger.spend(event)
    with pytest.raises(Exhausted, match="nothing may be released"):
        ledger.spend(event)
    refused = ledger.what_if(event)
    assert (refused.admitted, refused.left) == (False, 0)
    assert ledger.status().entries == left + 1  # neither the refusal nor the questions were written


def test_what_costs_next_to_nothing_is_counted_all_the_same(local):
    tiny = Gaussian(1e9)
    left = local.what_if(tiny).left
    assert (left, left > 10**16) == (BUDGET.left(BUDGET.nothing, tiny), True)


@pytest.mark.parametrize("parts", ["north", None, 3])
def test_parts_are_a_list_of_names(local, parts):
    with pytest.raises(InvalidInput, match="a list of names"):
        local.create("parted", BUDGET, parts=parts)


def test_a_refusal_names_the_price_what_was_spent_and_of_how_much(local):
    local.allot(0.25, team="blue")
    local.spend(Laplace(20.0), team="blue")
    for event, team, said in (
        (Laplace(0.5), None, "together with the 0.05 that was spent 2.05001, of 1 (205.001 % of the limit)."),
        (Laplace(4.0), "blue", "0.300001, of 1 (30.0001 % of the limit, of which the share is 1/4)."),
        (ApproximateDP(0.1, 1e-7), None, "the 0 that was spent 1e-07, of a reserve of 5e-08 (200 % of the limit)."),
    ):
        with pytest.raises(Exhausted, match=re.escape(said)):
            local.spend(event, team=team)
        assert said in local.what_if(event, team=team).reason


def test_a_refusal_shows_that_the_limit_is_exceeded_even_by_a_digit_that_nobody_prints(local):
    local.spend(Laplace(10.0) * 9)
    with pytest.raises(Exhausted, match=re.escape("100.001 % of the limit")):
        local.spend(Laplace(10.0))


def test_a_team_that_is_renamed_takes_what_it_has_left_along(local):
    local.allot(0.25, team="blue")
    local.spend(Laplace(20.0), team="blue")
    local.allot(0, team="navy")
    left = local.status().accounts[1].share * (1 - Fraction(local.status().accounts[1].used))
    local.transfer(f"{float(left) - 1e-9:.9f}", from_team="blue", team="navy")
    local.spend(Laplace(20.0), team="navy")
    with pytest.raises(Exhausted, match="team:blue"):
        local.spend(Laplace(1e3), team="blue")


def test_what_costs_nothing_is_admitted_for_ever(local):
    assert local.what_if(Gaussian(1.0) * 0).left == math.inf
    local.spend(Gaussian(1.0) * 0)


def test_a_reservation_counts_until_it_is_voided_and_voiding_restores_the_very_same_balance(ledger):
    ledger.spend(COUNT)
    before = ledger.status().accounts
    reservation = ledger.reserve(Gaussian(10.0), why="if the weather holds")
    (waiting,) = ledger.status().unsettled
    assert (waiting.owner, waiting.sequence, waiting.drawing) == ("ada", reservation.receipt.sequence, False)
    assert ledger.status().accounts != before
    ledger.void(reservation)
    assert ledger.status().accounts == before
    assert ledger.status().unsettled == ()
    assert renyi.epsilon(ledger.released(), delta=1e-6) == renyi.epsilon(COUNT, delta=1e-6)


def test_only_the_holder_may_void(ledger):
    reservation = ledger.reserve(COUNT)
    for secret in (None, "guessed"):
        with pytest.raises(AlreadySettled, match="holder"):
            ledger.void(Reservation(reservation.receipt, secret))
    assert reservation.secret not in repr(reservation)
    ledger.void(reservation)


def test_nothing_is_voided_once_noise_may_have_been_drawn(ledger):
    committed, drawn = ledger.reserve(COUNT), ledger.reserve(COUNT)
    ledger.commit(committed)
    ledger.draw(drawn)
    for reservation in (committed, drawn):
        with pytest.raises(AlreadySettled):
            ledger.void(reservation)
    ledger.commit(drawn)
    assert ledger.released() == (COUNT * 2).canonical()


def test_settling_twice_is_settling_once_and_settling_otherwise_is_refused(ledger):
    first, second = ledger.reserve(COUNT), ledger.reserve(COUNT)
    assert ledger.commit(first).hash == ledger.commit(first).hash
    assert ledger.void(second).hash == ledger.void(second).hash
    with pytest.raises(AlreadySettled, match="otherwise"):
        ledger.commit(second)
    with pytest.raises(AlreadySettled):
        ledger.commit(ledger_entry_that_is_no_reservation(ledger))
    assert ledger.released() == COUNT


def ledger_entry_that_is_no_reservation(ledger):
    return Reservation(ledger.spend(Gaussian(1.0) * 0), None)


def test_what_was_not_released_returns_to_the_holder(ledger):
    run = Gaussian(100.0)
    reservation = ledger.reserve(run * 100)
    ledger.draw(reservation)
    with pytest.raises(AlreadySettled, match="holder"):
        ledger.commit(Reservation(reservation.receipt, None), run * 40)
    with pytest.raises(Exhausted, match="more was released"):
        ledger.commit(reservation, run * 101)
    ledger.commit(reservation, run * 40)
    assert spent(ledger) == BUDGET.odometer(BUDGET.price(run * 40)).spent
    assert ledger.released() == run * 40
    ledger.verify()


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError, Interrupted])
def test_a_block_that_ends_by_an_exception_is_settled_as_spent(ledger, error):
    with pytest.raises(error), ledger.spending(COUNT):
        raise error
    with ledger.spending(COUNT):
        (waiting,) = ledger.status().unsettled
        assert waiting.drawing
    assert ledger.status().unsettled == ()
    assert ledger.released() == COUNT * 2


def test_a_block_never_runs_when_the_budget_refuses(ledger):
    with pytest.raises(Exhausted), ledger.spending(Laplace(0.1)):
        raise AssertionError
    assert ledger.status().entries == 1


def test_a_key_is_charged_once(ledger):
    first = ledger.spend(COUNT, key="q1")
    for _ in range(20):
        again = ledger.spend(COUNT, key="q1")
        assert (again.head, again.replayed) == (first.head, True)
    assert ledger.status().entries == 2


@pytest.mark.parametrize("other", [{"event": Laplace(21.0)}, {"team": "blue"}])
def test_a_key_with_another_request_is_an_error(ledger, other):
    ledger.allot(0.5, team="blue")
    ledger.spend(COUNT, key="q1")
    with pytest.raises(KeyReused, match="q1"):
        ledger.spend(**{"event": COUNT, "key": "q1", **other})
    with pytest.raises(KeyReused):
        ledger.reserve(COUNT, key="q1")


def test_a_repeated_reservation_is_the_same_one_while_nothing_was_drawn(ledger):
    first = ledger.reserve(COUNT, key="q1", secret="s1")
    assert ledger.reserve(COUNT, key="q1", secret="s1").secret == "s1"
    stranger = ledger.reserve(COUNT, key="q1")
    assert (stranger.receipt.head, stranger.secret) == (first.receipt.head, None)
    ledger.draw(first)
    with pytest.raises(AlreadySettled, match="drawn"):
        ledger.reserve(COUNT, key="q1")


def test_the_key_of_a_voided_reservation_releases_nothing(ledger):
    ledger.void(ledger.reserve(COUNT, key="q1", secret="s1"))
    with pytest.raises(AlreadySettled, match="new key"):
        ledger.reserve(COUNT, key="q1", secret="s1")


def test_a_block_is_not_run_again_under_the_key_of_one_that_may_have_drawn(ledger):
    with ledger.spending(COUNT, key="q1"):
        pass
    with pytest.raises(AlreadySettled), ledger.spending(COUNT, key="q1"):
        raise AssertionError


def test_a_share_caps_and_the_whole_budget_decides_too(ledger):
    event = Laplace(10.0)
    ledger.allot(0.25, team="blue")
    ledger.allot("3/4", team="red")
    most = ledger.what_if(event, team="blue").left
    assert 0 < most < ledger.what_if(event).left
    for _ in range(most):
        ledger.spend(event, team="blue")
    with pytest.raises(Exhausted, match="team:blue"):
        ledger.spend(event, team="blue")
    while ledger.what_if(event).admitted:
        ledger.spend(event)
    with pytest.raises(Exhausted, match="the dataset 'census' does not"):
        ledger.spend(event, team="red")  # its own share is untouched


def test_a_team_and_a_purpose_pay_together(ledger):
    ledger.allot(0.5, team="blue")
    ledger.allot(0.01, purpose="maps")
    with pytest.raises(Exhausted, match="purpose:maps"):
        ledger.spend(Laplace(3.0), team="blue", purpose="maps")
    ledger.spend(Laplace(3.0), team="blue")
    whole, purpose, team = ledger.status().accounts
    assert [whole.account, purpose.account, team.account] == ["all", "purpose:maps", "team:blue"]
    assert purpose.used == 0.0
    assert team.used == pytest.approx(2 * whole.used)


def test_transfers_move_what_is_not_spent(ledger):
    ledger.allot(0.5, team="blue")
    ledger.allot(0.25, team="red")
    ledger.spend(Laplace(3.0), team="blue")
    with pytest.raises(Exhausted, match="spent more"):
        ledger.transfer(0.5, from_team="blue", team="red")
    with pytest.raises(Exhausted, match="cannot give"):
        ledger.transfer(0.6, from_team="blue", team="red")
    ledger.transfer(0.1, from_team="blue", team="red")
    assert [each.share for each in ledger.status().accounts] == [1, Fraction(2, 5), Fraction(7, 20)]
    with pytest.raises(NotInLedger, match="team:green"):
        ledger.transfer(0.1, from_team="blue", team="green")


def test_a_plan_is_booked_whole_and_takes_at_most_what_basic_composition_would(ledger):
    plan = Gaussian(20.0) * 10
    exact = renyi.epsilon(plan, delta=1e-8)
    asked = ledger.what_if(plan, delta=1e-8)
    assert (asked.admitted, asked.left) == (True, BUDGET.left(BUDGET.nothing, ApproximateDP(exact, 1e-8)))
    assert not ledger.what_if(plan, delta=1e-7).admitted
    assert (ledger.what_if(Gaussian(0.0), delta=1e-8).admitted, ledger.status().entries) == (False, 1)
    ledger.book(plan, delta=1e-8)
    odometer = ledger.status().accounts[0].odometer
    assert odometer == BUDGET.odometer(BUDGET.price(ApproximateDP(exact, 1e-8)))
    basic = [limit - int(exact * 2**128) for limit in BUDGET.limits.amounts]
    left = [limit - amount for limit, amount in zip(BUDGET.limits.amounts, price_of_all(ledger), strict=True)]
    assert all(really >= by_sum for really, by_sum in zip(left, basic, strict=True))
    with pytest.raises(Exhausted):
        ledger.book(plan, delta=1e-7)  # more than the reserve for deltas holds
    with pytest.raises(Exhausted, match="infinite"):
        ledger.book(Gaussian(0.0), delta=1e-8)
    ledger.verify()


def price_of_all(ledger):
    return BUDGET.price(ApproximateDP(*[line.act for line in ledger.history()][-1].charge.booked)).amounts


def test_of_disjoint_parts_the_worst_counts(where):
    with Ledger.open(where) as ledger:
        ledger.create("census", BUDGET, unit="person", parts=("north", "south"))
        event = Laplace(3.0)
        most = ledger.what_if(event).left
        for _ in range(most):
            ledger.spend(event, part="north")
            ledger.spend(event, part="south")  # costs nobody in the north anything
        for part in ("north", None):
            with pytest.raises(Exhausted):
                ledger.spend(event, part=part)
        assert renyi.epsilon(ledger.released(part="north"), delta=1e-6) == renyi.epsilon(event * most, delta=1e-6)
        for use in (lambda: ledger.spend(event, part="west"), lambda: ledger.released(part="nrth")):
            with pytest.raises(NotInLedger, match="north, south"):
                use()  # what was released from a part with a slip in its name would look like nothing
        ledger.verify()


def test_a_release_from_the_whole_counts_in_every_part(where):
    with Ledger.open(where) as ledger:
        ledger.create("census", BUDGET, unit="person", parts=("north", "south"))
        event = Laplace(3.0)
        most = ledger.what_if(event).left
        ledger.spend(event)
        assert ledger.what_if(event, part="south").left == most - 1
        ledger.spend(event, part="north")
        assert ledger.what_if(event, part="south").left == most - 1
        assert ledger.what_if(event).left == most - 2


def test_parts_are_for_add_or_remove_only(where):
    budget = Filter(epsilon=1.0, delta=1e-6, adjacency=Adjacency.REPLACE_ONE)
    with Ledger.open(where) as ledger, pytest.raises(UnsupportedError, match="two parts"):
        ledger.create("census", budget, parts=("north", "south"))


def test_an_event_of_another_adjacency_is_refused(local):
    with pytest.raises(UnsupportedError):
        local.spend(ApproximateDP(0.1, 1e-9, Adjacency.REPLACE_ONE))
    assert local.status().entries == 1


def test_code_cannot_be_recorded_and_is_not_charged(local):
    with pytest.raises(NotSerialisable):
        local.spend(renyi.FromRenyi(lambda order: 0.01 * order))
    assert local.status().entries == 1


def test_datasets_have_chains_and_budgets_of_their_own(ledger):
    ledger.create("survey", Filter.zcdp(rho=0.5, delta=1e-6), unit="household")
    ledger.spend(Gaussian(2.0), dataset="survey")
    assert spent(ledger, dataset="survey") == pytest.approx(0.125)
    assert spent(ledger, dataset="census") == 0.0
    assert [each.name for each in ledger.datasets()] == ["census", "survey"]
    assert set(ledger.verify()) == {"census", "survey"}
    with pytest.raises(NotInLedger, match="census, survey"):
        ledger.spend(COUNT)
    with pytest.raises(NotInLedger, match=re.escape("no dataset 'cencus'")):
        ledger.spend(COUNT, dataset="cencus")


def test_a_budget_is_fixed(ledger):
    with pytest.raises(LedgerError, match="exists already"):
        ledger.create("census", Filter(epsilon=2.0, delta=1e-6))


@pytest.mark.parametrize("read", [Ledger.history, Ledger.replay])
def test_who_reads_half_of_the_entries_holds_no_connection_and_sees_those_that_there_were(ledger, read, monkeypatch):
    monkeypatch.setattr(page, "_ROWS_AT_ONCE", 2)
    for _ in range(4):
        ledger.spend(COUNT)
    unfinished = [read(ledger) for _ in range(20)]  # more than a pool of connections holds
    begun = [next(each) for each in unfinished]
    assert ledger._store._engine.pool.checkedout() == 0
    ledger.spend(COUNT)
    assert [1 + len(list(rest)) for rest in unfinished] == [5] * 20
    assert begun[0] == next(read(ledger))
    assert len(list(read(ledger))) == 6


def test_history_says_who_why_and_when_in_the_order_of_entries(local):
    local.spend(COUNT, why="a count", more={"ticket": 17})
    opened, line = local.history()
    assert (opened.act.act, line.act.act) == ("open", "spend")
    assert {"who": "ada", "why": "a count", "ticket": 17}.items() <= line.note.items()
    assert line.note["when"].endswith("+00:00")
    assert line.to_dict()["event"] == str(COUNT)
    assert [each.sequence for each in local.history(start=1)] == [1]


def test_a_clock_that_jumps_changes_nothing(local, monkeypatch):
    from renyi.ledger.book import note

    class Jumping(note.datetime):
        years = iter([2031, 1999, 2026])

        @classmethod
        def now(cls, zone):
            return note.datetime(next(cls.years), 1, 1, tzinfo=zone)

    monkeypatch.setattr(note, "datetime", Jumping)
    for _ in range(3):
        local.spend(COUNT)
    assert [line.note["when"][:4] for line in local.history(start=1)] == ["2031", "1999", "2026"]
    local.verify()


def test_erasing_a_note_leaves_the_chain_and_refunds_nothing(ledger):
    receipt = ledger.reserve(COUNT, why="for Grace").receipt
    before = ledger.status().accounts
    ledger.erase(receipt.sequence)
    assert ledger.status().accounts == before
    assert ledger.status().unsettled[0].owner is None
    assert [line.note is None for line in ledger.history()] == [False, True]
    assert ledger.verify(head=receipt.head) == {"census": receipt.head}
    with pytest.raises(NotInLedger, match="erased before"):
        ledger.erase(receipt.sequence)


def test_a_kept_head_shows_a_rewritten_or_truncated_ledger(ledger, where, tmp_path):
    receipt = ledger.spend(COUNT)
    assert ledger.verify(head=receipt.head)
    number, _, hashed = receipt.head.partition(":")
    with pytest.raises(TamperedLedger, match="rewritten"):
        ledger.verify(head=f"{number}:{'0' * 64}")
    with pytest.raises(TamperedLedger, match="truncated"):
        ledger.verify(head=f"7:{hashed}")
    with pytest.raises(InvalidInput, match="NUMBER:HASH"):
        ledger.verify(head=hashed)


def test_an_export_is_read_back_as_the_very_same_ledger(ledger, where, tmp_path):
    ledger.allot(0.5, team="blue")
    ledger.void(ledger.reserve(COUNT))
    ledger.reserve(COUNT, team="blue")
    ledger.draw(ledger.reserve(COUNT))
    ledger.create("survey", Filter.gdp(mu=1.0, delta=1e-6))
    ledger.erase(1, dataset="census")
    assert ledger.export(tmp_path / "a.jsonl") == 8
    with Ledger.open(tmp_path / "copy.db") as copy:
        assert copy.import_(tmp_path / "a.jsonl") == ledger.verify() == copy.verify()
        assert copy.status("census") == ledger.status("census")
        copy.export(tmp_path / "b.jsonl")
        with pytest.raises(LedgerError, match="already"):
            copy.import_(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    with pytest.raises(LedgerError, match="File exists"):
        ledger.export(tmp_path / "a.jsonl")


def test_an_entry_is_found_by_its_key_and_a_drawing_with_a_key_is_written_once(ledger):
    reservation = ledger.reserve(COUNT, key="a")
    assert ledger.find("b") is None
    assert ledger.find("a") == list(ledger.history())[1]
    first, second = (ledger.draw(reservation, key="b") for _ in range(2))
    assert (first.replayed, second.replayed, first.head) == (False, True, second.head)
    assert ledger.find("b").act.reserved == reservation.receipt.sequence
    with pytest.raises(KeyReused):
        ledger.draw(ledger.reserve(COUNT), key="b")
    with pytest.raises(NotInLedger, match="no dataset 'survey'"):
        Payer(ledger, "survey")


def test_a_payer_charges_its_team_purpose_and_part(tmp_path):
    with Ledger.open(tmp_path / "budget.db") as ledger:
        ledger.create("census", BUDGET, parts=("north", "south"))
        ledger.allot(0.5, team="blue")
        payer = Payer(ledger, team="blue", part="north")
        assert (payer.dataset, payer.charged.unit, Payer.of(payer)) == ("census", "record", payer)
        payer.spend(COUNT, why="a count")
        payer.reserve(COUNT, key="a", secret="b", why="another")
        assert [(line.act.charge.team, line.act.charge.part) for line in ledger.history(start=2)] == [
            ("blue", "north")
        ] * 2
        payer.expect(unit="record", adjacency=Adjacency.ADD_OR_REMOVE)
        payer.expect(
            unit="example", adjacency=Adjacency.ADD_OR_REMOVE
        )  # a plan's word for one row, unless it says another
        with pytest.raises(InvalidInput, match="protects each 'record', this plan each 'person'"):
            payer.expect(unit="person", adjacency=Adjacency.ADD_OR_REMOVE)
        with pytest.raises(InvalidInput, match="add-or-remove neighbours, this plan about replace-one"):
            payer.expect(unit="record", adjacency=Adjacency.REPLACE_ONE)


@pytest.mark.parametrize("value", [0.5, "1/2", Fraction(1, 2)])
def test_a_share_is_exact(local, value):
    local.allot(value, team="blue")
    assert local.status().accounts[1].share == Fraction(1, 2)


@pytest.mark.parametrize(
    "value",
    [-0.1, 1.1, "x", None, True, math.nan, math.inf, "1/0", "1e-999999999", "1e-9_9_9_9_9_9_9_9_9", "0." + "1" * 200],
)
def test_what_is_no_share_is_refused(local, value):
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        local.allot(value, team="blue")


@pytest.mark.parametrize("named", ["", " x", "a\nb", "x" * 201, 7])
def test_what_is_no_name_is_refused(local, named):
    with pytest.raises(InvalidInput, match="printable"):
        local.create(named, BUDGET)
    with pytest.raises(InvalidInput):
        local.allot(0.5, team="a", purpose="b")
    with pytest.raises(InvalidInput, match="an event"):
        local.spend("laplace")


DEEP = [[]]
for _ in range(100_000):
    DEEP = [DEEP]

ODD = {
    "a dataset that is no text of Unicode": lambda ledger: ledger.status("\udcff"),
    "the same, to spend from": lambda ledger: ledger.spend(COUNT, dataset="\udcff"),
    "the same, to verify": lambda ledger: ledger.verify("\udcff"),
    "no number to begin at": lambda ledger: list(ledger.history(start=None)),
    "half a number": lambda ledger: list(ledger.history(start=1.5)),
    "no number to erase": lambda ledger: ledger.erase("0"),
    "a number that no database holds": lambda ledger: ledger.erase(10**30),
    "no reservation to draw": lambda ledger: ledger.draw(3),
    "a receipt to commit": lambda ledger: ledger.commit(ledger.spend(COUNT)),
    "no reservation to void": lambda ledger: ledger.void(None),
    "a secret that is no text": lambda ledger: ledger.void(Reservation(Receipt("census", 0, "", "k"), 3)),
    "a note without an end": lambda ledger: ledger.spend(COUNT, more={"deep": DEEP}),
    "an export to nowhere": lambda ledger: ledger.export("a\0b"),
    "an import from a number": lambda ledger: ledger.import_(3),
    "a backup without a name": lambda ledger: ledger.backup(None),
}


@pytest.mark.parametrize("what", ODD)
def test_whatever_comes_in_only_errors_of_ours_come_out(local, what):
    entries = local.status().entries + (what == "a receipt to commit")
    with pytest.raises((InvalidInput, NotInLedger)):
        ODD[what](local)
    assert local.status().entries == entries
    assert list(local.history(start=10**30)) == []
