"""One server for all tests of the page, without a port; its workers are real processes, its ledger is a real file."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from renyi import Filter, Laplace, Ledger
from renyi.web.app import create_app
from renyi.web.site import Settings

HOST = "localhost:8484"
TOKEN = "a token of the tests"


def filled(path):
    """A ledger with two budgets, one of which was used."""
    with Ledger.open(path, who="ada") as ledger:
        ledger.create("census", Filter(epsilon=1.0, delta=1e-6), unit="person", parts=("north", "south"))
        ledger.allot(0.5, team="health", why="agreed in March")
        ledger.spend(Laplace(40.0), why="<b>counts</b> by district", key="week 1")
        ledger.reserve(Laplace(100.0), part="north")
        ledger.create("clinics", Filter.zcdp(0.5, 1e-6), unit="patient")
    return str(path)


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    where = filled(tmp_path_factory.mktemp("ledger") / "budget.db")
    hosts = frozenset({HOST, "127.0.0.1:8484"})
    app = create_app(Settings(hosts, workers=1, seconds=120.0, ledger=where, token=TOKEN))
    with TestClient(app, base_url=f"http://{HOST}") as client:
        client.where = where
        yield client


@pytest.fixture(scope="session")
def ask(page):
    """A path with fields."""

    def get(path="/answer", **fields):
        return page.get(f"{path}?{urlencode(fields)}")

    return get
