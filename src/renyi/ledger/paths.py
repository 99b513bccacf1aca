"""What may name a file, with errors of ours where Python's own would come from deep inside; and in what systems differ."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from renyi.errors import InvalidInput
from renyi.events.document import short

PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags of a file that other programs do not inherit, and whose bytes are what was written, on every system."""

NEVER_WAIT = PLAIN | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Flags with which opening a pipe or a device returns at once."""


def path_of(**named: object) -> Path:
    """The path that a text or a ``Path`` names."""
    ((what, value),) = named.items()
    try:
        path = Path(value)  # type: ignore[arg-type]
    except TypeError:
        path = Path("\0")
    if "\0" in str(path):  # no file system takes it, and Python raises a bare ValueError
        raise InvalidInput(
            f"{what} must name a file, as text or a Path; got {short(value)} of type {type(value).__name__}."
        )
    return path


def synced(path: Path) -> None:
    """Force a file, or the names in a folder, to disk: until then the name of a new file may be lost in a crash."""
    if sys.platform == "win32" and path.is_dir():  # Windows opens no folders, and keeps names by itself
        return
    descriptor = os.open(path, os.O_RDONLY | PLAIN)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
