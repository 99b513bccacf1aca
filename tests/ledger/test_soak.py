"""The long trials of the ledger in their short form: `make soak-ledger` runs them whole."""

from __future__ import annotations

import psycopg
import pytest

from renyi.ledger import Ledger
from tests.ledger.soak import faults, kills, spenders, tampering


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
