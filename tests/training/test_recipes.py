"""Every recipe in examples/ runs, in its short form, with the libraries it is about; two of them on two processes."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from renyi.training import replay

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_LINES = 60

HERE = {
    "lora": ("lora/run.jsonl", 3),
    "user_level": ("user-level/run.jsonl", 6),
    "with_hf_trainer": ("with-hf-trainer/run.jsonl", 3),
    "with_lightning": ("with-lightning.jsonl", 5),
}
"""Where each of those that run in this process leaves its journal, and how many releases it makes."""

TOGETHER = {
    "data_parallel": ("data-parallel/run.jsonl", ["--short", "--shard"]),
    "with_accelerate": ("with-accelerate/run.jsonl", ["--short"]),
}


RESUMED = "plain_pytorch"


def test_none_is_missing():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {RESUMED, *HERE, *TOGETHER}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_each_is_short_enough_to_be_read(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", HERE)
def test_a_recipe_runs(name, tmp_path, monkeypatch, capsys):
    journal, steps = HERE[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--short"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries about themselves
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    record = replay(tmp_path / journal)
    assert record.steps == steps
    assert "differentially private" in capsys.readouterr().out
    assert not record.leaks


def test_the_plain_loop_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{RESUMED}.py", "--short"])
    main = runpy.run_path(str(EXAMPLES / f"{RESUMED}.py"))["main"]
    for planned in (6, 12):
        main(planned)
        record = replay(tmp_path / "plain-pytorch/run.jsonl")
        assert (record.steps, record.leaks) == (planned, ())
        assert "differentially private" in capsys.readouterr().out


@pytest.mark.parametrize("name", TOGETHER)
def test_a_recipe_runs_on_two_processes(name, tmp_path):
    journal, arguments = TOGETHER[name]
    script = EXAMPLES / f"{name}.py"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", str(script)]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "5 steps of Gaussian noise" in done.stdout
    record = replay(tmp_path / journal)
    assert (record.processes, record.steps, record.leaks) == (2, 5, ())
    saved = torch.load(next(tmp_path.rglob("run.pt")), weights_only=True)["model"]
    assert {tuple(value.shape) for value in saved.values()} == {(64, 20), (64,), (2, 64), (2,)}
