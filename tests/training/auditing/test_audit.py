"""Audits of the release step: honest plans are not refuted, planted faults are, and what is said is what was counted."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
import torch
from torch.utils.data import Subset

import renyi
from renyi import Adjacency, Filter, InvalidInput, Poisson, UnsupportedError
from renyi.ledger import Ledger
from renyi.numerics.printing import rounded_up
from renyi.training import AdaptiveClip, Audit, Inserted, Schedule, audit, replay
from renyi.training.auditing.document import NOT_SHOWN, VERSION
from renyi.training.auditing.rates import Rates
from renyi.training.auditing.trials import scaled
from tests.training import support
from tests.training.auditing.faults import FAULTS

ALL = {"sampling": Poisson(1.0), "steps": 10, "expected_batch": 8, "noise_multiplier": 1.0}


def plan(**changes):
    return support.plan(**(ALL | changes))


HONEST = {
    "everybody": {},
    "Poisson samples": {"sampling": Poisson(0.3)},
    "replace-one": {"adjacency": Adjacency.REPLACE_ONE},
    "zero-out": {"adjacency": Adjacency.ZERO_OUT},
    "a bound for each part": {"clip": {"encoder.weight": 0.5, "head": 2.0}},
    "an adaptive bound": {"clip": AdaptiveClip(1.0, count_noise_multiplier=3.0)},
    "less noise later": {"noise_schedule": Schedule.linear(1.0, 0.5, steps=10)},
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_step_is_not_refuted_and_costs_what_is_claimed_at_most(name):
    made = audit(plan(**HONEST[name]), trials=200)
    assert not made.refuted
    assert [one.rates.statistic for one in made.findings()] == ["step", "difference"]
    assert sum(one.rates.absent + one.rates.present for one in made.findings()) == 160 + 80  # a fifth chose thresholds
    assert 0.0 <= made.epsilon_within_family() <= made.claimed()
    for one in made.findings():
        step = plan(**HONEST[name]).event(0) * one.rates.steps
        assert one.claimed_fnr <= renyi.trade_off(step, fpr=one.fpr, adjacency=made.adjacency) + 1e-12
        assert one.epsilon_lower <= renyi.epsilon(step, delta=1e-5, adjacency=made.adjacency)


SHORT = {
    "noise divided by 1.3": ({"noise_multiplier": 0.5}, {"trials": 1_400}),
    "a forgotten clip": ({}, {"trials": 200}),
    "the same noise twice": ({}, {"trials": 300}),
    "noise sigma/4 on each of 4 ranks": ({"noise_multiplier": 0.7}, {"trials": 600}),
    "shuffled batches priced as Poisson": (
        {"sampling": Poisson(0.1), "noise_multiplier": 0.3},
        {"trials": 40, "epochs": 100},
    ),
}
"""For each fault a plan and an audit that are short; `make audit` has epochs of a hundred steps, and three claims."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen_by_its_statistic(name):
    changes, asked = SHORT[name]
    planted, statistic = FAULTS[name]
    with planted():
        made = audit(plan(**changes), **asked)
    assert made.refuted
    assert statistic in [one.rates.statistic for one in made.findings() if one.refuted]


def test_only_the_difference_sees_the_same_noise_twice():
    """One release looks as it should; two of them do not."""
    planted, _ = FAULTS["the same noise twice"]
    with planted():
        made = audit(plan(noise_multiplier=3.0), trials=400)
    assert [one.refuted for one in made.findings()] == [False, True]
    assert "THE CLAIM IS REFUTED" in str(made)


@pytest.fixture(scope="module")
def counted():
    """An audit whose numbers are fixed: 1,000 and 500 trials of each kind, some errors."""
    rates = (
        Rates("step", 1, 0.5, absent=800, false_alarms=260, present=800, missed=240),
        Rates("difference", 2, 1.0, absent=400, false_alarms=100, present=400, missed=90),
    )
    return Audit(plan(), rates, 0.99)


def test_the_estimate_within_the_family_is_the_noise_at_which_the_rates_just_fit(counted):
    factor = counted.factor()
    assert counted.epsilon_within_family() == scaled(plan(), factor).cost()

    def fits(noise):
        """Whether noise of this size leaves all counted rates possible."""
        return all(
            renyi.trade_off(renyi.Gaussian(noise) * one.rates.steps, fpr=one.fpr) <= one.fnr
            for one in counted.findings()
        )

    noise = plan().noise_at(0)
    assert not fits(noise * factor * (1.0 + 1e-6))
    assert fits(noise * factor * (1.0 - 2e-4))


def test_words_name_counts_verdict_claim_and_what_is_not_shown(counted):
    words = str(counted)
    for text in (
        "on data that were made up",
        "With 99 % confidence in all of it, the claim is not refuted",
        "step: the canary was seen in 260 of 800 trials without it and missed in 240 of 800 with it",
        "Within the claimed family of noise these rates correspond to epsilon at least",
        f"of the claimed {rounded_up(plan().cost())} at delta 1e-05",
        NOT_SHOWN,
        f"By renyi {renyi.__version__}",
    ):
        assert text in words


def test_an_audit_is_written_as_json_with_all_that_was_counted(counted):
    found = json.loads(counted.to_json())
    assert found == counted.to_dict()
    assert (found["format"], found["version"], found["kind"]) == ("renyi-audit", VERSION, "trials")
    assert [one["false_alarms"] for one in found["findings"]] == [260, 100]
    assert found["noise_factor_upper"] == counted.factor()
    assert found["epsilon_claimed"] == plan().cost()
    assert found["words"] == str(counted)
    assert len(found["made"]["code"]) == 64


