"""kill -9 of clients in the middle of spends, and of the server: no acknowledged charge is lost, no file is damaged."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time

from renyi import Filter, Gaussian
from renyi.ledger import Ledger, LedgerError
from tests.ledger.soak.processes import forked

EVENT = Gaussian(1e6)
BUDGET = Filter(epsilon=1.0, delta=1e-6)

LONGEST_LIFE = 0.02
"""Seconds after its first spend at which a client is dead: several spends on an idle machine."""


def prepared(where):
    """A ledger with one dataset, and no connection left."""
    with Ledger.open(where) as ledger:
        if not ledger.datasets():
            ledger.create("census", BUDGET)


def spend_for_ever(where, client, acknowledged):
    """Spend under new keys, and write each key down once its spend was acknowledged: written, it outlives the process."""
    file = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ledger = Ledger.open(where, who=f"client {client}")
    number = 0
    while True:
        key = f"{client}-{number}"
        if number % 3 == 2:  # every third as a block, so that kills leave reservations open
            with ledger.spending(EVENT, dataset="census", key=key):
                pass
        else:
            ledger.spend(EVENT, dataset="census", key=key)
        os.write(file, f"{key}\n".encode())
        number += 1


def kill_clients(where, acknowledged, kills, first, rng):
    """Fork a client, wait for its first acknowledged spend, and kill it a little later; again and again."""
    for client in range(first, first + kills):
        before = acknowledged.stat().st_size if acknowledged.exists() else 0
        pid, reading = forked(lambda client=client: spend_for_ever(where, client, acknowledged))
        deadline = time.monotonic() + 60.0
        while (acknowledged.stat().st_size if acknowledged.exists() else 0) == before:
            assert time.monotonic() < deadline, "a client did not get its first spend through"
            time.sleep(0.0005)
        time.sleep(rng.uniform(0.0, LONGEST_LIFE))
        os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(reading)
        assert status == -signal.SIGKILL, f"the client ended by itself with {status}"


def lost(where, acknowledged):
    """Keys that were acknowledged and that the ledger does not hold; and its number of entries. It is verified first."""
    with Ledger.open(where) as ledger:
        ledger.verify()
        with ledger._store.read() as page:
            held = {row.key for row in page.rows("census")}
        entries = ledger.status().entries
    keys = acknowledged.read_text().split()
    return [key for key in keys if key not in held], len(keys), entries


def kill_server(where, acknowledged, server, kills, first, rng, clients=3):
    """Kill the server while clients spend; they go on once it is there again."""
    children = [
        forked(lambda client=client: spend_patiently(where, client, acknowledged))
        for client in range(first, first + clients)
    ]
    try:
        for _ in range(kills):
            wait_for_spends(acknowledged, more=clients)
            time.sleep(rng.uniform(0.0, 0.2))
            kill_and_restart(server)
        wait_for_spends(acknowledged, more=clients)
    finally:
        for pid, reading in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reading)


def spend_patiently(where, client, acknowledged):
    """Spend under new keys; where the server is gone for long, try the same key again."""
    file = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ledger, number = None, 0
    while True:
        try:
            ledger = ledger or Ledger.open(where, who=f"client {client}")
            ledger.spend(EVENT, dataset="census", key=f"{client}-{number}")
        except LedgerError:
            time.sleep(0.05)
            continue
        os.write(file, f"{client}-{number}\n".encode())
        number += 1


def wait_for_spends(acknowledged, more):
    wanted = len(acknowledged.read_bytes().split()) + more if acknowledged.exists() else more
    deadline = time.monotonic() + 120.0
    while not acknowledged.exists() or len(acknowledged.read_bytes().split()) < wanted:
        assert time.monotonic() < deadline, "the clients do not get through"
        time.sleep(0.01)


def kill_and_restart(server):
    """kill -9 of the postmaster; its backends follow when they notice. The next start recovers from the log."""
    pid = server.get_pid()
    os.kill(pid, signal.SIGKILL)
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.005)
        reap(pid)
    deadline = time.monotonic() + 60.0
    while True:
        try:
            server.ensure_postgres_running()
            return
        except Exception:  # the old backends still hold the shared memory for a moment
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def reap(pid):
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def seeded(first):
    return random.Random(20_260_000 + first)
