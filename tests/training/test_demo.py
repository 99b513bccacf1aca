"""The demonstration: at least 90 % of unseen digits at epsilon <= 3, and one epsilon however it is asked for."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import renyi
from renyi.cli.main import app
from renyi.training import replay
from renyi.training.demo import train


def test_the_digits_are_learnt_within_the_budget_and_the_record_says_so(tmp_path):
    trained = train(tmp_path / "run.jsonl")
    assert trained.accuracy >= 0.9
    assert trained.guarantee.epsilon.upper <= 3.0
    assert trained.guarantee.delta == 1e-4
    assert replay(tmp_path / "run.jsonl").guarantee() == trained.guarantee
    assert renyi.epsilon(trained.plan.events(), delta=1e-4) == trained.guarantee.epsilon.upper


def test_the_command_prints_accuracy_and_the_guarantee_that_renyi_epsilon_gives(tmp_path):
    result = CliRunner().invoke(app, ["train-demo", "--json", "--journal", str(tmp_path / "run.jsonl")])
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["accuracy"] >= 0.9
    assert data["seconds"] < 120
    recorded = replay(tmp_path / "run.jsonl").guarantee().to_dict()
    assert {key: data[key] for key in recorded} == recorded
    same = CliRunner().invoke(app, [*shlex.split(data["command"])[1:], "--json"])
    assert json.loads(same.stdout)["epsilon"] == data["epsilon"]
    assert data["delta"] == 1e-4
    again = CliRunner().invoke(app, ["train-demo", "--journal", str(tmp_path / "run.jsonl")])
    assert again.exit_code == 2
    assert "already holds a run" in again.stderr


def test_torch_loads_only_when_the_demonstration_runs():
    code = "import sys, renyi.cli.main; print([m for m in ('torch', 'sklearn', 'renyi.training') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("code", ["from renyi.training import Run", "import renyi; renyi.training.Run"])
def test_without_torch_the_import_says_what_to_install(code):
    code = f"import sys; sys.modules['torch'] = None\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PrivacyError: training needs torch: pip install 'renyi[training]'" in done.stderr


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else real(name, *rest))
    result = CliRunner().invoke(app, ["train-demo"])
    assert result.exit_code == 2
    assert "pip install 'renyi[training]', in a clone '.[training]'" in result.stderr
