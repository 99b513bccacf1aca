"""The tutorials: two are executed and must print what they printed; the outputs of all belong to their cells."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from scripts import tutorials

ROOT = Path(__file__).parents[2]
PATHS = tutorials.paths()
NOTEBOOKS = {path.stem: tutorials.read(path) for path in PATHS}
QUICK = ("1-first-epsilon", "5-a-years-budget")
"""Those that train nothing."""

OF_A_MACHINE = re.compile(
    r"/(home|root|tmp|usr|var|Users|dev)/|[A-Z]:\\|\b0x[0-9a-f]{6,}|\b20\d\d-\d\d-\d\d\b|Warning\b"
)
"""Paths, addresses of objects, dates, warnings: what is another one elsewhere, or tomorrow."""

MOST_BYTES = 1_000_000
"""Of all pictures together, as they stand in the files."""


def test_there_are_six_and_the_first_page_leads_to_each():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [path.stem[:2] for path in PATHS] == [f"{number}-" for number in range(1, 7)]
    for path in PATHS:
        assert f"](tutorials/{path.name})" in index
        assert f"\ntutorials/{path.stem}\n" in index


@pytest.mark.parametrize("name", QUICK)
def test_a_tutorial_says_again_what_it_said(name):
    committed = NOTEBOOKS[name]
    again = tutorials.executed(committed)
    assert tutorials.texts(again) == tutorials.texts(committed), tutorials.AGAIN


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_outputs_of_a_tutorial_are_those_of_its_cells(name):
    tutorials.expect_current(NOTEBOOKS[name], name)
    cells = tutorials.code(NOTEBOOKS[name])
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]


def test_outputs_of_other_cells_are_refused():
    changed = nbformat.from_dict({**NOTEBOOKS[QUICK[0]]})
    changed.cells = [*changed.cells, nbformat.v4.new_markdown_cell("one more")]
    with pytest.raises(ValueError, match="`make tutorials`"):
        tutorials.expect_current(changed, QUICK[0])
    assert "\ntutorials:\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_a_tutorial_shows_is_the_same_everywhere(name):
    outputs = [output for cell in tutorials.code(NOTEBOOKS[name]) for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"stream", "display_data"}  # no errors, no bare values
    assert {output.get("name", "stdout") for output in outputs} == {"stdout"}
    assert [text for text in tutorials.texts(NOTEBOOKS[name]) if OF_A_MACHINE.search(text)] == []
    assert set(NOTEBOOKS[name].metadata) == {*tutorials.METADATA, "renyi"}


def test_the_pictures_are_small():
    sizes = [len(one["image/png"]) for notebook in NOTEBOOKS.values() for one in tutorials.pictures(notebook)]
    assert len(sizes) >= 6
    assert sum(sizes) < MOST_BYTES
