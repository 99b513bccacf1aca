"""The reference says of every public name what goes in, what comes out, what is raised; and its examples run."""

from __future__ import annotations

import doctest
import enum
import inspect
import re
from pathlib import Path

import pytest

import renyi

PAGES = sorted((Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
ENTRY = re.compile(r"^\.\. auto(?:function|class):: renyi\.(\w+)$(.*?)(?=^\.\. auto|^```)", re.MULTILINE | re.DOTALL)
ENTRIES = {name: text for page in PAGES for name, text in ENTRY.findall(page.read_text(encoding="utf-8"))}
ERRORS = {name for name in renyi.__all__ if inspect.isclass(one := getattr(renyi, name)) and issubclass(one, Exception)}


def test_every_public_name_has_one_entry():
    written = [name for page in PAGES for name, _ in ENTRY.findall(page.read_text(encoding="utf-8"))]
    assert len(written) == len(set(written))
    assert set(written) == set(renyi.__all__) - ERRORS
    assert set(vars(renyi.errors)) >= ERRORS  # whose page takes them from there


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_whole(name):
    one, text = getattr(renyi, name), ENTRIES[name]
    asked = set() if inspect.isclass(one) and issubclass(one, enum.Enum) else set(inspect.signature(one).parameters)
    said = set(re.findall(r":param (\w+): .*\S", text))
    assert asked - {"args", "kwargs"} <= said
    assert said <= asked | {"value"}
    assert ">>>" in text or ">>>" in (one.__doc__ or "")
    if inspect.isfunction(one):
        assert ":returns: " in text
    if said != {"value"}:
        assert re.search(r":raises [\w.]+: ", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_the_reference_run(page):
    parsed = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(parsed).failed == 0
