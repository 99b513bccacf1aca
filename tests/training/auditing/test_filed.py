"""An audit is read back from its file by its counts; what a file says in words is not believed."""

from __future__ import annotations

import json

import pytest

from renyi import Gaussian, InvalidInput, PrivacyError, statement
from renyi.training import Audit, OneRunAudit
from renyi.training.auditing.filed import filed
from renyi.training.auditing.one_run import Guessed
from renyi.training.auditing.rates import Rates
from tests.training import support

PLAN = support.plan()
BY_TRIALS = Audit(
    PLAN, (Rates("step", 1, 0.5, 800, 260, 800, 240), Rates("difference", 2, 1.0, 400, 100, 400, 90)), 0.99
)
BY_GUESSES = OneRunAudit(PLAN, 1000, (Guessed(500, 420), Guessed(50, 45)), 0.99, booked="00ff")


@pytest.mark.parametrize("made", [BY_TRIALS, BY_GUESSES], ids=["trials", "one run"])
def test_an_audit_is_read_back_from_its_counts_and_its_words_are_made_anew(made):
    assert filed(made.to_json()) == made
    boast = {**made.to_dict(), "words": "No attack can ever work.", "refuted": False, "epsilon_within_family": 0.0}
    assert filed(json.dumps(boast)).words() == made.words()
    event, delta = PLAN.events(), PLAN.delta
    assert statement(event, delta=delta, audit=filed(json.dumps(boast))).audit == made.words()
    with pytest.raises(InvalidInput, match="another plan"):
        statement(Gaussian(1.0), delta=1e-5, audit=filed(made.to_json()))


def changed(audit, **changes):
    return json.dumps({**audit.to_dict(), **changes})


FINDING = BY_TRIALS.to_dict()["findings"][0]
STAMP = BY_TRIALS.to_dict()["made"]

WRONG = {
    "nothing": "{}",
    "an array": "[]",
    "another version": changed(BY_TRIALS, version=2),
    "another kind": changed(BY_TRIALS, kind="by eye"),
    "no plan": changed(BY_TRIALS, plan=None),
    "no findings": changed(BY_TRIALS, findings=[]),
    "findings that are none": changed(BY_TRIALS, findings=3),
    "more errors than trials": changed(BY_TRIALS, findings=[{**FINDING, "missed": 801}]),
    "a negative count": changed(BY_TRIALS, findings=[{**FINDING, "false_alarms": -1}]),
    "a sentence for a statistic": changed(BY_TRIALS, findings=[{**FINDING, "statistic": "it is safe"}]),
    "a sentence for a version": changed(BY_TRIALS, made={**STAMP, "version": "0.2.0, which is safe"}),
    "a sentence for a hash": changed(BY_GUESSES, booked="nobody was harmed"),
    "no stamp": changed(BY_TRIALS, made={}),
    "more right than guessed": changed(BY_GUESSES, guesses=[{"guesses": 10, "right": 11}]),
    "more guesses than canaries": changed(BY_GUESSES, canaries=100),
    "no confidence": changed(BY_GUESSES, confidence=0.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_an_audit_is_refused(name):
    with pytest.raises(PrivacyError):
        filed(WRONG[name])
