"""A server with a ledger and a token, and a real Chromium that opens its pages."""

from __future__ import annotations

import threading

import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright
from scripts import browser as browsers

from renyi.web.app import create_app
from renyi.web.serving import hosts_of, listening
from renyi.web.site import Settings
from tests.web.conftest import TOKEN, filled

PATIENCE = 120_000
"""Milliseconds that a busy machine is given; a quiet one needs a hundredth."""

QUICK = "by=rate&rate=0.1&steps=20&noise=2"
"""A run whose plots take little."""

PHONE = {"width": 360, "height": 740}

ELSEWHERE = "evil.example"
"""A name that leads to this machine, as an attacker's might."""


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    ledger = filled(tmp_path_factory.mktemp("browser") / "budget.db")
    with listening(0) as listener:
        port = listener.getsockname()[1]
        settings = Settings(hosts_of(port), workers=1, seconds=120.0, ledger=ledger, token=TOKEN)
        server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            threading.Event().wait(0.01)
        yield f"http://localhost:{port}/"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")  # and no longer: while it is there, no other test can have an event loop
def chromium():
    path = browsers.found()
    assert path, browsers.NONE
    rules = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=[*browsers.FLAGS, rules])
        yield running
        running.close()


@pytest.fixture
def opened(chromium, address):
    """A tab at a page, by default the calculator at a run, with what it complained of; there is nothing at the end.

    Plots, which take most of a page's work, are left out unless they are asked for.
    """
    contexts, complaints = [], []

    def go(query=QUICK, *, page="", plots=False, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        if not plots:
            context.route("**/curve?*", lambda route: route.abort())
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda said: complaints.append(said.text) if "Content Security Policy" in said.text else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda asked: None if asked.url.startswith(address) else complaints.append(asked.url))
        tab.goto(f"{address}{page}?{query}")
        return tab

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


def shows(tab, text):
    """Wait until the answer is this."""
    expect(tab.locator("#answer .number output")).to_have_text(text, timeout=PATIENCE)


def width(tab):
    """How wide the page is, with what sticks out of it; a script of ours works also where those of the page do not."""
    return tab.evaluate("document.documentElement.scrollWidth")
