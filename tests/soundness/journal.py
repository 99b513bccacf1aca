"""What a long campaign has found so far, a line a chunk, so that a run that is stopped loses nothing and can go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "progress"
"""In the repository: a campaign that takes longer than one sitting is committed as it is, and goes on in the next."""

CHANGED = "+changes"
"""What is added to the name of a commit where files differ from it: such code has no name, and nothing of it is kept."""


class Chunk(NamedTuple):
    """A task that is done, the commit that was asked, and what was found."""

    task: tuple[Any, ...]
    commit: str
    rows: list[Any]


@dataclass(frozen=True, slots=True)
class Journal:
    """The chunks of a campaign that are done, on whichever code."""

    path: Path

    @classmethod
    def of(cls, seed: int) -> Journal:
        """Of this seed."""
        return cls(FOLDER / f"{seed}.jsonl")

    def __iter__(self) -> Iterator[Chunk]:
        """Every whole line: one during which a run was stopped may be torn."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            try:
                task, commit, rows = json.loads(line)
            except json.JSONDecodeError:
                continue
            if not commit.endswith(CHANGED):
                yield Chunk(tuple(task), commit, rows)

    def add(self, chunk: Chunk) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # The line break comes first: what follows a torn line is a line of its own.
            file.write("\n" + json.dumps(chunk, default=float))
