"""What a long campaign has found so far, a line a chunk, so that a run that is stopped loses nothing and can go on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "build" / "soundness"


@dataclass(frozen=True, slots=True)
class Journal:
    """The chunks of one campaign on one state of the code that are done, each a task and its rows."""

    path: Path

    @classmethod
    def of(cls, seed: int, commit: str) -> Journal:
        """The journal of this seed on this code; on code that is not committed, which no name tells apart, a new one."""
        journal = cls(FOLDER / f"{seed}-{commit}.jsonl")
        if commit.endswith(CHANGED):
            journal.path.unlink(missing_ok=True)
        return journal

    def read(self) -> dict[tuple[Any, ...], list[Any]]:
        """Every whole line: one during which a run was stopped may be torn."""
        if not self.path.exists():
            return {}
        found: dict[tuple[Any, ...], list[Any]] = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                task, rows = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[tuple(task)] = rows
        return found

    def add(self, task: tuple[Any, ...], rows: list[Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # The line break comes first: what follows a torn line is a line of its own.
            file.write("\n" + json.dumps([task, rows], default=float))


CHANGED = "+changes"
"""What is added to the name of a commit where files differ from it."""
