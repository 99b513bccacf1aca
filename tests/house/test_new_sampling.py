"""A sampling is one file: the public coin of docs/adding-a-sampling.md, dropped into a scratch copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.pages import ROOT, printed


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """A copy of the package with one file more."""
    copy = tmp_path_factory.mktemp("scratch")
    shutil.copytree(ROOT / "src/renyi", copy / "renyi", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "renyi/sampling/public_coin.py").write_text(printed("docs/adding-a-sampling.md"), encoding="utf-8")
    return copy


def run(scratch: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{scratch}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


USE = """
import math
import renyi
from renyi import Adjacency, Gaussian, Laplace, RandomizedResponse
assert renyi.__file__.startswith(SCRATCH)
assert "public_coin" in renyi.events.sampling.SAMPLINGS.names()  # nobody imported the file by its name
from renyi.sampling.public_coin import PublicCoin

# An independent reference: who sees the coins knows how often they fell, so that delta is a mean over a binomial count. Of k
# Gaussian releases it is in closed form: Balle & Wang (2018), Theorem 8.
def gaussian_delta(epsilon, noise, k):
    if k == 0:
        return 0.0
    s = noise / math.sqrt(k)
    tail = lambda x: 0.5 * math.erfc(x / math.sqrt(2))
    return tail(epsilon * s - 0.5 / s) - math.exp(epsilon) * tail(epsilon * s + 0.5 / s)

def by_counts(epsilon, noise, rate, n):
    return sum(math.comb(n, k) * rate**k * (1 - rate) ** (n - k) * gaussian_delta(epsilon, noise, k) for k in range(n + 1))

for rate in (0.05, 0.7):
    for count in (1, 20):
        event = Gaussian(2.0).on(PublicCoin(rate)) * count
        for adjacency, noise in ((Adjacency.ADD_OR_REMOVE, 2.0), (Adjacency.REPLACE_ONE, 1.0)):
            ends = renyi.guarantee(event, delta=1e-5, adjacency=adjacency).epsilon
            assert ends.upper < ends.lower * 1.001
            assert by_counts(ends.upper, noise, rate, count) <= 1e-5 * (1 + 1e-9), (event, adjacency)
            assert by_counts(ends.lower, noise, rate, count) >= 1e-5 * (1 - 1e-9), (event, adjacency)

# The divergence by its definition, over the three outcomes of one coin and one answer.
p, q = (0.4, 0.6 * 0.8, 0.6 * 0.2), (0.4, 0.6 * 0.2, 0.6 * 0.8)
for order in (1.5, 2.0, 7.0):
    moment = sum(x**order * y ** (1 - order) for x, y in zip(p, q))
    found = renyi.divergence(RandomizedResponse(0.8).on(PublicCoin(0.6)), order=order)
    assert abs(math.log(moment) / (order - 1) / found - 1) < 1e-12

# One coin for two releases; no coin, and none that falls.
both = renyi.delta((Gaussian(2.0) + Gaussian(2.0)).on(PublicCoin(0.1)), epsilon=0.5)
assert abs(both / (0.1 * gaussian_delta(0.5, 2.0, 2)) - 1) < 1e-9
mixed = renyi.delta((Gaussian(2.0) + Laplace(3.0)).on(PublicCoin(0.1)), epsilon=0.5)
assert abs(mixed / (0.1 * renyi.delta(Gaussian(2.0) + Laplace(3.0), epsilon=0.5)) - 1) < 1e-3
assert renyi.epsilon(Gaussian(2.0).on(PublicCoin(1.0)), delta=1e-5) == renyi.epsilon(Gaussian(2.0), delta=1e-5)
assert renyi.epsilon(Gaussian(2.0).on(PublicCoin(0.0)), delta=1e-5) == 0.0

# JSON both ways, calibration, and the words of a guarantee.
event = Laplace(3.0).on(PublicCoin(0.2)) * 7
assert '"name": "public_coin"' in event.to_json()
assert renyi.from_json(event.to_json()) == event
rate = renyi.calibrate(lambda q: Gaussian(2.0).on(PublicCoin(q)), epsilon=0.5, delta=1e-3)
assert 0.999 < renyi.epsilon(Gaussian(2.0).on(PublicCoin(rate)), delta=1e-3) / 0.5 <= 1.0
assert any("public coin" in words for words in renyi.guarantee(event, delta=1e-5).assumptions)

# The command.
from typer.testing import CliRunner
from renyi.cli.main import app
options = "--noise-multiplier 2 --sampling public_coin:rate=0.7 --steps 20 --delta 1e-5".split()
result = CliRunner().invoke(app, ["epsilon", *options])
assert result.exit_code == 0, result.output
assert abs(float(result.stdout) - renyi.epsilon(Gaussian(2.0).on(PublicCoin(0.7)) * 20, delta=1e-5)) < 1e-4
"""


def test_accounting_calibration_json_and_the_command_work(scratch):
    run(scratch, "-c", USE.replace("SCRATCH", repr(str(scratch))))


def test_the_contract_tests_hold_for_it(scratch):
    """They find it by themselves. Densities, discrete noises and tables of curves pass too, but take long."""
    selected = "PublicCoin and curve and not Densities and not Discrete and not FromRenyi"
    done = run(scratch, "-m", "pytest", "tests/contracts/test_contracts.py", "-k", selected, "-p", "no:cacheprovider")
    assert int(re.findall(r"(\d+) passed", done)[0]) >= 100
