"""Deferred interrupts: a signal that arrives during a block that must not be interrupted is delivered after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Held:
    """A handler that takes note of signals instead of acting on them."""

    def __init__(self) -> None:
        self.arrived: list[int] = []

    def __call__(self, number: int, _: object) -> None:
        self.arrived.append(number)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back while the block runs, then deliver them to the handlers that were installed before.

    Python runs signal handlers only in the main thread, so in other threads there is nothing to hold back; nor is there
    inside another such block, which delivers them at its own end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupt, terminate = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    if isinstance(interrupt, _Held) and interrupt is terminate:
        yield
        return
    held = _Held()
    arrived = held.arrived
    try:
        signal.signal(signal.SIGINT, held)
        signal.signal(signal.SIGTERM, held)
        yield
    finally:
        # Once SIGINT's handler is back it may raise at any statement, also before the one that restores SIGTERM's: hence twice.
        try:
            try:
                signal.signal(signal.SIGINT, interrupt)
            finally:
                signal.signal(signal.SIGTERM, terminate)
        finally:
            signal.signal(signal.SIGTERM, terminate)
        for number in arrived:
            signal.raise_signal(number)
