"""docs/figures.md: its examples run, and every figure is shown, with its numbers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from matplotlib import pyplot
from typer.testing import CliRunner

from renyi.cli.main import app
from renyi.plots.figures import FIGURES

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "figures.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in blocks("python"):
        exec(compile(example, "figures.md", "exec"), names)
    pyplot.close(names["ax"].figure)
    for line in "".join(blocks("sh")).splitlines():
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")}
    assert {"curve.png", "profile.svg", "accountants.png", "profiles.png", "profiles.pdf"} <= found
    assert "drawn/zhu-wang-figure-2.csv" in found


def test_every_figure_is_shown_with_its_numbers():
    for name in FIGURES:
        assert f"](figures/{name}.png)" in TEXT
        assert f"](figures/{name}.csv)" in TEXT
    for link in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (DOCS / link).exists(), link
