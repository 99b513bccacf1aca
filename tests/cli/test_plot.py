"""``renyi plot``: a file, its caption, and errors instead of half a drawing."""

from __future__ import annotations

import importlib.util
import json
import shlex
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image
from typer.testing import CliRunner

import renyi
from renyi import Gaussian, Laplace, Rdp
from renyi.cli.documents import plot
from renyi.cli.main import app

RUN = ["--noise-multiplier", "4", "--steps", "100", "--delta", "1e-5"]
EVENT = Gaussian(4.0) * 100


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["plot", *arguments], input=stdin)


@pytest.mark.parametrize("kind", [kind.value for kind in plot.Kind])
def test_every_kind_is_drawn(tmp_path, kind):
    target = tmp_path / "drawn.png"
    result = run(kind, *RUN, "--out", str(target))
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{target}\n"
    with Image.open(target) as image:
        assert image.format == "PNG"
        assert image.width > 800
    expected = renyi.guarantee(EVENT, delta=1e-5, accountant=Rdp() if kind == "curve" else None)
    assert str(expected) in result.stderr


def test_svg_and_json(tmp_path):
    target = tmp_path / "profile.svg"
    event = Laplace(10.0) * 3
    result = run("profile", "--event", "-", "--delta", "1e-6", "--out", str(target), "--json", stdin=event.to_json())
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert (data["kind"], data["file"], data["notes"]) == ("profile", str(target), [])
    assert data["caption"] == str(renyi.guarantee(event, delta=1e-6))
    assert "failure probability" in "".join(ElementTree.parse(target).getroot().itertext())


def test_pdf_for_papers(tmp_path):
    target = tmp_path / "profile.pdf"
    result = run("profile", *RUN, "--out", str(target))
    assert (result.exit_code, result.stdout) == (0, f"{target}\n"), result.output
    assert target.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "arguments",
    [
        ["curve", *RUN],
        ["curve", *RUN, "--out", "a.eps"],
        ["curve", "--noise-multiplier", "1", "--out", "a.png"],
        ["pie", *RUN, "--out", "a.png"],
        ["curve", "--delta", "1e-5", "--out", "a.png"],
        ["steps", "--noise-multiplier", "1", "--delta", "1e-5", "--out", "a.png"],
        ["profile", "--noise-multiplier", "0", "--delta", "1e-5", "--out", "a.png"],
        ["profile", *RUN, "--out", "no/folder/a.png"],
    ],
    ids=repr,
)
def test_bad_input_is_exit_2_and_writes_nothing(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_no_theorem_is_exit_3(tmp_path):
    arguments = ["--mechanism", "pure_dp:epsilon=1", "--delta", "1e-6", "--adjacency", "replace-one"]
    assert run("curve", *arguments, "--out", str(tmp_path / "a.png")).exit_code == 3


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = run("curve", *RUN, "--out", str(tmp_path / "a.png"))
    assert result.exit_code == 2
    assert "pip install 'renyi[plot]', in a clone '.[plot]'" in result.stderr


def test_the_examples_of_the_help_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["plot", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    lines = [" ".join(line.strip(" │").split()) for line in shown.splitlines()]
    examples = [line for line in lines if line.startswith("renyi plot ")]
    assert len(examples) == 4
    (tmp_path / "run.json").write_text((Gaussian(2.0) * 3).to_json())
    for line in examples:
        assert run(*shlex.split(line)[2:]).exit_code == 0, line
    assert len(list(tmp_path.iterdir())) == 5


def test_several_runs_are_drawn_together_in_the_wanted_size(tmp_path):
    other = tmp_path / "other.json"
    other.write_text(renyi.guarantee(Gaussian(2.0), delta=1e-5).to_json())
    wanted = ("--noise-multiplier", "1", "--delta", "1e-5", "--beside", f"more noise={other}", "--size", "4x3")
    with_caption, without = tmp_path / "with.png", tmp_path / "without.png"
    result = run("profile", *wanted, "--out", str(with_caption))
    assert "more noise: Gaussian noise (multiplier 2)" in result.stderr
    assert "this run: Gaussian noise (multiplier 1)" in result.stderr
    assert run("profile", *wanted, "--no-caption", "--out", str(without)).exit_code == 0
    with Image.open(with_caption) as large, Image.open(without) as small:
        assert small.height < large.height
        assert small.width <= 4 * 150 + 40
    refused = run("accountants", *wanted, "--out", str(without))
    assert refused.exit_code == 2
    assert "one run" in refused.stderr
