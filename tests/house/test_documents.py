"""The examples of the README and of the documents run, and the README's two commands are the ones that are used."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from renyi.cli.main import app

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Examples that write files do so in a folder of their own."""
    monkeypatch.chdir(tmp_path)


README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_examples_run(capsys):
    examples = blocks("python")
    assert len(examples) == 3
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    assert "differentially private" in capsys.readouterr().out


def test_the_training_page_runs(capsys):
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(example, "training.md", "exec"), names)
    assert "differentially private" in capsys.readouterr().out


ELSEWHERE = {"training.md", "figures.md", "adding-a-sampling.md", "adding-a-method.md", "coming-from.md"}
"""Pages with tests of their own."""

PAGES = [
    str(path.relative_to(ROOT / "docs"))
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if "```python" in path.read_text(encoding="utf-8") and path.name not in ELSEWHERE
]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for example in blocks("python", text):
        exec(compile(example, page, "exec"), names)
    for line in "".join(blocks("sh", text)).splitlines():
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
    assert names


COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("renyi ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_shell_examples_run(line):
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exit_code == 0, result.output


def test_the_run_line_prints_what_the_readme_says():
    line = next(
        line for block in blocks("sh") for line in block.splitlines() if "renyi epsilon" in line and "venv" in line
    )
    arguments = shlex.split(line.split("renyi epsilon", 1)[1])
    result = CliRunner().invoke(app, ["epsilon", *arguments])
    assert result.exit_code == 0
    assert result.stdout.strip() == "2.38169"
    assert result.stdout.strip() in README
    for message in result.stderr.strip().splitlines():
        assert message in README


def test_ci_calls_the_very_test_command_of_the_readme():
    command = "python3 scripts/test.py"
    assert command in blocks("sh")[1]
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_help_shows_complete_examples():
    for name in ("epsilon", "delta", "noise", "steps", "curve", "risk"):
        result = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
        assert result.exit_code == 0
        lines = [" ".join(line.strip(" │").split()) for line in result.stdout.splitlines()]
        shown = [line for line in lines if line.startswith(f"renyi {name} ")]
        assert shown
        for line in shown:
            assert line in result.stdout  # without runs of blanks
            if "--event" not in line:
                assert CliRunner().invoke(app, shlex.split(line)[1:]).exit_code == 0, line
