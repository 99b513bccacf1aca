"""What a long campaign has found so far, a line a chunk, so that a run that is stopped loses nothing and can go on."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "progress"
"""In the repository: a campaign that takes longer than one sitting is committed as it is, and goes on in the next."""

CHANGED = "+changes"
"""What is added to the hash of files that differ from it: such code has no name, and nothing of it is kept."""

BEYOND = (
    "src/renyi/training/",
    "src/renyi/ledger/",
    "src/renyi/accountants/risk.py",
    "src/renyi/laws/trade_offs/",
)
"""What no accountant imports, training and risks: a campaign about epsilon and delta stands while they change."""


def tree_of_source() -> str:
    """The hash of the tree of src/; where files differ from it, a mark is added."""
    tree, changes = _git("rev-parse", "HEAD:src"), _git("status", "--porcelain", "--", "src")
    return tree + CHANGED if changes else tree


def tree_of_accountants() -> str:
    """The same for all that accountants can import: the hash of names and hashes of its files."""
    rows = [
        row for row in _git("ls-tree", "-r", "HEAD", "src").splitlines() if not row.split("\t")[1].startswith(BEYOND)
    ]
    changed = [row for row in _git("status", "--porcelain", "--", "src").splitlines() if not row[3:].startswith(BEYOND)]
    tree = hashlib.sha1("\n".join(rows).encode()).hexdigest()
    return tree + CHANGED if changed else tree


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], capture_output=True, text=True, check=True).stdout.rstrip()


class Chunk(NamedTuple):
    """A task that is done, the tree that was asked, and what was found."""

    task: tuple[Any, ...]
    tree: str
    rows: list[Any]


@dataclass(frozen=True, slots=True)
class Journal:
    """The chunks of a campaign that are done, on whichever code."""

    path: Path

    @classmethod
    def of(cls, campaign: str, seed: int) -> Journal:
        """Of this campaign with this seed."""
        return cls(FOLDER / f"{campaign}-{seed}.jsonl")

    def __iter__(self) -> Iterator[Chunk]:
        """Every whole line: one during which a run was stopped may be torn."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            try:
                task, tree, rows = json.loads(line)
            except json.JSONDecodeError:
                continue
            if not tree.endswith(CHANGED):
                yield Chunk(tuple(task), tree, rows)

    def add(self, chunk: Chunk) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # The line break comes first: what follows a torn line is a line of its own.
            file.write("\n" + json.dumps(chunk, default=float))
