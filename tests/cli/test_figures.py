"""``renyi figures``: files in a folder, their names on standard output."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from renyi.cli.main import app
from renyi.plots.figures import FIGURES


def run(*arguments):
    return CliRunner().invoke(app, ["figures", *arguments])


def test_one_figure_in_both_formats_with_its_numbers(tmp_path):
    folder = tmp_path / "a" / "b"
    result = run("--out", str(folder), "--only", "zhu-wang-figure-2", "--format", "png", "--format", "svg")
    assert result.exit_code == 0, result.output
    names = [f"zhu-wang-figure-2.{ending}" for ending in ("png", "svg", "csv")]
    assert result.stdout.splitlines() == [str(folder / name) for name in names]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert "1 figures in" in result.stderr


def test_json_and_the_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = json.loads(run("--only", "zhu-wang-figure-2", "--json").stdout)
    assert data["figures"] == ["zhu-wang-figure-2"]
    assert [(tmp_path / name).exists() for name in data["files"]] == [True, True]
    assert (tmp_path / "figures" / "zhu-wang-figure-2.png").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--only", "figure-9"], ", ".join(FIGURES)), (["--format", "pdf"], "pdf"), (["--out", "taken"], "cannot write")],
)
def test_bad_input_is_exit_2(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    result = run("--only", "zhu-wang-figure-2", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr
