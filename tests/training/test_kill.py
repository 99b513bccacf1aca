"""kill -9 inside a release: a small campaign; tests/training/kill_campaign.py makes the large one."""

from __future__ import annotations

import json
import subprocess
import sys


def test_interrupts_leave_a_run_that_goes_on(tmp_path):
    output = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.training.interrupt_campaign", "--interrupts", "30", "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    missed = sum(result["not_executed_when_they_were_to_be_interrupted"].values())
    assert result["interrupts_sent"] + missed == 30
    assert result["interrupts_sent"] > 20


def test_steps_are_at_most_recorded_and_at_most_one_more_per_kill(tmp_path):
    output = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.training.kill_campaign", "--kills", "52", "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    missed = sum(result["not_executed_when_they_were_to_be_killed"].values())
    assert result["kills"] == sum(result["kills_by_statement"].values()) + missed == 52
    assert missed < 10
    assert result["steps_done"] <= result["steps_recorded"] <= result["steps_done"] + 52
    assert result["of_which_killed_at"] == result["statements_of_release"]
    assert 0 < result["recorded_but_not_done"] < 40  # some died after the line was written, some before
