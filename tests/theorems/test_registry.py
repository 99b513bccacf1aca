"""Every numbered result has its place; every function its number; the page is what the registry says."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from tests.theorems.errata import ERRATA
from tests.theorems.page import DOCS, pages
from tests.theorems.registry import ENTRIES, RESULTS, Kind, results

ROOT = Path(__file__).parents[2]
FUNCTIONS = [entry for entry in ENTRIES if entry.kind is Kind.FUNCTION]


def named(entry):
    return entry.name


@pytest.mark.parametrize("document", RESULTS)
def test_every_numbered_result_stands_here_once(document):
    assert [entry.number for entry in ENTRIES if entry.document == document] == results(document)


@pytest.mark.parametrize("entry", FUNCTIONS, ids=named)
def test_the_function_gives_the_number_and_one_percent_off_is_refused(entry):
    value = entry.value()
    assert entry.agrees(value), (value, float(entry.expected))
    assert not entry.agrees(0.99 * value)
    assert not entry.agrees(value / 0.99)


@pytest.mark.parametrize("entry", ENTRIES, ids=named)
def test_what_it_names_exists(entry):
    if entry.kind is Kind.FIGURE and entry.function.startswith("renyi.plots"):
        assert importlib.util.find_spec(entry.function)
    else:
        assert callable(entry.resolved())
    assert entry.tests
    for test in entry.tests:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test
    assert entry.says
    assert "|" not in entry.says


def test_most_results_are_functions():
    assert len(FUNCTIONS) >= 60
    assert all(entry.call is None for entry in ENTRIES if entry.kind is not Kind.FUNCTION)


def test_the_pages_are_current():
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make theorems` and look at what changed"
    assert {path.name for path in (DOCS / "papers").iterdir()} == {path.name for path in pages()} - {"theorems.md"}


def test_every_document_has_its_errata():
    assert set(ERRATA) == set(RESULTS)
    for rows in ERRATA.values():
        assert rows
        assert not any("|" in text for row in rows for text in row)
