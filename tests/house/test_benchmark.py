"""What `make bench` wrote is what its rows say, and nothing that is claimed was missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import peers

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def result():
    return json.loads((DOCS / "benchmark.json").read_text(encoding="utf-8"))


def test_the_summary_follows_from_the_rows(result):
    assert json.loads(json.dumps(peers.summary(result["rows"]))) == result["summary"]
    assert (DOCS / "benchmark.md").read_text(encoding="utf-8") == peers.page(result, "benchmark.png")


def test_every_library_was_asked_every_question(result):
    asked = {(row["library"], row["group"], row["label"]) for row in result["rows"]}
    for question in peers.questions():
        for library in peers.LIBRARIES:
            assert (library, question["group"], question["label"]) in asked


def test_what_is_claimed_was_measured(result):
    assert peers.missed(result["summary"]) == []


def test_a_run_that_falls_short_says_so(result):
    facts = json.loads(json.dumps(result["summary"]))
    facts["times faster than the fastest tight peer, geometric mean"] = 99.0
    facts["below the truth"].append("q=1: renyi by 1e-09")
    facts["calibration: from the optimum"]["calibrate to epsilon 1"] = 2e-6
    assert len(peers.missed(facts)) == 3


def test_the_readme_shows_it(result):
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert "\n".join(peers.short_table(result)) in text
