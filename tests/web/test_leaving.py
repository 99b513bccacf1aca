"""Work for visitors who have left is ended; what is written is finished."""

from __future__ import annotations

import asyncio

import pytest

from renyi.web.leaving import Leaving


def served(method, *, leaves):
    """Whether the application began, and ended, for a visitor who leaves at once or never."""
    seen = []

    async def app(scope, receive, send):
        seen.append("began")
        while leaves and method != "POST":
            await asyncio.sleep(0.01)
        if method == "POST":
            seen.append((await receive())["type"])
        seen.append("ended")

    async def receive():
        if not leaves:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError(message)

    asyncio.run(Leaving(app)({"type": "http", "method": method}, receive, send))
    return seen


def test_what_is_read_is_given_up_when_the_visitor_leaves():
    assert served("GET", leaves=True) == ["began"]
    assert served("GET", leaves=False) == ["began", "ended"]


def test_what_is_written_is_finished():
    assert served("POST", leaves=True) == ["began", "http.disconnect", "ended"]


def test_an_error_of_the_application_is_not_lost():
    async def app(scope, receive, send):
        raise ValueError("what went wrong")

    async def receive():
        return await asyncio.Event().wait()

    with pytest.raises(ValueError, match="what went wrong"):
        asyncio.run(Leaving(app)({"type": "http", "method": "GET"}, receive, None))
