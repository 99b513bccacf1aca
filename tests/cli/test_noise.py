"""The command ``renyi noise``: every target of ``calibrate``; and samplings by name, in every command that takes a rate."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import renyi
from renyi import Adjacency, Gaussian, Poisson, RandomAllocation, WithoutReplacement
from renyi.cli.main import app

RUN = ["--rate", "0.01", "--steps", "1000"]


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    "target",
    [
        {"epsilon": 1.0, "delta": 1e-5},
        {"advantage": 0.1},
        {"tpr": 0.05, "fpr": 0.01},
        {"success": 0.6, "prior": 0.5},
    ],
    ids=repr,
)
def test_every_target_is_what_calibrate_finds(target):
    arguments = [part for name, value in target.items() for part in (f"--{name}", repr(value))]
    result = run("noise", *arguments, *RUN, "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    noise = renyi.calibrate(lambda x: Gaussian(x).on(Poisson(0.01)) * 1000, **target)
    assert data["value"] == noise
    assert ("guarantee" in data) == ("epsilon" in target)
    assert ("risk" in data) != ("epsilon" in target)


def test_the_words_are_those_of_the_target():
    result = run("noise", "--tpr", "0.05", "--fpr", "0.01", *RUN)
    assert "who accepts 1 % false alarms finds at most 5 % of members" in result.stderr
    assert "epsilon" not in result.stderr


@pytest.mark.parametrize(
    "target", [[], ["--epsilon", "1"], ["--tpr", "0.1"], ["--epsilon", "1", "--delta", "1e-5", "--advantage", "0.1"]]
)
def test_no_target_or_two_are_bad_input(target):
    result = run("noise", *target, *RUN)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "give one target" in result.stderr


def test_a_sampling_by_its_name():
    result = run(
        *("epsilon", "--noise-multiplier", "2", "--sampling", "without_replacement:batch=10,dataset=1000"),
        *("--steps", "100", "--delta", "1e-6", "--adjacency", "replace-one", "--json"),
    )
    assert result.exit_code == 0, result.stderr
    event = Gaussian(2.0).on(WithoutReplacement(10, 1000)) * 100
    expected = renyi.epsilon(event, delta=1e-6, adjacency=Adjacency.REPLACE_ONE)
    assert json.loads(result.stdout)["epsilon"]["upper"] == expected
    result = run(
        *("epsilon", "--noise-multiplier", "1", "--sampling", "random_allocation:steps=1000", "--steps", "10"),
        *("--delta", "1e-6", "--json"),
    )
    expected = renyi.epsilon(Gaussian(1.0).on(RandomAllocation(1000)) * 10, delta=1e-6)
    assert json.loads(result.stdout)["epsilon"]["upper"] == expected


def test_a_fixed_size_never_gets_the_poisson_number():
    result = run(
        *("epsilon", "--noise-multiplier", "2", "--sampling", "without_replacement:batch=10,dataset=1000"),
        *("--steps", "100", "--delta", "1e-6"),
    )
    assert (result.exit_code, result.stdout) == (3, "")
    assert "--adjacency replace-one" in result.stderr


@pytest.mark.parametrize(
    ("sampling", "rest", "words"),
    [
        ("shuffle", [], "Known are poisson"),
        ("without_replacement:batch=10", [], "needs a value for dataset"),
        ("without_replacement:size=10", [], "is not a parameter"),
        ("without_replacement:batch=ten,dataset=100", [], "must be an integer"),
        ("poisson:rate=0.1", ["--rate", "0.1"], "goes with --steps alone"),
        ("poisson:rate=0.1", ["--batch-size", "1", "--dataset-size", "10"], "goes with --steps alone"),
    ],
)
def test_bad_samplings_teach(sampling, rest, words):
    result = run("epsilon", "--noise-multiplier", "1", "--delta", "1e-5", "--sampling", sampling, *rest)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


@pytest.mark.parametrize(
    "nothing", [["--steps", "0"], ["--rate", "0.1", "--steps", "0"], ["--rate", "0", "--steps", "9"]]
)
@pytest.mark.parametrize("mechanism", [[], ["--mechanism", "laplace:noise_multiplier=?"]])
def test_nothing_needs_no_noise(nothing, mechanism):
    result = run("noise", "--epsilon", "1", "--delta", "1e-5", *nothing, *mechanism)
    assert (result.exit_code, result.stdout) == (0, "0.0\n"), result.stderr


def test_nothing_released_leaves_the_other_answers_as_they_were():
    assert run("noise", "--steps", "0").exit_code == 2  # no target
    level = run("noise", "--epsilon", "1", "--delta", "0", "--steps", "0", "--mechanism", "pure_dp:epsilon=?")
    assert (level.exit_code, level.stdout) == (4, "")
    assert "every epsilon meets the target" in level.stderr
