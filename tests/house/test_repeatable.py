"""The test command says the same each time: nothing unseeded, nothing that looks at a clock."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import settings
from scripts import full, test

from tests import examples

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests").rglob("test_*.py"))
CLOCKS = {"time", "timeit", "datetime"}
GENERATORS = {"default_rng", "Random", "SystemRandom", "urandom", "randbits", "token_bytes"}
"""Without an argument, or whatever their argument is, they draw from the operating system."""


def imported(tree: ast.AST) -> set[str]:
    nodes = list(ast.walk(tree))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def unseeded(tree: ast.AST) -> set[str]:
    """Generators that are called without a seed."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [(getattr(call.func, "attr", getattr(call.func, "id", "")), call.args) for call in calls]
    return {
        name
        for name, arguments in named
        if name in GENERATORS and not (name in ("default_rng", "Random") and arguments)
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_test_looks_at_a_clock_or_draws_without_a_seed(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert imported(tree) & CLOCKS == set()
    assert unseeded(tree) == set()


def test_such_tests_would_be_found():
    tree = ast.parse("import time\nrng = np.random.default_rng()\nkey = os.urandom(16)\nmore = default_rng(5)")
    assert imported(tree) & CLOCKS == {"time"}
    assert unseeded(tree) == {"default_rng", "urandom"}


def test_hypothesis_repeats_itself_unless_a_seed_is_given():
    assert settings.default is not None
    assert settings.default.derandomize is not examples.FRESH
    assert settings.default.deadline is None


def test_a_seed_reaches_the_points_and_hypothesis():
    assert test.environment_of(7) == {"RENYI_SEED": "7"}
    assert "--hypothesis-seed=7" in test.pytest_command(7)
    assert test.environment_of(None) == {}
    assert not any("seed" in word for word in test.pytest_command(None))


def test_a_step_does_not_inherit_a_seed(monkeypatch, capfd):
    monkeypatch.setenv("RENYI_SEED", "5")
    monkeypatch.setenv("RENYI_FULL", "1")
    shown = "import os; print([name for name in os.environ if name.startswith('RENYI_')])"
    assert test.step("shown", [test.sys.executable, "-c", shown], {"RENYI_SEED": "6"}) == 0
    assert capfd.readouterr().out.splitlines()[0] == "['RENYI_SEED']"


def test_the_long_form_counts_what_ran(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="9" failures="2" errors="1"/></testsuites>', encoding="utf-8")
    assert full.counted(report) == {"tests": 9, "failed": 3}
