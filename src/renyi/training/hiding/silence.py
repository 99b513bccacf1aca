"""Code that runs without a word: nothing printed, logged or warned of reaches anybody."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress

STANDARD = (1, 2)
"""The file descriptors of standard output and standard error, which libraries and processes that are started write to."""


@contextmanager
def silence() -> Iterator[None]:
    """Throw away what the whole process prints, logs by ``logging`` or warns of, until the block ends.

    What code writes elsewhere, to a file of its own or to a tracker on the network, is beyond this.
    """
    with ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        _flush()
        for descriptor in STANDARD:
            stack.enter_context(_diverted(descriptor, nowhere.fileno()))
        # Text that was buffered inside the block must go while its descriptor still leads nowhere.
        stack.callback(_flush)
        stack.enter_context(redirect_stdout(nowhere))
        stack.enter_context(redirect_stderr(nowhere))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(sys.maxsize)
        yield


@contextmanager
def _diverted(descriptor: int, target: int) -> Iterator[None]:
    """Let a file descriptor lead elsewhere for a while; one that is closed stays so."""
    try:
        kept = os.dup(descriptor)
    except OSError:
        yield
        return
    try:
        os.dup2(target, descriptor)
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


def _flush() -> None:
    """Write out what the streams hold back. A stream that is closed, or missing as under pythonw, holds nothing."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
