"""The tour of the code says what is there: its files exist, its question takes the way that is drawn, its table is current."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from scripts import house

import renyi
from renyi import Gaussian, Poisson

ROOT = Path(__file__).parents[2]
SOURCE = Path(renyi.__file__).parent
HOUSE = house.House.of(SOURCE)
PAGE = house.PAGE.read_text(encoding="utf-8")
TOUR, TABLES = PAGE.split(house.BEGIN)
_, FOLLOWED, _ = re.split(r"\n## One question, followed\n|\n## Where to change what\n", TOUR)


def paths(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w/])((?:\w+/)*\w+\.py)\b", text))


def test_every_file_that_is_named_exists():
    named = paths(TOUR) | set(re.findall(r"`(tests/[\w/]+|(?:\w+/)+)`", TOUR))
    assert len(named) > 60
    assert [path for path in sorted(named) if not (SOURCE / path).exists() and not (ROOT / path).exists()] == []


def test_the_question_takes_the_way_that_is_drawn():
    """With noise that nobody else asks about, so that nothing is remembered from another test."""
    way = house.traced(lambda: renyi.epsilon(Gaussian(1.1 + 1e-7).on(Poisson(0.01)) * 1000, delta=1e-5), SOURCE)
    seen = {Path(name).relative_to(SOURCE).as_posix() for name in way.files}
    named = {path for path in paths(FOLLOWED) if not path.startswith("tests/")} - {"accountants/guarantee.py"}
    assert len(named) > 20
    assert sorted(named - seen) == []


def test_its_answer_is_the_one_that_is_printed():
    call, printed = re.findall(r"`(renyi\.epsilon\(.*?\))`: .*The answer is ([\d.]+)\.\n", FOLLOWED)[0]
    assert eval(call, {"renyi": renyi, "Gaussian": Gaussian, "Poisson": Poisson}) == pytest.approx(
        float(printed), rel=1e-11
    )


def test_the_rooms_and_their_arrows_are_those_that_are_held():
    drawn = re.findall(r"    errors, check, signatures ->.*\n.*\n", TOUR)[0]
    rooms = [
        {name.strip() for name in part.split(",")} for part in drawn.replace("\n", " ").split("->") if part.strip()
    ]
    held = [{"errors", "check", "signatures"}, *(set(level) - {"__main__"} for level in house.ROOMS[2:])]
    assert rooms == [level for level in held if level]
    assert drawn in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_table_of_folders_is_current():
    for line in house.plan(HOUSE):
        assert line in TABLES.splitlines(), "run `make house` and look at what changed"
    assert TABLES.count("| `renyi") == len(HOUSE.folders())
    assert f"\n{len(HOUSE.files)} files, " in TABLES
    for name, (files, crossings) in house.EARLIER_WAYS.items():
        assert re.search(rf"^\| {re.escape(name)} \|.*\| {files} \| {crossings:,} \|$", TABLES, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "folder", [path.parent for path in HOUSE.files.values() if path.name == "__init__.py"], ids=str
)
def test_a_room_says_where_to_begin(folder):
    """In at least two lines, one of which names a file or folder that is there."""
    words = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert "\n" in words
    inside = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert inside & set(re.findall(r"``(\w+)``", words)) or folder.name == "privacy"
