"""The command ``renyi risk``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import renyi
from renyi import Gaussian, Poisson
from renyi.cli import options
from renyi.cli.main import app
from renyi.cli.questions import risk as risk_command

MNIST = ["--noise-multiplier", "1.1", "--rate", "256/60000", "--steps", "14063"]
EVENT = Gaussian(1.1).on(Poisson(256 / 60000)) * 14063


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["risk", *arguments], input=stdin)


def test_figures_and_what_they_mean():
    result = run(*MNIST)
    assert result.exit_code == 0
    rows = dict(line.split("\t") for line in result.stdout.splitlines())
    assert list(rows) == ["advantage", "tpr at fpr 0.01", "success at prior 0.5"]
    found = renyi.risk(EVENT)
    assert float(rows["advantage"]) == pytest.approx(found.advantage.upper, rel=1e-5)
    assert float(rows["tpr at fpr 0.01"]) >= found.true_positive_rate(0.01).upper
    assert "An attacker who accepts 1 % false alarms finds at most 4.02065 % of members." in result.stderr
    assert "add-or-remove" in result.stderr


def test_several_rates_as_json_from_an_event():
    result = run("--event", "-", "--fpr", "1/1000", "--fpr", "0.01", "--prior", "0.1", "--json", stdin=EVENT.to_json())
    assert result.stderr == ""
    data = json.loads(result.stdout)
    assert [row["fpr"] for row in data["rates"]] == [0.001, 0.01]
    assert data["success"][0]["prior"] == 0.1
    assert data["rates"][1]["tpr"]["upper"] == pytest.approx(renyi.risk(EVENT).true_positive_rate(0.01).upper, rel=1e-9)
    assert data["notes"] == []


@pytest.mark.parametrize(
    "arguments",
    [[], [*MNIST, "--fpr", "2"], [*MNIST, "--fpr", "few"], [*MNIST, "--prior", "-1"], [*MNIST, "--prior", "nan"]],
    ids=repr,
)
def test_bad_input_is_exit_2_without_a_number(arguments):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr


def test_no_theorem_is_exit_3():
    result = run("--mechanism", "pure_dp:epsilon=1", "--adjacency", "replace-one")
    assert (result.exit_code, result.stdout) == (3, "")


def test_the_function_behind_the_command_is_an_ordinary_function():
    report = risk_command.command(options.Run(noise_multiplier=1.0), fpr=[0.1])
    assert report.data["rates"][0]["tpr"]["upper"] >= 0.1
