"""What the document of an audit holds beside its findings: its format, which code was attacked, and what it does not show."""

from __future__ import annotations

import datetime
import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import renyi
from renyi.training.recording.record import replay

FORMAT, VERSION = "renyi-audit", 1

NOT_SHOWN = (
    "An audit that refutes nothing proves nothing: a fault that this attack does not look for, or that shows only on other "
    "data or in other steps, stays unseen."
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which code was attacked, and when: the version, the date, and a digest of the sources of training."""

    version: str
    date: str
    code: str

    @classmethod
    def now(cls) -> Stamp:
        """Of this code, today."""
        return cls(renyi.__version__, datetime.datetime.now(datetime.UTC).date().isoformat(), _digest())

    def __str__(self) -> str:
        return f"By renyi {self.version} on {self.date}; the sources of training have SHA-256 {self.code}."


@cache
def _digest() -> str:
    """SHA-256 over the paths and the contents of every source file of the room of training."""
    room = Path(__file__).parents[1]
    found = hashlib.sha256()
    for path in sorted(room.rglob("*.py")):
        found.update(f"{path.relative_to(room).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def head(journal: str | os.PathLike[str] | None) -> str | None:
    """The hash of the last line of a journal."""
    return None if journal is None else replay(journal).head
