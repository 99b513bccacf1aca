"""What comes in and what goes out: hosts, origins, sizes and methods of requests; headers of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_QUERY = 30_000
"""Characters of an address after the question mark."""

MOST_PATH = 200
"""Characters of a path; the longest that there is has a tenth."""

MOST_BODY = 40_000
"""Bytes of a request's body, which only writes to a ledger have."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
"""Headers of every answer: nothing is loaded from elsewhere, framed, guessed, remembered or told to other sites.

A stricter referrer policy, ``no-referrer``, would make browsers send ``Origin: null`` with our own forms, too.
"""


class Gate:
    """Lets in what a browser on this machine asks of this page, and nothing that another site makes it ask.

    ``hosts`` are the values of the Host header by which the page is reached, port included: a foreign name that was made to
    point here (DNS rebinding) is not among them.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name not in headers:
                        headers[name] = value
            await send(message)

        if scope["type"] != "http":
            return  # a websocket is closed by the server if nothing is said
        if refusal := self._refusal(scope):
            status, words = refusal
            await PlainTextResponse(f"{words}\n", status)(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is refused, and the status that says so."""
        headers = Headers(scope=scope)
        if headers.getlist("host") != [headers.get("host")] or headers["host"].lower() not in self._hosts:
            return 421, f"This page is served as {' or '.join(sorted(self._hosts))}, and not under another name."
        if "origin" in headers and headers.getlist("origin") not in [[f"http://{host}"] for host in self._hosts]:
            return 403, "This page answers its own pages, and not those of other sites."
        site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "navigate")
        followed = mode == "navigate" and headers.get("sec-fetch-dest", "document") == "document"
        if site not in ("none", "same-origin") and not followed:
            return 403, "Other sites may link to this page, and not load or show it inside theirs."
        if scope["method"] == "POST":
            # Browsers send the origin of every form that is posted.
            if "origin" not in headers:
                return 403, "What is written has to come from this page: the Origin header is missing."
            return self._body(headers, MOST_BODY)
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "This page takes GET, HEAD and POST."
        if len(scope["path"]) > MOST_PATH or len(scope["query_string"]) > MOST_QUERY:
            return (
                414,
                f"An address may have {MOST_QUERY:,} characters after the question mark. Larger events: renyi epsilon --event.",
            )
        return self._body(headers, 0)

    def _body(self, headers: Headers, most: int) -> tuple[int, str] | None:
        if "transfer-encoding" in headers:
            return 411, "The length of a body has to be said beforehand."
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > most:
            return 413, f"A body may have {most:,} bytes here."
        return None
