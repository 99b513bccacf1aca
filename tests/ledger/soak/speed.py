"""What a spend costs beside a bare insert of the same durability, and how long the status of a large ledger takes."""

from __future__ import annotations

import sqlite3
import statistics
import time

from sqlalchemy import insert

from renyi import Filter, Gaussian, Laplace, Poisson
from renyi.ledger import Ledger
from renyi.ledger.book.acts import Spend
from renyi.ledger.book.note import Note
from renyi.ledger.book.row import Head, Row
from renyi.ledger.store.schema import entries, heads, notes

BUDGET = Filter(epsilon=1.0, delta=1e-6)

KINDS = {
    "counts, each of another scale": lambda k: Laplace(1e6 + k),
    "Gaussian noise, each of another size": lambda k: Gaussian(1e6 + k),
    "DP-SGD, each of another noise": lambda k: Gaussian(1e4 + k).on(Poisson(0.001)) * 10,
    "one event, again and again": lambda k: Gaussian(1e6),
}


def spends(where, count):
    """Processor and wall time of a spend whose event is priced for the first time; on SQLite also of a bare insert."""
    found = {}
    with Ledger.open(where) as ledger:
        ledger.create("census", BUDGET)
        ledger.spend(Gaussian(1e7), dataset="census")
        for kind, event in KINDS.items():
            began, used, worst = time.monotonic(), time.process_time(), 0.0
            for k in range(count):
                before = time.process_time()
                ledger.spend(event(k), dataset="census", team=None)
                worst = max(worst, time.process_time() - before)
            found[kind] = {
                "processor, ms": 1e3 * (time.process_time() - used) / count,
                "slowest, ms": 1e3 * worst,
                "wall, ms": 1e3 * (time.monotonic() - began) / count,
            }
        size = statistics.mean(len(row.payload) for row in _rows(ledger))
    if "://" not in str(where):
        found["bare insert"] = {"wall, ms": 1e3 * bare_insert(f"{where}.bare", int(size), count)}
    return found


def _rows(ledger):
    with ledger._store.read() as page:
        return list(page.rows("census"))


def bare_insert(path, size, count):
    """Seconds for one row of the size of an entry, in a transaction of its own, with the same settings."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, payload TEXT)")
    began = time.monotonic()
    for _ in range(count):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows (payload) VALUES (?)", ("x" * size,))
        connection.execute("COMMIT")
    taken = (time.monotonic() - began) / count
    connection.close()
    return taken


def many_entries(where, count):
    """Fill a ledger with entries as ``Ledger`` would have written them, in large transactions; then ask for its status."""
    with Ledger.open(where) as ledger:
        fill(ledger, count)
        ledger.reserve(Gaussian(1e9))
        seconds = []
        for _ in range(20):
            began = time.monotonic()
            status = ledger.status()
            seconds.append(time.monotonic() - began)
        assert status.entries == count + 1
        used = time.process_time()
        ledger.spend(Gaussian(1e9))
        spend = time.process_time() - used
    return {"entries": count, "slowest status, s": max(seconds), "a spend there, processor ms": 1e3 * spend}


def fill(ledger, count):
    """Entries from the next one on, until there are ``count``."""
    ledger.create("census", BUDGET)
    charge = ledger._charge("census", Gaussian(1e9), None, None, None)
    with ledger._store.read() as page:
        head, balance = ledger._clerk.state(page, "census")
    done = head.length
    while done < count:
        rows = []
        for _ in range(min(5_000, count - done)):
            balance = balance.after(Spend(charge))
            row = Row.following(head, Spend(charge), f"filled-{done}", Note.now("soak", None, None), balance.text())
            head = Head(row.sequence + 1, row.hash, balance.text())
            rows.append(row)
            done += 1
        ledger._store._write(lambda connection, rows=rows, head=head: _inserted(connection, rows, head))


def _inserted(connection, rows, head):
    place = [{"dataset": "census", "sequence": row.sequence} for row in rows]
    values = [{"payload": row.payload, "hash": row.hash, "key": row.key, "settles": None} for row in rows]
    connection.execute(insert(entries), [{**at, **value} for at, value in zip(place, values, strict=True)])
    noted = [{**at, "salt": row.note.salt, "text": row.note.text} for at, row in zip(place, rows, strict=True)]
    connection.execute(insert(notes), noted)
    connection.execute(heads.update().values(length=head.length, hash=head.hash, balance=head.balance))
