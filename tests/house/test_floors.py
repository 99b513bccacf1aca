"""The lower bounds of pyproject.toml: what `make lowest` installs, and never above what constraints.txt pins."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from scripts import lowest

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CORE = [Requirement(text) for text in DECLARED["project"]["dependencies"]]
EXTRAS = [
    requirement
    for texts in DECLARED["project"]["optional-dependencies"].values()
    for requirement in map(Requirement, texts)
    if requirement.name != "renyi"
]


def floor(requirement: Requirement) -> Version:
    (bound,) = requirement.specifier
    assert bound.operator == ">=", requirement
    return Version(bound.version)


@pytest.mark.parametrize("requirement", CORE, ids=str)
def test_the_core_is_tried_at_its_lower_bounds(requirement):
    tried = {pin.name: pin.specifier for pin in map(Requirement, lowest.floors())}
    assert str(floor(requirement)) in tried[requirement.name]
    assert {bound.operator for bound in tried[requirement.name]} == {"=="}


@pytest.mark.parametrize("requirement", [*CORE, *EXTRAS], ids=str)
def test_the_pinned_versions_satisfy_the_lower_bounds(requirement):
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    (pinned,) = (line.partition("==")[2] for line in lines if line.startswith(f"{requirement.name}=="))
    assert floor(requirement) <= Version(pinned)


def test_no_typer_that_misreads_options_is_allowed():
    (typer,) = (requirement for requirement in CORE if requirement.name == "typer")
    for version in ("0.12.5", "0.20.0", "0.24.0", "0.25.1", "0.27.0", "0.27.3"):
        assert version not in typer.specifier


@pytest.mark.parametrize("text", ["numpy", "numpy==2.0", "numpy>=2.0,<3", "numpy>2"])
def test_a_bound_that_cannot_be_tried_is_refused(text):
    with pytest.raises(ValueError, match="name>=version"):
        lowest.lowest(text)
