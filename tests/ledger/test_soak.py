"""The long trials of the ledger in their short form: `make soak-ledger` runs them whole."""

from __future__ import annotations

import json

import psycopg
import pytest

from renyi.ledger import Ledger
from tests.ledger.soak import __main__ as soak
from tests.ledger.soak import faults, kills, limits, spenders, tampering


def test_processes_that_spend_at_once_stay_within_the_budget_to_the_last_release(where):
    found = spenders.trial(where, processes=4, spends=10)
    assert found["exact"], found
    assert found["refused"] > 0


def test_what_was_acknowledged_survives_kill_9_of_the_client(where, tmp_path):
    kills.prepared(where)
    kills.kill_clients(where, tmp_path / "acknowledged", kills=8, first=0, rng=kills.seeded(0))
    lost, acknowledged, entries = kills.lost(where, tmp_path / "acknowledged")
    assert lost == []
    assert 8 <= acknowledged < entries


def test_a_system_call_that_fails_never_lets_a_charge_go_unrecorded(tmp_path):
    found = faults.trial(tmp_path, stride=20)
    assert found["faults"] >= 6, found
    assert found["refused"] > 0


def test_every_changed_column_is_noticed(where, tmp_path):
    head = tampering.written(where)

    def connect():
        if "://" not in where:
            return tampering.without_triggers(where)
        connection = psycopg.connect(where)
        connection.execute("SET session_replication_role = replica")  # switches triggers off
        return connection

    found = tampering.columns(where, head, connect, stride=17)
    assert found["changes"] > 20
    assert found["unnoticed"] == []
    assert not tampering.notices(where, head)  # everything was put back


@pytest.fixture
def written(tmp_path):
    return tmp_path / "budget.db", tampering.written(tmp_path / "budget.db")


def test_every_changed_byte_of_an_export_is_noticed(written, tmp_path):
    with Ledger.open(written[0]) as ledger:
        ledger.export(tmp_path / "export.jsonl")
    found = tampering.export_bytes(tmp_path / "export.jsonl", tmp_path, stride=139)
    assert found["changes"] > 100
    assert found["unnoticed"] == []


def test_a_changed_byte_of_the_file_is_noticed_or_changes_no_value(written, tmp_path):
    found = tampering.file_bytes(*written, tmp_path, stride=1511)
    assert 0 < found["harmless"] < found["changes"]
    assert found["unnoticed"] == []


FINE = {
    ("spenders", "sqlite"): {"exact": True, "slowest process / median process": 3.0, "slowest spend, s": 30.0},
    ("kills", "sqlite"): {"kills": 10_000, "lost": 0},
    ("columns", "sqlite"): {"changes": 500, "unnoticed": []},
    ("speed", "sqlite"): {"counts": {"processor, ms": 2.0, "wall, ms": 9.0}, "bare insert": {"wall, ms": 8.0}},
    ("many entries", "sqlite"): {"entries": 1_000_000, "slowest status, s": 0.2},
}
MISSED = {
    ("spenders", "sqlite"): {"exact": False, "slowest process / median process": 3.1, "slowest spend, s": 30.1},
    ("kills", "sqlite"): {"kills": 10_000, "lost": 1},
    ("columns", "sqlite"): {"changes": 500, "unnoticed": ["renyi_heads.hash"]},
    ("speed", "sqlite"): {"counts": {"processor, ms": 2.1, "wall, ms": 9.0}},
    ("many entries", "sqlite"): {"entries": 1_000_000, "slowest status, s": float("nan")},
}


@pytest.mark.parametrize(("results", "missed"), [(FINE, 0), (MISSED, 7)], ids=["fine", "missed"])
def test_a_soak_that_misses_a_limit_says_which_and_fails(results, missed, tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "tasks", lambda scale: results)
    monkeypatch.setattr(soak, "done", lambda task, places: results[task])
    monkeypatch.setattr(soak, "tree_of_source", lambda folder: "a tree")
    output = tmp_path / "result.json"
    assert soak.main(["--scale", "0.5", "--output", str(output)]) == (missed > 0)
    listed = json.loads(output.read_text())["limits missed"]
    assert len(listed) == missed
    if missed:
        assert listed[2] == "('spenders', 'sqlite'): slowest spend, s: 30.1, where at most 30 is promised"


def test_every_limit_is_held_against_what_some_trial_finds(tmp_path):
    """A limit under a name that no trial uses would never be missed."""
    tasks = [
        ("spenders", "sqlite", 2, 2),
        ("kills", "sqlite", 0, 1),
        ("columns", "sqlite", 1000),
        ("speed", "sqlite", 1),
        ("many entries", "sqlite", 10),
    ]
    found = [soak.done(task, soak.Places(tmp_path)) for task in tasks]
    inner = [value for result in found for value in result.values() if isinstance(value, dict)]
    assert {"exact", *limits.AT_MOST} <= {name for result in [*found, *inner] for name in result}
