"""What a long campaign has found so far, a line a chunk, so that a run that is stopped loses nothing and can go on."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "progress"
"""In the repository: a campaign that takes longer than one sitting is committed as it is, and goes on in the next."""

CHANGED = "+changes"
"""What is added to the hash of files that differ from it: such code has no name, and nothing of it is kept."""

BEYOND = tuple(
    f"src/renyi/{name}"
    for name in (
        "accountants/per_record.py",
        "accountants/risk.py",
        "calibration/",
        "certificates/",
        "cli/",
        "interop/",
        "laws/trade_offs/",
        "ledger/",
        "papers/",
        "plots/",
        "privacy/",
        "report/",
        "training/",
        "web/",
    )
)
"""What no accountant imports, such as training and risks: a campaign about epsilon and delta stands while it changes."""

STATED = tuple(f"src/renyi/{name}" for name in ("__init__.py", "accountants/guarantee.py", "events/words.py"))
"""What names things and puts answers into words. It is imported, but no epsilon or delta is computed there."""


def tree_of_source(folder: str = "src") -> str:
    """The hash of the tree of src/, or of a folder in it; where files differ from it, a mark is added."""
    tree, changes = _git("rev-parse", f"HEAD:{folder}"), _git("status", "--porcelain", "--", folder)
    return tree + CHANGED if changes else tree


def tree_of_accountants() -> str:
    """A hash of all code that accountants can import, without its comments and docstrings: words may change."""
    names = [name for name in _git("ls-files", "src").splitlines() if name.endswith(".py")]
    rows = [f"{name} {_code(ROOT / name)}" for name in names if not name.startswith(BEYOND + STATED)]
    changed = [
        row
        for row in _git("status", "--porcelain", "--", "src").splitlines()
        if not row[3:].startswith(BEYOND + STATED)
    ]
    tree = hashlib.sha1("\n".join(rows).encode()).hexdigest()
    return tree + CHANGED if changed else tree


def _code(path: Path) -> str:
    """What a module does, as the dump of its syntax tree: strings that stand alone are docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [one for one in body if not _is_docstring(one)]  # type: ignore[attr-defined]
    return hashlib.sha1(ast.dump(tree).encode()).hexdigest()


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.rstrip()


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
