"""The command: numbers on stdout, messages on stderr, documented exit codes, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import renyi
from renyi import Adjacency, Gaussian, Laplace, Poisson, RandomizedResponse
from renyi.cli import options
from renyi.cli.main import app
from renyi.cli.questions import epsilon as epsilon_command


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, list(arguments), input=stdin)


MNIST = ["--noise-multiplier", "1.1", "--rate", "256/60000", "--steps", "14063"]
EVENT = Gaussian(1.1).on(Poisson(256 / 60000)) * 14063


def test_epsilon_prints_the_number_and_explains_it():
    result = run("epsilon", *MNIST, "--delta", "1e-5")
    assert result.exit_code == 0
    assert result.stdout == "2.38169\n"
    assert float(result.stdout) >= renyi.epsilon(EVENT, delta=1e-5)
    assert "exact composition (contour integration)" in result.stderr
    assert "for one record added or removed" in result.stderr


def test_json_is_the_guarantee():
    result = run("epsilon", *MNIST, "--delta", "1e-5", "--json")
    data = json.loads(result.stdout)
    expected = renyi.guarantee(EVENT, delta=1e-5).to_dict()
    assert {key: data[key] for key in expected} == expected
    assert data["epsilon"]["upper"] == renyi.epsilon(EVENT, delta=1e-5)
    assert result.stderr == ""


def test_infinity_is_valid_json():
    result = run("epsilon", "--noise-multiplier", "0", "--delta", "1e-5", "--json")
    assert json.loads(result.stdout)["epsilon"]["upper"] == "inf"
    assert run("epsilon", "--noise-multiplier", "0", "--delta", "1e-5").stdout == "inf\n"


def test_epochs_round_up_and_say_so():
    options = ["--noise-multiplier", "1.1", "--batch-size", "256", "--dataset-size", "60000", "--epochs", "60"]
    result = run("epsilon", *options, "--delta", "1e-5")
    assert result.stdout == run("epsilon", *MNIST, "--delta", "1e-5").stdout
    assert "14062.5 steps, rounded up to 14063" in result.stderr
    data = json.loads(run("epsilon", *options, "--delta", "1e-5", "--json").stdout)
    assert data["event"]["event"]["count"] == 14063
    assert "rounded up to 14063" in data["notes"][0]


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("epsilon", ["--noise-multiplier", "2", "--steps", "9", "--delta", "0.01"]),
        ("delta", ["--noise-multiplier", "0.2", "--steps", "9", "--epsilon", "0.1"]),
        ("noise", ["--epsilon", "1", "--steps", "9", "--delta", "0.01"]),
        ("steps", ["--noise-multiplier", "2", "--epsilon", "1", "--delta", "0.01"]),
        ("certify", ["--noise-multiplier", "2", "--steps", "9", "--delta", "0.01"]),
        ("report", ["--noise-multiplier", "2", "--steps", "9", "--delta", "0.01", "--form", "sentence"]),
    ],
)
def test_a_delta_above_one_over_the_records_is_remarked(command, target):
    told = run(command, *target, "--batch-size", "10", "--dataset-size", "1000")
    assert "is above 1/n = 0.001 for the declared dataset of 1000 units" in told.stderr
    assert "above 1/n" not in told.stdout or command == "certify"
    assert "above 1/n" not in run(command, *target, *(["--rate", "0.01"])).stderr


def test_any_mechanism_and_several_on_one_draw():
    result = run("epsilon", "--mechanism", "laplace:noise_multiplier=10", "--steps", "3", "--delta", "1e-6", "--json")
    assert json.loads(result.stdout)["epsilon"]["upper"] == renyi.epsilon(Laplace(10) * 3, delta=1e-6)
    result = run(
        "epsilon",
        "--noise-multiplier",
        "2",
        "--mechanism",
        "laplace:noise_multiplier=10",
        "--mechanism",
        "randomized_response:probability=3/5,outcomes=3",
        "--rate",
        "0.1",
        "--steps",
        "2",
        "--delta",
        "1e-6",
        "--json",
    )
    together = (Gaussian(2) + Laplace(10) + RandomizedResponse(0.6, outcomes=3)).on(Poisson(0.1)) * 2
    assert json.loads(result.stdout)["epsilon"]["upper"] == renyi.epsilon(together, delta=1e-6)


def test_a_whole_event_from_a_file_or_standard_input(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(EVENT.to_json())
    assert run("epsilon", "--event", str(path), "--delta", "1e-5").stdout == "2.38169\n"
    assert run("epsilon", "--event", "-", "--delta", "1e-5", stdin=EVENT.to_json()).stdout == "2.38169\n"


def test_delta():
    result = run("delta", *MNIST, "--epsilon", "2")
    assert float(result.stdout) == pytest.approx(renyi.delta(EVENT, epsilon=2.0), rel=1e-5)
    assert float(result.stdout) >= renyi.delta(EVENT, epsilon=2.0)


def test_noise_meets_its_target():
    result = run("noise", "--epsilon", "1", "--delta", "1e-5", "--rate", "0.01", "--steps", "10000")
    assert renyi.epsilon(Gaussian(float(result.stdout)).on(Poisson(0.01)) * 10_000, delta=1e-5) <= 1.0
    data = json.loads(
        run("noise", "--epsilon", "1", "--delta", "1e-5", "--rate", "0.01", "--steps", "10000", "--json").stdout
    )
    assert data["parameter"] == "noise_multiplier"
    assert data["value"] == float(result.stdout)


def test_another_parameter_marked_with_a_question_mark():
    result = run(
        "noise",
        "--epsilon",
        "3",
        "--delta",
        "1e-6",
        "--mechanism",
        "randomized_response:probability=?",
        "--steps",
        "20",
    )
    level = float(result.stdout)
    assert 0.5 < level < 1
    assert 2.999 < renyi.epsilon(RandomizedResponse(level) * 20, delta=1e-6) <= 3.0


def test_a_probability_below_one_half_is_found():
    result = run(
        "noise", "--epsilon", "1", "--delta", "0", "--mechanism", "randomized_response:probability=?,outcomes=4"
    )
    assert float(result.stdout) == pytest.approx(0.475366886, rel=1e-8)  # 3p/(1-p) = e


def test_numbers_may_be_fractions_everywhere():
    result = run(
        "epsilon", "--noise-multiplier", "11/10", "--rate", "256/60000", "--steps", "14063", "--delta", "1/100000"
    )
    assert result.stdout == "2.38169\n"


@pytest.mark.parametrize("options", [["--noise-multiplier", "0"], ["--noise-multiplier", "0", "--rate", "0.1"]])
def test_no_step_is_free_of_cost_if_one_costs_everything(options):
    assert run("steps", "--epsilon", "1", "--delta", "1e-5", *options).stdout == "0\n"


def test_steps_are_the_most_that_fit():
    count = int(run("steps", "--epsilon", "2", "--delta", "1e-5", "--noise-multiplier", "1", "--rate", "0.01").stdout)
    step = Gaussian(1.0).on(Poisson(0.01))
    assert renyi.epsilon(step * count, delta=1e-5) <= 2.0 < renyi.epsilon(step * (count + 1), delta=1e-5)


def test_curve_prints_one_line_per_order():
    sampled = ("--mechanism", "laplace:noise_multiplier=2", "--rate", "0.001", "--steps", "1")
    result = run("curve", *sampled, "--orders", "1,2.5,inf")
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == ["1", "2.5", "inf"]
    expected = renyi.divergence(Laplace(2).on(Poisson(0.001)), order=[1, 2.5, float("inf")])
    assert [float(row[1]) for row in rows] == pytest.approx(list(expected), rel=1e-5)


BAD = {
    "nothing released": ["epsilon", "--delta", "1e-5"],
    "negative noise": ["epsilon", "--noise-multiplier", "-1", "--delta", "1e-5"],
    "noise is NaN": ["epsilon", "--noise-multiplier", "nan", "--delta", "1e-5"],
    "noise is a word": ["epsilon", "--noise-multiplier", "loud", "--delta", "1e-5"],
    "delta 2": ["epsilon", "--noise-multiplier", "1", "--delta", "2"],
    "no delta": ["epsilon", "--noise-multiplier", "1"],
    "rate 2": ["epsilon", "--noise-multiplier", "1", "--rate", "2", "--delta", "1e-5"],
    "rate 1/0": ["epsilon", "--noise-multiplier", "1", "--rate", "1/0", "--delta", "1e-5"],
    "rate nan": ["epsilon", "--noise-multiplier", "1", "--rate", "nan", "--delta", "1e-5"],
    "rate beyond floats": ["epsilon", "--noise-multiplier", "1", "--rate", "1e400", "--delta", "1e-5"],
    "rate far below floats": ["epsilon", "--noise-multiplier", "1", "--rate", "1e-2000000000", "--delta", "1e-5"],
    "noise beyond floats": ["epsilon", "--mechanism", "laplace:noise_multiplier=1e999999999", "--delta", "1e-5"],
    "steps beyond floats": ["epsilon", "--noise-multiplier", "1", "--steps", "1" + "0" * 400, "--delta", "1e-5"],
    "outcomes 2.5": ["epsilon", "--mechanism", "randomized_response:probability=0.5,outcomes=2.5", "--delta", "1e-5"],
    "steps 1.5": ["epsilon", "--noise-multiplier", "1", "--steps", "1.5", "--delta", "1e-5"],
    "steps -1": ["epsilon", "--noise-multiplier", "1", "--steps", "-1", "--delta", "1e-5"],
    "epochs alone": ["epsilon", "--noise-multiplier", "1", "--epochs", "3", "--delta", "1e-5"],
    "batch alone": ["epsilon", "--noise-multiplier", "1", "--batch-size", "3", "--delta", "1e-5"],
    "batch above dataset": [
        "epsilon",
        "--noise-multiplier",
        "1",
        "--batch-size",
        "3",
        "--dataset-size",
        "2",
        "--delta",
        "1e-5",
    ],
    "unknown mechanism": ["epsilon", "--mechanism", "magic:x=1", "--delta", "1e-5"],
    "unknown parameter": ["epsilon", "--mechanism", "laplace:scale=1", "--delta", "1e-5"],
    "parameter twice": ["epsilon", "--mechanism", "laplace:noise_multiplier=1,noise_multiplier=2", "--delta", "1e-5"],
    "parameter missing": ["epsilon", "--mechanism", "laplace", "--delta", "1e-5"],
    "parameter a word": ["epsilon", "--mechanism", "laplace:noise_multiplier=x", "--delta", "1e-5"],
    "file missing": ["epsilon", "--event", "/nowhere/run.json", "--delta", "1e-5"],
    "event and noise": ["epsilon", "--event", "-", "--noise-multiplier", "1", "--delta", "1e-5"],
    "bad order": ["curve", "--noise-multiplier", "1", "--orders", "0.5"],
    "orders are words": ["curve", "--noise-multiplier", "1", "--orders", "a,b"],
    "no orders": ["curve", "--noise-multiplier", "1", "--orders", ""],
    "noise without question mark": [
        "noise",
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--mechanism",
        "laplace:noise_multiplier=1",
    ],
    "bad adjacency": ["epsilon", "--noise-multiplier", "1", "--delta", "1e-5", "--adjacency", "near"],
    "unknown command": ["magic"],
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD.keys())
def test_bad_input_is_exit_2_without_a_number_or_a_traceback(arguments):
    result = run(*arguments, stdin="{}")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr


def test_no_theorem_is_exit_3():
    pure = ("--mechanism", "pure_dp:epsilon=1", "--rate", "0.01", "--steps", "10")
    result = run("epsilon", *pure, "--delta", "1e-5", "--adjacency", "replace-one")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "add-or-remove" in result.stderr


@pytest.mark.parametrize(
    ("sampling", "asked_for"),
    [
        ("without_replacement:batch=10,dataset=100", "Ask for --adjacency replace-one; or"),
        ("shuffled:steps=10", "Ask for --adjacency zero-out or --adjacency replace-one; or"),
    ],
)
def test_neighbours_to_ask_for_are_an_option(sampling, asked_for):
    result = run("epsilon", "--noise-multiplier", "1", "--sampling", sampling, "--steps", "2", "--delta", "1e-5")
    assert result.exit_code == 3
    assert asked_for in result.stderr


def test_noise_that_needs_a_delta_says_so():
    told = run("epsilon", "--noise-multiplier", "1", "--delta", "0")
    assert (told.exit_code, told.stdout) == (5, "inf\n")
    assert "it needs a delta above 0" in told.stderr
    for noise in (["--noise-multiplier", "0"], ["--mechanism", "laplace:noise_multiplier=1"]):
        assert "above 0" not in run("epsilon", *noise, "--delta", "0").stderr


def test_no_value_is_exit_4():
    result = run("noise", "--epsilon", "1", "--delta", "0")
    assert (result.exit_code, result.stdout) == (4, "")


def test_the_function_behind_a_command_is_an_ordinary_function():
    report = epsilon_command.command(1e-5, options.Run(noise_multiplier=1.0), adjacency=Adjacency.ZERO_OUT)
    assert report.data["adjacency"] == "zero-out"
    assert float(report.text()) >= renyi.epsilon(Gaussian(1.0), delta=1e-5, adjacency=Adjacency.ZERO_OUT)


def test_a_closed_pipe_of_malformed_input_ends_without_a_traceback():
    code = "from renyi.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "epsilon", "--event", "-", "--delta", "1e-5"],
        input=b"\xff\xfe{",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_version():
    assert run("--version").stdout.strip() == renyi.__version__


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "renyi", "--version"], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, renyi.__version__)


def test_a_filed_guarantee_is_an_event_file_too(tmp_path):
    filed = tmp_path / "guarantee.json"
    filed.write_text(run("epsilon", *MNIST, "--delta", "1e-5", "--json").stdout)
    assert renyi.Guarantee.from_json(filed.read_text()).event == EVENT
    assert run("epsilon", "--event", str(filed), "--delta", "1e-5").stdout == "2.38169\n"
    filed.write_text(filed.read_text().replace("1.1", "9.9"))
    refused = run("epsilon", "--event", str(filed), "--delta", "1e-5")
    assert refused.exit_code == 2
    assert "checksum" in refused.stderr


def test_an_infinite_answer_has_an_exit_code_of_its_own():
    assert run("epsilon", "--noise-multiplier", "0", "--delta", "1e-5").exit_code == 5
    assert run("epsilon", "--noise-multiplier", "0", "--delta", "1e-5", "--json").exit_code == 5
    assert run("delta", "--noise-multiplier", "0", "--epsilon", "1").exit_code == 5
    assert run("gdp", "--noise-multiplier", "0").exit_code == 5
    assert "5 the answer is infinite" in " ".join(run("--help").stdout.split())


def test_the_shell_can_complete_commands():
    assert "--install-completion" in run("--help").stdout
