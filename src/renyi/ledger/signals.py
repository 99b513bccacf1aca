"""Interrupts that wait: a signal that arrives in the middle of something that must not be cut in two is delivered after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back while the block runs, then let them do what they would have done.

    Python runs signal handlers in the main thread only, between two statements, so elsewhere there is nothing to hold back.
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
        # An interrupt that arrives as soon as it may must not keep the other handler from being restored.
        try:
            signal.signal(signal.SIGINT, interrupt)
        finally:
            signal.signal(signal.SIGTERM, terminate)
        for number in arrived:
            signal.raise_signal(number)
