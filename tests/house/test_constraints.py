"""constraints.txt pins whatever the test command installs, so that a fresh clone stays as green as it was."""

from __future__ import annotations

from importlib.metadata import distributions

from packaging.utils import canonicalize_name
from scripts import pins

PINNED = dict(line.split("==") for line in pins.FILE.read_text(encoding="utf-8").splitlines() if "==" in line)


def test_everything_installed_stands_pinned_at_its_version():
    installed = pins.required()
    assert {name: PINNED.get(name) for name in installed} == installed


def test_the_walk_finds_what_is_needed_directly_and_indirectly():
    found = pins.required()
    assert {"numpy", "scipy", "typer", "rich", "torch", "ruff", "mypy", "pytest", "hypothesis", "sphinx"} <= set(found)
    assert {"markupsafe", "pluggy", "sympy", "sphinxcontrib-jsmath"} <= set(found)  # of a requirement's requirements
    assert set(found) <= {canonicalize_name(each.metadata["Name"]) for each in distributions()}
