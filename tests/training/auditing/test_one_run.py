"""The audit of one run: fair coins, honest runs that are not refuted, a fault that is, and real data that are booked."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

from renyi import Adjacency, Filter, InvalidInput, Poisson, UnsupportedError
from renyi.ledger import Ledger
from renyi.training import audit_run, replay
from renyi.training.auditing.one_run import Guessed, OneRunAudit, judged, numbers
from tests.training import support
from tests.training.auditing.faults import FAULTS

CANARIES = 200


def plan(**changes):
    one = {"sampling": Poisson(1.0), "steps": 1, "expected_batch": 1, "noise_multiplier": None, "epsilon": 4.0}
    return support.plan(**(one | changes))


def pulled(model, batch):
    return -model(batch).squeeze(1)


def attacked(asked=None, *, canaries=CANARIES, losses=pulled, **changes):
    """Each canary is a gradient in a direction of its own, and nobody else is in the data."""
    net = nn.Linear(CANARIES, 1, bias=False)
    nn.init.zeros_(net.weight)
    given = {"made_up": True} | changes
    return audit_run(
        asked or plan(),
        net,
        torch.optim.SGD(net.parameters(), lr=1.0),
        losses,
        torch.zeros(1, CANARIES),
        4.0 * torch.eye(CANARIES)[:canaries],
        **given,
    )


@pytest.mark.parametrize(
    "changes", [{}, {"sampling": Poisson(0.3), "steps": 5}], ids=["one release", "five on samples"]
)
def test_an_honest_run_is_not_refuted_and_shows_no_more_than_is_claimed(changes):
    made = attacked(plan(**changes))
    assert not made.refuted
    assert made.canaries == CANARIES
    assert [one.guesses for one in made.guesses] == [200, 100, 40, 10]
    assert 0.0 <= made.epsilon_lower() <= made.claimed()
    assert 0.0 <= made.epsilon_within_family() <= made.claimed()


def test_a_forgotten_clip_is_refuted():
    planted, _ = FAULTS["a forgotten clip"]
    with planted():
        made = attacked(plan(epsilon=2.0))
    assert made.refuted
    assert made.epsilon_within_family() > made.claimed()
    assert "THE CLAIM IS REFUTED" in str(made)


def test_a_fair_coin_decides_once_whether_a_canary_is_in_the_run():
    """Of two hundred, about half are ever seen in twenty steps; thrown anew at each step, nearly all would be."""
    seen = set()

    def losses(model, batch):
        if len(batch) < CANARIES:  # all of them together are measured before and after the run
            seen.update(batch.argmax(1)[batch.sum(1) > 0.0].tolist())
        return -model(batch).squeeze(1)

    attacked(plan(steps=20), losses=losses)
    assert 70 <= len(seen) <= 130


def test_the_highest_scores_are_said_to_be_in_and_the_lowest_out():
    coins = np.arange(CANARIES) % 2 == 0
    assert judged(np.where(coins, 1.0, 0.0), coins, 200) == Guessed(200, 200)
    assert judged(np.where(coins, 0.0, 1.0), coins, 200) == Guessed(200, 0)
    assert judged(np.where(coins, 1.0, 0.0), coins, 10) == Guessed(10, 10)


def test_all_numbers_of_guesses_are_fixed_by_the_number_of_canaries():
    assert numbers(1000) == (1000, 500, 200, 50)
    assert numbers(20) == (20, 10, 4)
    scores = np.arange(1000.0)
    coins = scores >= 900  # few are in: half of the guesses say so all the same
    assert judged(scores, coins, 1000) == Guessed(1000, 600)
    assert judged(scores, coins, 50) == Guessed(50, 50)


def test_more_looks_show_less():
    alone = OneRunAudit(plan(), 1000, (Guessed(500, 420),), 0.99)
    several = OneRunAudit(plan(), 1000, (Guessed(500, 420), Guessed(200, 100), Guessed(50, 25)), 0.99)
    assert 0.0 < several.epsilon_lower() < alone.epsilon_lower()


def test_words_and_json_say_the_same():
    made = OneRunAudit(plan(), 1000, (Guessed(500, 420), Guessed(50, 45)), 0.99)
    found = json.loads(made.to_json())
    assert (found["kind"], found["canaries"]) == ("one-run", 1000)
    assert found["guesses"] == [{"guesses": 500, "right": 420}, {"guesses": 50, "right": 45}]
    assert found["words"] == str(made)
    for text in (
        "420 of 500, 45 of 50",
        "fair coin thrown before",
        "of the claimed 4.",
        "proves nothing",
        "no epsilon below",
    ):
        assert text in str(made)


def test_a_run_on_real_data_is_booked_once(tmp_path):
    asked = plan(steps=3, epsilon=None, noise_multiplier=4.0)
    with Ledger.open(tmp_path / "budget.db", who="ada") as ledger:
        ledger.create("people", Filter(epsilon=20.0, delta=1e-5), unit="example")
        made = attacked(asked, made_up=False, journal=tmp_path / "run.jsonl", ledger=ledger)
        assert ledger.released() == asked.events()
    record = replay(tmp_path / "run.jsonl")
    assert record.guarantee().event == asked.events()
    assert made.booked == record.head
    assert f"on real data, booked in the journal that ends {record.head}" in str(made)


WRONG = {
    "few canaries": ({"canaries": 19}, "canaries"),
    "who is in it": ({"made_up": "no"}, "True or False"),
    "a journal of nobody": ({"journal": "run.jsonl"}, "nobody is in data that were made up"),
    "no journal of somebody": ({"made_up": False}, "give journal="),
    "no confidence": ({"confidence": 1.0}, "confidence"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_audited_is_refused_with_what_to_do(name):
    changes, message = WRONG[name]
    with pytest.raises(InvalidInput, match=message):
        attacked(**changes)


def test_coins_make_neighbours_with_one_record_more():
    with pytest.raises(UnsupportedError, match="add-or-remove"):
        attacked(plan(adjacency=Adjacency.ZERO_OUT))
