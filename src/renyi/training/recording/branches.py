"""The journals of several runs beside each other: what each adds to the others.

A journal may have been copied, and both copies continued. Each line carries a hash of everything before it, and each opening a
random id, so that two journals have a line in common only if one is a copy of the other up to there. Then their common
beginning was released once, and both tails were released. Journals from before openings had ids cannot be told apart in this
way, and count in full.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from renyi.events import Event
from renyi.ledger.journal import entries
from renyi.training.recording.record import Record


@dataclass(frozen=True, slots=True)
class Branch:
    """A run, and how many of its releases another journal holds too; ``copy`` if it adds nothing to the other."""

    path: Path
    record: Record
    shared: int
    copy: bool

    @property
    def released(self) -> Event:
        """What the run has released beside what it shares."""
        return self.record.plan.events(self.shared, self.record.steps)

    @property
    def promised(self) -> Event:
        """The same with all planned steps, unless the run was stopped, and the stop declared data-independent."""
        record = self.record
        early = record.stopped and record.data_independent
        return record.plan.events(self.shared, record.steps if early else record.plan.steps)


def branches(paths: Iterable[str | os.PathLike[str]]) -> tuple[Branch, ...]:
    """The runs of these journals, the longest first, so that a copy comes after the journal that goes on from it."""
    journals = sorted((_Read.of(Path(path)) for path in paths), key=lambda one: (-len(one.passed), str(one.path)))
    seen: set[str] = set()
    found = []
    for one in journals:
        record = one.record
        common = [steps for line, steps in one.passed if line in seen]  # a beginning, because hashes are chained
        shared = common[-1] if common else 0
        over = record.stopped or record.steps == record.plan.steps
        copy = bool(common) and shared == record.steps and (over or one.opening in seen)
        found.append(Branch(one.path, record, shared, copy))
        if record.identified:
            seen.update(line for line, _ in one.passed)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Read:
    """A journal's record, the hash of each line with the number of releases up to there, and that of its last opening."""

    path: Path
    record: Record
    passed: list[tuple[str, int]]
    opening: str

    @classmethod
    def of(cls, path: Path) -> _Read:
        record, passed, opened, opening = Record(), [], None, ""
        for entry in entries(path):
            record.add(entry)
            passed.append((entry.hash, record.steps))
            if record.opened is not opened:
                opened, opening = record.opened, entry.hash
        _ = record.plan  # raises if the journal is empty
        return cls(path, record, passed, opening)
