"""What would be published: whole archives, metadata that an index can show, extras that need no other."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from scripts import package

import renyi

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = DECLARED["optional-dependencies"]


def held(builder) -> set[str]:
    return {file.relative_path for file in builder.recurse_included_files()}


def there(*folders: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_source_archive_holds_what_the_tests_and_the_site_need():
    files = held(SdistBuilder(str(ROOT)))
    assert there("src", "tests", "docs", "scripts", "benchmarks", "examples", ".ci") <= files
    assert {"Makefile", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE"} <= files
    assert "constraints.txt" in files  # pyproject.toml is always there
    assert not any(name.startswith((".venv", "site/", "dist/")) for name in files)


def test_the_wheel_holds_the_library_and_nothing_else():
    assert held(WheelBuilder(str(ROOT))) == there("src")


def test_the_readme_works_where_nothing_stands_beside_it():
    """On an index there are no folders: no link leads into one, and pictures are left out."""
    core = SdistBuilder(str(ROOT)).metadata.core
    assert "docs/figures" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https?:)[^)]*\)", core.readme) == []
    assert "# renyi" in core.readme
    assert core.readme_content_type == "text/markdown"


def test_one_version_is_given_everywhere():
    for path in ("CITATION.cff", "README.md"):
        assert renyi.__version__ in (ROOT / path).read_text(encoding="utf-8")
    heading = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heading[1] == renyi.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2])


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_asks_for_extras_that_there_are(extra):
    needed = {
        name for text in EXTRAS[extra] for found in re.findall(r"renyi\[(.*)\]", text) for name in found.split(",")
    }
    assert needed <= set(EXTRAS) - {extra}
    assert extra in {*package.LOADS, *package.LARGE, "test"}  # each is tried by `make package`


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_a_recipe_needs_only_what_its_extra_brings(path):
    declared = {Requirement(text).name for extra in ("recipes", "training") for text in EXTRAS[extra]}
    imported = set(re.findall(r"^(?:import|from) (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    distributions = {{"sklearn": "scikit-learn"}.get(name, name) for name in imported - sys.stdlib_module_names}
    assert distributions <= declared  # renyi itself among them
