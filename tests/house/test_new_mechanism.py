"""A mechanism is one file: the staircase of CONTRIBUTING.md, dropped into a scratch copy of the repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """A copy of the repository with one file more."""
    copy = tmp_path_factory.mktemp("scratch") / "renyi"
    wanted = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=wanted)
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    (copy / "src/renyi/mechanisms/staircase.py").write_text(source, encoding="utf-8")
    return copy


def run(scratch: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{scratch / 'src'}{os.pathsep}{scratch}"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=scratch, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


USE = """
import math
import renyi
from renyi import Poisson
from renyi.mechanisms.staircase import Staircase
assert renyi.__file__.startswith(SCRATCH)

event = Staircase(0.5, width=0.4).on(Poisson(0.1)) * 20 + Staircase(1.0)
epsilon = renyi.epsilon(event, delta=1e-6)
assert 0 < epsilon < 20 * math.log1p(0.1 * math.expm1(0.5)) + 1.0 + 1e-9
assert renyi.epsilon(Staircase(0.7), delta=0) >= 0.7
assert renyi.epsilon(renyi.from_json(event.to_json()), delta=1e-6) == epsilon
level = renyi.calibrate(lambda e: Staircase(e).on(Poisson(0.1)) * 20, epsilon=1.0, delta=1e-6)
assert 0.999 < renyi.epsilon(Staircase(level).on(Poisson(0.1)) * 20, delta=1e-6) <= 1.0

# An independent reference: the density itself, integrated on a fine grid.
import numpy as np
def density(x, e=0.5, w=0.4):
    k = np.floor(np.abs(x)); fall = math.exp(-e)
    a = (1 - fall) / (2 * (w + fall * (1 - w)))
    return a * fall ** (k + (np.abs(x) - k >= w))
x = (np.arange(-2_000_000, 2_000_000) + 0.5) / 20_000
p, q = density(x - 1), density(x)
assert abs(p.sum() / 20_000 - 1) < 1e-9
for order in (1.5, 2.0, 7.0):
    moment = (p**order * q ** (1 - order)).sum() / 20_000
    assert abs(math.log(moment) / (order - 1) / renyi.divergence(Staircase(0.5, width=0.4), order=order) - 1) < 1e-6
"""


def test_sampling_accounting_calibration_and_json_work(scratch):
    run(scratch, "-c", USE.replace("SCRATCH", repr(str(scratch))))


def test_the_command_works(scratch):
    options = [
        "--mechanism",
        "staircase:epsilon=0.5,width=0.4",
        "--rate",
        "0.1",
        "--steps",
        "20",
        "--delta",
        "1e-6",
        "--json",
    ]
    done = run(scratch, "-c", "from renyi.cli.main import main; main()", "epsilon", *options)
    answer = json.loads(done.stdout)
    assert answer["event"]["event"]["event"]["event"]["name"] == "staircase"
    assert 0 < answer["epsilon"]["upper"] < 2
    noise = run(
        scratch,
        "-c",
        "from renyi.cli.main import main; main()",
        "noise",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--steps",
        "20",
        "--mechanism",
        "staircase:epsilon=?",
    )
    assert 0.05 < float(noise.stdout) < 1


def test_the_contract_tests_hold_for_it(scratch):
    selected = "Staircase and not dearer and not inverts"
    done = run(scratch, "-m", "pytest", "tests/contracts/test_contracts.py", "-k", selected, "-p", "no:cacheprovider")
    passed = int(re.findall(r"(\d+) passed", done.stdout)[0])
    assert passed >= 40
