"""The house in numbers: files per folder, lines, imports against the arrows, cycles; and the way of four questions through it.

Usage: python -m scripts.house            prints the tables
       python -m scripts.house --write    writes them into docs/architecture.md
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "renyi"

ROOMS: tuple[set[str], ...] = (
    {"errors"},
    {"check", "signatures"},
    {"numerics"},
    {"laws"},
    {"events"},
    {"authoring"},
    {"mechanisms", "sampling"},
    {"composing"},
    {"accountants", "certificates"},
    {"calibration"},
    {"ledger"},
    {"training"},
    {"papers"},
    {"plots"},
    {"report"},
    {"interop"},
    {"cli"},
    {"web"},
    {"__main__"},
)
"""The rooms from left to right: a module knows those on its left and its own room, never those on its right."""

OLD_PATHS = {"privacy"}
"""Rooms that are gone but whose modules CONTRIBUTING named: they warn, and lead to the new ones."""

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- house -->\n", "<!-- /house -->\n"
"""Between these lines the page holds the tables."""

EARLIER = "f32e2ab"
"""The commit before the rooms were rebuilt."""

EARLIER_WAYS = {
    "sampled Gaussian": (34, 243),
    "sampled Gaussian + Laplace": (36, 293),
    "both on one draw": (54, 3587),
    "noise_multiplier": (36, 649),
}
"""Files and crossings of the four questions at that commit."""

LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


@dataclass(frozen=True, slots=True)
class House:
    """Every module with the modules of the package that it imports, inside functions too."""

    source: Path
    files: dict[str, Path]
    imports: dict[str, frozenset[str]]

    @classmethod
    def of(cls, source: Path = SOURCE) -> House:
        """The package under a folder."""
        files = {}
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            files[".".join(("renyi", *parts)).removesuffix(".__init__")] = path
        return cls(source, files, {name: frozenset(_imported(name, path, files)) for name, path in files.items()})

    def violations(self) -> Iterator[str]:
        """Imports that point to the right, and modules without a room."""
        for name, imported in self.imports.items():
            own = room_of(name)
            if not own or own in OLD_PATHS:
                continue
            if own not in LEVEL:
                yield f"{name} has no place in the house"
                continue
            for other in sorted(imported):
                room = room_of(other)
                if room != own and (room not in LEVEL or LEVEL[room] >= LEVEL[own]) and other != "renyi":
                    yield f"{own} must not know {room}: {name} imports {other}"

    def cycles(self) -> list[list[str]]:
        """Modules that import each other, directly or through others: the strongly connected components of more than one."""
        index: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        found: list[list[str]] = []

        def visit(name: str) -> None:
            index[name] = low[name] = len(index)
            stack.append(name)
            for other in sorted(self.imports[name] - {"renyi"}):
                if other not in index:
                    visit(other)
                    low[name] = min(low[name], low[other])
                elif other in stack:
                    low[name] = min(low[name], index[other])
            if low[name] == index[name]:
                members = stack[stack.index(name) :]
                del stack[stack.index(name) :]
                if len(members) > 1:
                    found.append(sorted(members))

        for name in self.imports:
            if name not in index and name != "renyi":
                visit(name)
        return found

    def folders(self) -> dict[str, tuple[int, int]]:
        """Siblings and lines of every folder; a folder inside counts as one sibling."""
        made: dict[str, tuple[int, int]] = {}
        for folder in sorted({path.parent for path in self.files.values()}):
            own = [path for path in folder.iterdir() if path.suffix == ".py" and path.name != "__init__.py"]
            inside = [path for path in folder.iterdir() if (path / "__init__.py").exists()]
            lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)
            made["/".join(("renyi", *folder.relative_to(self.source).parts))] = (len(own) + len(inside), lines)
        return made


def room_of(module: str) -> str:
    """The room of a module; empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def _imported(module: str, path: Path, files: dict[str, Path]) -> Iterator[str]:
    """What an import statement loads: a module, and the packages around it, but for those that are around us."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            while name and not f"{module}.".startswith(f"{name}."):
                if name in files:
                    yield name
                name = name.rpartition(".")[0]


@dataclass(slots=True)
class Way:
    """What a question does: its calls of our functions, the files on its path, and how often it goes from one to another."""

    calls: int = 0
    crossings: int = 0
    files: frozenset[str] = frozenset()


def traced(ask: Callable[[], object], source: Path = SOURCE) -> Way:
    """The way of a question, asked for the first time by a process that has loaded everything."""
    way, files, prefix = Way(), set(), str(source)

    def follow(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(prefix):
            return
        way.calls += 1
        files.add(name)
        before = frame.f_back
        while before is not None and not before.f_code.co_filename.startswith(prefix):
            before = before.f_back
        if before is not None and before.f_code.co_filename != name:
            way.crossings += 1

    sys.setprofile(follow)
    try:
        ask()
    finally:
        sys.setprofile(None)
    way.files = frozenset(files)
    return way


def questions() -> dict[str, Callable[[], object]]:
    """Four that people ask."""
    from renyi import Gaussian, Laplace, Poisson, epsilon, noise_multiplier

    step = Gaussian(1.1).on(Poisson(0.01))
    both = (Gaussian(2.0) + Laplace(3.0)).on(Poisson(0.01))
    return {
        "sampled Gaussian": lambda: epsilon(step * 1000, delta=1e-5),
        "sampled Gaussian + Laplace": lambda: epsilon(step * 1000 + Laplace(2.0), delta=1e-5),
        "both on one draw": lambda: epsilon(both * 1000, delta=1e-5),
        "noise_multiplier": lambda: noise_multiplier(epsilon=1.0, delta=1e-5, rate=0.01, steps=1000),
    }


def plan(house: House) -> list[str]:
    """How many files stand where, and whether the arrows hold: the part of the tables that a test keeps current."""
    rows = [f"| `{folder}` | {siblings} |" for folder, (siblings, _) in house.folders().items()]
    wrong, cycles = list(house.violations()), house.cycles()
    arrows = f"Imports against the arrows: {len(wrong)}; cycles: {len(cycles)}."
    return ["| folder | files and folders in it |", "|---|---|", *rows, "", arrows, *wrong, *map(str, cycles)]


def ways() -> list[str]:
    """The four questions, today and earlier. Other versions of NumPy or Python may take another way by a few calls."""
    rows = []
    for name, ask in questions().items():
        way, (files, crossings) = traced(ask), EARLIER_WAYS[name]
        rows.append(f"| {name} | {len(way.files)} | {way.crossings:,} | {way.calls:,} | {files} | {crossings:,} |")
    header = f"| question | files | crossings | calls | files at {EARLIER} | crossings at {EARLIER} |"
    return [header, "|---|---|---|---|---|---|", *rows]


def main() -> int:
    house = House.of()
    size = f"{len(house.files)} files, {sum(lines for _, lines in house.folders().values()):,} lines."
    text = "\n".join([*ways(), "", size, "", *plan(house)]) + "\n"
    if sys.argv[1:] == ["--write"]:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(before + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")
    else:
        print(text, end="")
    return 1 if any(house.violations()) or house.cycles() else 0


if __name__ == "__main__":
    sys.exit(main())
