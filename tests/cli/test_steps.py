"""How many steps a run had is asked, and how many a budget allows is never cut off silently."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import renyi
from renyi import Gaussian, Poisson, RandomAllocation
from renyi.cli.main import app

SAMPLINGS = {
    "rate": ["--rate", "256/60000"],
    "rate 1": ["--rate", "1"],
    "sizes": ["--batch-size", "256", "--dataset-size", "60000"],
    "sampling": ["--sampling", "poisson:rate=0.01"],
    "allocation": ["--sampling", "random_allocation:steps=1000"],
}
COMMANDS = {
    "epsilon": ["epsilon", "--noise-multiplier", "1.1", "--delta", "1e-5"],
    "delta": ["delta", "--noise-multiplier", "1.1", "--epsilon", "1"],
    "noise": ["noise", "--epsilon", "1", "--delta", "1e-5"],
    "curve": ["curve", "--noise-multiplier", "1.1"],
    "risk": ["risk", "--noise-multiplier", "1.1"],
    "plot": ["plot", "curve", "--noise-multiplier", "1.1", "--delta", "1e-5", "--out", "nowhere.png"],
}


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_sampling_without_steps_is_asked_for_them(command, sampling):
    result = run(*command, *sampling)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--steps N" in result.stderr
    assert "For a single one, --steps 1." in result.stderr
    assert ("--epochs" in result.stderr) == ("--sampling" not in sampling)


@pytest.mark.parametrize(
    ("sampling", "event"),
    [
        (["--rate", "0.01"], Gaussian(1.1).on(Poisson(0.01))),
        (["--batch-size", "1", "--dataset-size", "100"], Gaussian(1.1).on(Poisson(0.01))),
        (["--sampling", "random_allocation:steps=1000"], Gaussian(1.1).on(RandomAllocation(1000))),
    ],
)
def test_one_step_is_what_steps_1_says(sampling, event):
    result = run("epsilon", "--noise-multiplier", "1.1", *sampling, "--steps", "1", "--delta", "1e-5", "--json")
    assert json.loads(result.stdout)["epsilon"]["upper"] == renyi.epsilon(event, delta=1e-5)


def test_without_a_sampling_one_release_is_the_default():
    result = run("epsilon", "--noise-multiplier", "1.1", "--delta", "1e-5", "--json")
    assert json.loads(result.stdout)["epsilon"]["upper"] == renyi.epsilon(Gaussian(1.1), delta=1e-5)


@pytest.mark.parametrize("text", ["1e4", "1.0E+4", "10000.0", " 10000 "])
def test_whole_numbers_may_be_written_as_people_do(text):
    options = ("--noise-multiplier", "1", "--rate", "0.01", "--delta", "1e-5", "--json")
    assert json.loads(run("epsilon", *options, "--steps", text).stdout)["event"]["event"]["count"] == 10_000
    sizes = ("--noise-multiplier", "1", "--batch-size", "1e2", "--dataset-size", text, "--epochs", "1")
    assert json.loads(run("epsilon", *sizes, "--delta", "1e-5", "--json").stdout)["event"]["event"]["count"] == 100


@pytest.mark.parametrize("text", ["1.5", "1e-1", "ten", "inf", "1e400", "1/2", ""])
def test_other_numbers_of_steps_are_refused_and_shown(text):
    result = run("epsilon", "--noise-multiplier", "1", "--steps", text, "--delta", "1e-5")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{text!r} is not a whole number" in result.stderr


@pytest.mark.parametrize("options", [["--noise-multiplier", "1e9"], ["--noise-multiplier", "1", "--rate", "0"]])
def test_a_search_that_ends_before_the_target_says_at_least(options):
    result = run("steps", "--epsilon", "1", "--delta", "1e-5", *options)
    assert (result.exit_code, result.stdout) == (0, f"{10**15}\n")
    assert result.stderr.startswith(f"At least {10**15} steps")
    assert json.loads(run("steps", "--epsilon", "1", "--delta", "1e-5", *options, "--json").stdout)["at_least"]


def test_a_number_of_steps_that_is_the_most_does_not_say_at_least():
    options = ("--epsilon", "2", "--delta", "1e-5", "--noise-multiplier", "1", "--rate", "0.01")
    assert "At least" not in run("steps", *options).stderr
    assert json.loads(run("steps", *options, "--json").stdout)["at_least"] is False


def test_ten_tenths_fit_into_a_budget_of_one():
    assert run("steps", "--epsilon", "1", "--delta", "0", "--mechanism", "laplace:noise_multiplier=10").stdout == "10\n"
