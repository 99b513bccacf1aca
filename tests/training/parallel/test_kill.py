"""kill -9 of one of two processes: three of the campaign's trials, each at a line of renyi; the campaign has two hundred."""

from __future__ import annotations

import pytest

from tests.training.parallel.kill_campaign import Trial, held, summary


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Those that begin with one process and with two, kill either, and go on with one and with two, by both stores."""
    return [held(Trial.of(number), tmp_path_factory.mktemp(f"kill-{number}")) for number in (1, 47, 29)]


def test_the_others_name_it_the_record_covers_every_update_and_the_run_goes_on(rows):
    found = summary(rows)
    assert found["by rank"] == {"0": 1, "1": 2}
    assert found["by processes"] == {"1 -> 2 -> 1": 1, "1 -> 2 -> 2": 1, "2 -> 2 -> 2": 1}
    assert found["by store"] == {"file": 2, "tcp": 1}
    assert found["by model"] == {"sharded": 1, "whole": 2}
    assert found["distinct_statements"] == 3
    assert 0 <= found["recorded_but_not_done"] <= 3


def test_moments_of_the_campaign_are_spread():
    trials = [Trial.of(number) for number in range(200)]
    assert len({trial.line for trial in trials if trial.line}) > 95
    assert {(t.begin, t.victim, t.resume, t.store, t.sharded, t.line > 0) for t in trials} == {
        (begin, victim, resume, store, sharded, at_a_line)
        for begin in (1, 2)
        for victim in (0, 1)
        for resume in (1, 2)
        for store in ("file", "tcp")
        for sharded in (False, True)
        for at_a_line in (False, True)
    }
