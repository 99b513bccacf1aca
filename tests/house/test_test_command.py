"""The test command itself: what it says where no browser can be had."""

from __future__ import annotations

import pytest
from scripts import test


@pytest.mark.parametrize("seed", [None, 7])
def test_without_a_browser_everything_else_runs_the_last_line_says_so_and_it_fails(monkeypatch, capsys, seed):
    ran = {}

    def step(name, command, variables=None):
        ran[name] = command
        return int(name == "browser")

    monkeypatch.setattr(test, "step", step)
    assert test.check(".venv", [], [], seed) == 1
    assert list(ran) == ["install", "browser", "lint", "format", "types", "tests"]
    assert f"--ignore={test.BROWSER_TESTS}" in ran["tests"]
    assert capsys.readouterr().out.splitlines()[-1] == test.NO_BROWSER


def test_with_a_browser_its_tests_run(monkeypatch, capsys):
    ran = {}
    monkeypatch.setattr(test, "step", lambda name, command, variables=None: ran.update({name: command}) or 0)
    assert test.check(".venv", [], []) == 0
    assert not [part for part in ran["tests"] if part.startswith("--ignore")]
    assert test.NO_BROWSER not in capsys.readouterr().out
