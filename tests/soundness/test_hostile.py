"""A small part of the hostile campaign, its committed result, and whether the campaign would notice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from renyi import NotSerialisable, from_json
from tests.soundness import hostile_campaign, hostile_documents, hostile_events
from tests.soundness.hostile_campaign import ANSWERED, Wrong, alone

ROOT = Path(__file__).resolve().parents[2]


def test_a_small_part_has_no_failure():
    """In a process of its own: what forks should have no threads. Answers are judged, times are not."""
    module, share = "tests.soundness.hostile_campaign", ["--seed", "7", "--documents", "40", "--events", "20"]
    command = [sys.executable, "-m", module, *share]
    patient = {**os.environ, hostile_campaign.PATIENCE: "1000"}
    done = subprocess.run(command, cwd=ROOT, env=patient, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_committed_campaign_left_no_fault():
    result = json.loads((ROOT / "docs" / "hostile.json").read_text(encoding="utf-8"))
    limits = result["limits"]
    for kind in ("documents", "events"):
        found = result[kind]
        assert (found["asked"], found["failed"]) == (20_000, 0)
        assert found["refused for want of means"] <= limits["share refused for want of means"]
        assert found["seconds of CPU"]["largest"] <= limits["seconds of CPU"]
        assert found["peak memory in MB"]["largest"] <= limits["MB"]


def test_a_question_is_drawn_again_from_its_seed_and_number():
    first, second = (hostile_events.question(np.random.default_rng([1, 2])) for _ in range(2))
    assert str(first) == str(second)
    assert hostile_documents.document(np.random.default_rng(3)) == hostile_documents.document(np.random.default_rng(3))


def test_random_events_are_valid_and_of_every_kind():
    seen = ""
    for number in range(300):
        event = hostile_events.question(np.random.default_rng([5, number])).event
        with contextlib.suppress(NotSerialisable):
            assert from_json(event.to_json()) == event
        seen += repr(event)
    names = (
        *(
            "Gaussian",
            "Laplace",
            "DiscreteGaussian",
            "DiscreteLaplace",
            "FinitePair",
            "ApproximateDP",
            "FromRenyi",
            "ZCDP",
        ),
        *(
            "TCDP",
            "PureDP",
            "ExponentialMechanism",
            "RandomizedResponse",
            "FromDensities",
            "Poisson",
            "WithoutReplacement",
        ),
        *(
            "RandomAllocation",
            "TruncatedPoisson",
            "Composed",
            "Repeated",
            "Grouped",
            "Tuned",
            "5e-324",
            "e+30",
            "0" * 200,
        ),
    )
    assert [name for name in names if name not in seen] == []


def _raises(rng: object, say: object) -> tuple[str, str]:
    raise ZeroDivisionError("of a test")


def _warns(rng: object, say: object) -> tuple[str, str]:
    warnings.warn("of a test", RuntimeWarning, stacklevel=1)
    return ANSWERED, ""


def _is_nan(rng: object, say: object) -> tuple[str, str]:
    hostile_campaign._check(float("nan"), 1.0)
    return ANSWERED, ""


def _takes_memory(rng: object, say: object) -> tuple[str, str]:
    np.ones(1 << 28)
    return ANSWERED, ""


def _takes_long(rng: object, say: object) -> tuple[str, str]:
    say("a loop")  # type: ignore[operator]
    while True:
        pass


def _crashes(rng: object, say: object) -> tuple[str, str]:
    os.kill(os.getpid(), signal.SIGSEGV)
    return ANSWERED, ""


def _answers(rng: object, say: object) -> tuple[str, str]:
    return ANSWERED, ""


NOTICED = {
    _raises: "ZeroDivisionError at",
    _warns: "warning at",
    _is_nan: "wrong: the answer is nan",
    _takes_memory: "MemoryError at",
    _takes_long: "slow: killed at",
    _crashes: "crash: signal 11",
}


@pytest.mark.parametrize("kind", NOTICED, ids=lambda kind: kind.__name__)
def test_the_campaign_notices(kind, monkeypatch):
    monkeypatch.setitem(hostile_campaign.KINDS, "events", kind)
    monkeypatch.setattr(hostile_campaign, "_KILLED_SECONDS", 1)
    monkeypatch.setattr(hostile_campaign, "MOST_SECONDS", 0.5)
    outcome = alone("events", 1, 2)
    assert outcome.number == 2
    assert outcome.verdict == ("answered" if kind is _warns else "failed")
    assert NOTICED[kind] in outcome.failures[0]
    assert outcome.subject == "a loop" or kind is not _takes_long


def test_the_campaign_passes_what_is_right(monkeypatch):
    monkeypatch.setitem(hostile_campaign.KINDS, "events", _answers)
    # A process that is forked from the tests' has their size, whatever it is asked.
    monkeypatch.setattr(hostile_campaign, "MOST_MEMORY", 1e5)
    outcome = alone("events", 1, 2)
    assert (outcome.verdict, outcome.failures) == (ANSWERED, [])


def test_refusals_for_want_of_means_are_bounded():
    part = {"failed": 0, "refused for want of means": 0.011}
    assert hostile_campaign.wrong({"events": part}) == ["1.10% of valid events refused for want of means"]
    assert hostile_campaign.wrong({"events": {**part, "refused for want of means": 0.01}}) == []
    assert hostile_campaign.wrong({"documents": {**part, "failed": 3}}) == ["documents: 3 failures"]
    with pytest.raises(Wrong):
        hostile_campaign._check(-1.0, 1.0)
