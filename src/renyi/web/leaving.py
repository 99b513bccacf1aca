"""What nobody waits for is not computed: a page that follows a slider leaves questions behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Leaving:
    """Ends the work for a request that reads when its visitor has left. What is written is finished."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, unless nobody waits any more."""
        if scope["type"] != "http" or scope["method"] == "POST":
            await self._app(scope, receive, send)
            return
        working = asyncio.ensure_future(self._app(scope, _no_body, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not working.done():
                working.cancel()
                await asyncio.wait((working,))
        if not working.cancelled():
            working.result()  # raises what the application raised


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
