"""One server for all tests of the page, without a port; its workers are real processes."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from renyi.web.app import Settings, create_app

HOST = "localhost:8484"


@pytest.fixture(scope="session")
def page():
    app = create_app(Settings(frozenset({HOST, "127.0.0.1:8484"}), workers=1, seconds=120.0))
    with TestClient(app, base_url=f"http://{HOST}") as client:
        yield client


@pytest.fixture(scope="session")
def ask(page):
    """A path with fields."""

    def get(path="/answer", **fields):
        return page.get(f"{path}?{urlencode(fields)}")

    return get
