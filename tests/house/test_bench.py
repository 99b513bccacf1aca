"""The order in which `make bench` asks: growing series end where a library failed, and an interrupted run goes on."""

from __future__ import annotations

import json

import pytest
from benchmarks import peers


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What was really asked; the second library fails at a million steps."""
    calls = []

    def answer(label, question, rounds):
        calls.append((label, question["label"]))
        row = {"library": label, "group": question["group"], "label": question["label"]}
        if label == "renyi RDP" and question["parts"][0]["count"] >= 10**6:
            return {**row, "failure": "too long"}
        return {**row, "value": 6.2, "warm": [1e-3], "first": 2e-3, "megabytes": 90.0}

    monkeypatch.setattr(peers, "answer", answer)
    monkeypatch.setattr(peers, "PARTS", tmp_path / "rows.jsonl")
    return calls


def test_a_growing_series_ends_where_a_library_failed(asked):
    growing = [question for question in peers.questions() if question["group"] == "growth in T"]
    rows = peers.measure(growing, 1, [], lambda _: None)
    assert len(rows) == len(growing) * len(peers.LIBRARIES)
    steps = [label.split("T=")[1].split()[0] for library, label in asked if library == "renyi RDP"]
    assert steps == ["10000", "100000", "1e+06"]
    assert sum("failed before" in row.get("failure", "") for row in rows) == 3
    assert sum(library == "renyi" for library, _ in asked) == len(growing)


def test_a_question_in_two_groups_is_asked_once(asked):
    both = [
        question for question in peers.questions() if question["label"].startswith("q=0.01 sigma=1 T=10000 delta=1e-05")
    ]
    assert {question["group"] for question in both} >= {"settings", "growth in T", "growth in 1/delta"}
    rows = peers.measure(both, 1, [], lambda _: None)
    once = [library for library, _ in asked]
    assert len(rows) == len(both) * len(peers.LIBRARIES)
    assert once.count("renyi") == len({question["task"] for question in both})
    assert all(row["truth"] == pytest.approx(6.187712389972) for row in rows)


def test_an_interrupted_run_goes_on(asked):
    chosen = peers.questions()[:3]

    def keep(rows):
        with peers.PARTS.open("a", encoding="utf-8") as file:
            print(json.dumps({"commit": "abc", "rows": rows}), file=file)

    first = peers.measure(chosen[:2], 1, peers.kept("abc"), keep)
    before = len(asked)
    whole = peers.measure(chosen, 1, peers.kept("abc"), keep)
    assert len(asked) - before == len(peers.LIBRARIES)
    assert whole[: len(first)] == first
    assert peers.kept("another commit") == []
    assert peers.kept("abc") == []


def test_what_a_run_has_to_show():
    facts = {
        "times faster than the fastest tight peer, geometric mean": 120.0,
        "RDP: times faster than the fastest RDP peer, q < 1, geometric mean": 3.5,
        "settings where a peer is nearer the truth": [],
        "below the truth": ["q=0.01: opacus PRV by 0.001"],
        "calibration: times faster than each tight peer": {"opacus PRV": {"calibrate to epsilon 1": 60.0}},
        "calibration: from the optimum": {"calibrate to epsilon 1": 1e-7},
        "calibration: epsilon of the noise, over the target": {"calibrate to epsilon 1": 0.9999999},
        "1,000 unlike steps: times faster than opacus PRV": {"1000 unlike steps": 400.0},
        "failures of ours where a peer answers": [],
    }
    assert peers.missed(facts) == []
    for name, value in (
        ("times faster than the fastest tight peer, geometric mean", 99.0),
        ("RDP: times faster than the fastest RDP peer, q < 1, geometric mean", 2.9),
        ("settings where a peer is nearer the truth", ["q=1: autodp RDP"]),
        ("below the truth", ["q=1: renyi by 1e-09"]),
        ("calibration: times faster than each tight peer", {"opacus PRV": {"calibrate to epsilon 1": 49.0}}),
        ("calibration: from the optimum", {"calibrate to epsilon 1": 2e-6}),
        ("calibration: epsilon of the noise, over the target", {"calibrate to epsilon 1": 1.0000001}),
        ("1,000 unlike steps: times faster than opacus PRV", {"1000 unlike steps": 49.0}),
        ("failures of ours where a peer answers", ["unlike: 1000 unlike steps"]),
    ):
        assert len(peers.missed({**facts, name: value})) == 1, name