def test_a_statement_prints_an_audit_of_its_own_claim_beside_it(counted):
    stated = renyi.statement(plan().events(), delta=1e-5, audit=counted)
    (item,) = (item for item in stated.items() if item.name == "audit")
    assert item.said == (str(counted),)
    text = " ".join(stated.to_text().split())
    assert NOT_SHOWN in text
    assert f"({rounded_up(plan().cost())}, 1e-05)-differentially private" in text
    assert renyi.Statement.from_json(stated.to_json()) == stated
    with pytest.raises(InvalidInput, match="about another plan"):
        renyi.statement(plan(steps=11).events(), delta=1e-5, audit=counted)
    with pytest.raises(InvalidInput, match="another plan"):
        renyi.statement(plan().events(), delta=1e-5, adjacency=Adjacency.ZERO_OUT, audit=counted)
    with pytest.raises(InvalidInput, match="audit is one of"):
        renyi.statement(plan().events(), delta=1e-5, audit=counted.to_dict())


def test_more_statistics_share_the_doubt(counted):
    (alone,) = Audit(plan(), counted.rates[:1], 0.99).findings()
    first, _ = counted.findings()
    assert alone.fpr < first.fpr
    assert alone.fnr < first.fnr


def inserted(*, made_up, people=30):
    data = support.dataset(people + 1)
    return Inserted(
        support.model(),
        support.losses,
        Subset(data, range(people)),
        Subset(data, [people]),
        made_up=made_up,
    )


def test_an_example_is_inserted_into_data_that_were_made_up():
    subject = inserted(made_up=True)
    before = support.weights(subject.model)
    made = audit(plan(sampling=Poisson(0.5), clip=0.1), trials=200, subject=subject)
    assert [one.rates.statistic for one in made.findings()] == ["step"]
    assert not made.refuted
    assert made.booked is None
    assert torch.equal(support.weights(subject.model), before)  # every trial begins at the same weights


def test_an_inserted_example_shows_a_forgotten_clip():
    planted, _ = FAULTS["a forgotten clip"]
    with planted():
        assert audit(plan(clip=0.1), trials=200, subject=inserted(made_up=True)).refuted


def test_trials_on_real_data_are_releases_which_the_journal_and_the_ledger_have(tmp_path):
    asked = plan(sampling=Poisson(0.3), noise_multiplier=4.0)
    with Ledger.open(tmp_path / "budget.db", who="ada") as ledger:
        ledger.create("people", Filter(epsilon=20.0, delta=1e-5), unit="example")
        made = audit(
            asked, trials=40, subject=inserted(made_up=False), journal=tmp_path / "trials.jsonl", ledger=ledger
        )
        charged = ledger.released()
    record = replay(tmp_path / "trials.jsonl")
    assert record.steps == 40
    assert made.booked == record.head
    assert record.guarantee().event == charged == (asked.event(0) * 40).canonical()
    assert f"on real data, booked in the journal that ends {record.head}" in str(made)


WRONG = {
    "no plan": ({}, {"plan": "steps"}, "needs the Plan"),
    "no noise": ({"noise_multiplier": 0.0}, {}, "adds no noise"),
    "few trials": ({}, {"trials": 39}, "trials"),
    "few epochs": ({"sampling": Poisson(0.1)}, {"epochs": 39}, "epochs are at least 40"),
    "epochs of one release": ({}, {"epochs": 40}, "rate is at most 1/2"),
    "epochs of a subject": ({"sampling": Poisson(0.1)}, {"epochs": 40, "subject": True}, "leave subject out"),
    "no subject": ({}, {"subject": "data"}, "subject is an Inserted"),
    "a journal of nobody": ({}, {"journal": "trials.jsonl"}, "nobody is in data that were made up"),
    "no journal of somebody": ({}, {"subject": False}, "give journal="),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_audited_is_refused_with_what_to_do(name):
    changes, asked, message = WRONG[name]
    asked = dict(asked)
    if isinstance(asked.get("subject"), bool):
        asked["subject"] = inserted(made_up=asked["subject"])
    with pytest.raises(InvalidInput, match=message):
        audit(asked.pop("plan", plan(**changes)), **asked)


def test_an_inserted_example_needs_neighbours_with_one_record_more():
    with pytest.raises(UnsupportedError, match="Audit it with the probe"):
        audit(plan(adjacency=Adjacency.REPLACE_ONE), subject=inserted(made_up=True))


def test_a_subject_says_whether_somebody_is_in_it_and_has_a_gradient():
    data = support.dataset(3)
    with pytest.raises(InvalidInput, match="True or False"):
        Inserted(support.model(), support.losses, data, Subset(data, [0]), made_up="no")
    with pytest.raises(InvalidInput, match="one example; got 3"):
        Inserted(support.model(), support.losses, data, data, made_up=True)
    with pytest.raises(InvalidInput, match="zero or not finite"):
        Inserted(
            support.model(), lambda net, batch: 0.0 * support.losses(net, batch), data, Subset(data, [0]), made_up=True
        )


def test_more_trials_see_more_of_the_claim():
    """With error rates as expected, at a claim of 4: the estimate rises to nine tenths of it at 20,000 trials."""
    claimed = plan(steps=1, noise_multiplier=None, epsilon=4.0)
    rate = 1.0 - 0.5 * math.erfc(-0.5 / claimed.noise_at(0) / math.sqrt(2.0))
    shares = []
    for trials in (200, 2_000, 20_000):
        errors = round(rate * trials)
        made = Audit(claimed, (Rates("step", 1, 0.5, trials, errors, trials, errors),), 0.95)
        shares.append(made.epsilon_within_family() / made.claimed())
    assert all(less < more for less, more in pairwise(shares))
    assert 0.9 < shares[-1] < 1.0
