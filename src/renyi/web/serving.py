"""Serves the application on this machine alone."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from renyi.errors import PrivacyError
from renyi.web.app import create_app
from renyi.web.site import Settings

LOOPBACK = "127.0.0.1"
"""The only address that is listened on; ``localhost`` leads to it."""

_MOST_AT_ONCE = 200
"""Connections at a time; more are told to come back."""

_MOST_HEAD = 49_152
"""Bytes of the first line and the headers of a request."""


def serve(
    port: int, *, workers: int, seconds: float, ledger: str | None, token: str | None, say: Callable[[str], None]
) -> str:
    """Serve until interrupted, and return the address."""
    with listening(port) as listener:
        own = listener.getsockname()[1]
        settings = Settings(hosts_of(own), workers, seconds, ledger, token)
        config = uvicorn.Config(
            create_app(settings),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            limit_concurrency=_MOST_AT_ONCE,
            h11_max_incomplete_event_size=_MOST_HEAD,
            timeout_graceful_shutdown=3,
        )
        address = f"http://localhost:{own}/"
        say(f"The page is at {address} for browsers on this machine. Ctrl-C ends it.")
        if token is not None:
            say(f"The token for charging releases to the ledger: {token}")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
    return address


def hosts_of(port: int) -> frozenset[str]:
    """The values of the Host header under which a server on this port is reached."""
    names = ("localhost", LOOPBACK)
    return frozenset(f"{name}:{port}" for name in names) | (frozenset(names) if port == 80 else frozenset())


def listening(port: int) -> socket.socket:
    """A socket on the loopback address; 0 takes any port that is free."""
    try:
        listener = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise PrivacyError(f"port {port} cannot be listened on ({error.strerror}): choose another by --port.") from None
    # Connections take this over. asyncio sets it on sockets of its own making alone, and without it the second part of an
    # answer waits 40 ms for the first to be acknowledged.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
