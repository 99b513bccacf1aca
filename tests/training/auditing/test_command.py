"""``renyi audit``, from the command line to the exit code, and ``renyi report --audit``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from renyi.cli.main import app
from renyi.training import Plan
from tests.training import support
from tests.training.auditing.faults import FAULTS

STEP = ["--noise-multiplier", "2", "--rate", "1/2", "--steps", "10", "--delta", "1e-5"]


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """Of a run of three steps."""
    folder = tmp_path_factory.mktemp("run")
    made = support.train(support.run(folder, steps=3))
    made.close()
    return folder / "run.jsonl"


def test_the_claim_and_what_was_seen_are_printed():
    done = run("audit", *STEP, "--trials", "200")
    assert done.exit_code == 0, done.output
    lines = dict(line.split("\t") for line in done.stdout.splitlines())
    assert list(lines) == ["epsilon within the claimed family of noise", "epsilon claimed", "refuted"]
    assert lines["refuted"] == "no"
    assert 0.0 <= float(lines["epsilon within the claimed family of noise"]) <= float(lines["epsilon claimed"])
    assert "proves nothing" in done.stderr


def test_a_refuted_claim_has_an_exit_code_of_its_own():
    planted, _ = FAULTS["a forgotten clip"]
    with planted():
        done = run("audit", "--noise-multiplier", "1", "--delta", "1e-5", "--trials", "200", "--json")
    assert done.exit_code == 5, done.output
    assert json.loads(done.stdout)["refuted"] is True


def test_a_journal_is_audited_by_its_plan_and_only_read_and_the_report_shows_it(journal, tmp_path):
    before, out = journal.read_bytes(), tmp_path / "audit.json"
    done = run("audit", "--journal", journal, "--trials", "100", "--out", out)
    assert done.exit_code == 0, done.output
    assert journal.read_bytes() == before
    found = json.loads(out.read_text(encoding="utf-8"))
    assert Plan.from_dict(found["plan"]) == support.plan(steps=3)
    stated = run("report", "--journal", journal, "--audit", out, "--form", "json")
    assert stated.exit_code == 0, stated.output
    assert found["words"] in json.loads(stated.stdout)["audit"]
    other = run("report", *STEP, "--audit", out)
    assert other.exit_code == 2
    assert "another plan" in other.stderr
    assert run("report", "--journal", journal, "--audit", journal).exit_code == 2


def test_epochs_may_be_tried_too():
    done = run("audit", *STEP, "--trials", "40", "--epoch-trials", "40", "--json")
    assert done.exit_code == 0, done.output
    assert [one["statistic"] for one in json.loads(done.stdout)["findings"]] == ["step", "difference", "epoch"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--delta", "1e-5"],
        ["--journal", "nowhere.jsonl"],
        ["--journal", "nowhere.jsonl", "--delta", "1e-5"],
        [*STEP, "--trials", "3"],
        [*STEP, "--confidence", "1"],
        [*STEP, "--trials", "40", "--out", "/"],
        ["--noise-multiplier", "0", "--delta", "1e-5"],
    ],
    ids=" ".join,
)
def test_wrong_lines_are_refused(arguments):
    done = run("audit", *arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
