"""Deferred interrupts: a signal that arrives during a block that must not be interrupted is delivered after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back while the block runs, then deliver them to the handlers that were installed before.

    Python runs signal handlers only in the main thread, so in other threads there is nothing to hold back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    interrupt, terminate = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
        signal.signal(signal.SIGTERM, lambda number, _: arrived.append(number))
        yield
    finally:
        # Once SIGINT's handler is back it may raise here at any statement; SIGTERM's must be restored even then.
        try:
            signal.signal(signal.SIGINT, interrupt)
        finally:
            signal.signal(signal.SIGTERM, terminate)
        for number in arrived:
            signal.raise_signal(number)
