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
    """A run, and how many of its releases another journal holds too; ``copy`` if it adds nothing to the other.

    ``payers`` are the ids of the reservations under which its own releases were made, None for those that had none.
    """

    path: Path
    record: Record
    shared: int
    copy: bool
    payers: tuple[str | None, ...]

    @property
    def released(self) -> Event:
        """What the run has released beside what it shares."""
        return self.record.plan.events(self.shared, self.record.steps)

    @property
    def promised(self) -> Event:
        """The same with all planned steps, unless the run was stopped, and the stop declared data-independent."""
        record = self.record
        return record.plan.events(self.shared, record.steps if record.data_independent else record.plan.steps)


def branches(paths: Iterable[str | os.PathLike[str]]) -> tuple[Branch, ...]:
    """The runs of these journals, the longest first, so that a copy comes after the journal that goes on from it."""
    journals = sorted((_Read.of(Path(path)) for path in paths), key=lambda one: (-one.record.lines, str(one.path)))
    seen: set[str] = set()
    found = []
    for one in journals:
        record = one.record
        shared = sum(line in seen for line in one.releases)  # a beginning, because hashes are chained
        # One that was opened anew might have released more, unless its plan, or a declared stop, has ended it.
        over = record.steps == record.plan.steps or (record.stopped and record.data_independent)
        known = seen.issuperset(one.openings[:1] if over else one.openings[-1:])
        copy = record.identified and known and shared == record.steps
        found.append(Branch(one.path, record, shared, copy, tuple(one.releases.values())[shared:]))
        if record.identified:
            seen.update(one.releases, one.openings)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Read:
    """A journal's record, the hashes of its openings, and that of each release with the reservation it was made under."""

    path: Path
    record: Record
    openings: list[str]
    releases: dict[str, str | None]

    @classmethod
    def of(cls, path: Path) -> _Read:
        record, openings, releases = Record(), [], {}
        for entry in entries(path):
            opened, steps = record.opened, record.steps
            record.add(entry)
            if record.opened is not opened:
                openings.append(entry.hash)
            if record.steps > steps:
                releases[entry.hash] = None if record.reserved is None else record.reserved.id
        _ = record.plan  # raises if the journal is empty
        return cls(path, record, openings, releases)
