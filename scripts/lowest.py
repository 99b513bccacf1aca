"""Tries the lower bounds of pyproject.toml: exactly these versions, in an environment of their own, and the tests there.

The core, its build backend, plots and the test tools; torch is left out, and with it what needs it.

Usage: python3 -m scripts.lowest [pytest arguments]
"""

from __future__ import annotations

import re
import sys
import tomllib

from scripts.test import ROOT, python_of, step

ENVIRONMENT = ".venv-lowest"
REQUIREMENT = re.compile(r"([\w.-]+)>=([\d.]+)")
TESTS = [
    "tests/cli",
    "tests/events",
    "tests/mechanisms",
    "tests/plots/test_plots.py",
    "tests/accountants/test_classical.py",
    "tests/accountants/test_exact.py::test_truth_lies_between_the_ends",
    "tests/accountants/test_loss_grid.py",
    "tests/papers/test_notions.py",
    "tests/accountants/test_risk.py",
    "tests/house/test_documents.py::test_the_run_line_prints_what_the_readme_says",
    "tests/house/test_imports.py",
    "--deselect=tests/house/test_imports.py::test_public_names_of_training_and_ledger_are_pinned",  # needs torch
    "--deselect=tests/house/test_imports.py::test_a_room_is_there_when_it_is_asked_for[training.Run]",  # as well
]


def floors() -> list[str]:
    """`name==version` for every `name>=version` that is declared for the core, its build, plots and the tests."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, extras = declared["project"], declared["project"]["optional-dependencies"]
    requirements = [*declared["build-system"]["requires"], *project["dependencies"], *extras["plot"], *extras["test"]]
    return [lowest(text) for text in requirements if not text.startswith("renyi[")]


def lowest(requirement: str) -> str:
    """The requirement at its lower bound."""
    if not (found := REQUIREMENT.fullmatch(requirement)):
        raise ValueError(f"{requirement!r} has no lower bound that can be tried: write it as name>=version.")
    return "{}=={}".format(*found.groups())


def main() -> int:
    python = python_of(ENVIRONMENT)
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    return (
        step("lowest versions", [*install, *floors()])
        # The backend at its own lower bound builds the package; an isolated build would take the newest.
        or step("install", [*install, "--no-build-isolation", "."])
        or step("tests", [python, "-m", "pytest", "-n", "2", *(sys.argv[1:] or TESTS)])
    )


if __name__ == "__main__":
    sys.exit(main())
