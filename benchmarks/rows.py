"""Questions beside an earlier commit and beside peers, in one run: what `make bench-exact` adds to its eight settings.

Today's source and the earlier commit's answer in processes of their own, in turns, every cache emptied before each answer. A
peer answers in the process that asks. What is compared is processor time.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers_worker import LOSS_INTERVAL

ROOT = Path(__file__).resolve().parent.parent
COMMIT = "f32e2ab"
ROUNDS = 7
SLOW_ROUNDS = 2
SLOW = 0.5  # seconds of an answer, from which on fewer rounds do
COMMAND = ["epsilon", "--noise-multiplier", "1.1", "--rate", "256/60000", "--steps", "14063", "--delta", "1e-5"]

WORKER = """
import functools, gc, json, sys, time
from renyi import *

def grown(step, count):
    event = step
    for _ in range(count - 1):
        event = event + step
    return event

def run(noise, steps, rate=0.01):
    return Gaussian(noise).on(Poisson(rate)) * int(steps)

def forget():
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()

for line in sys.stdin:
    asked = compile(line.strip(), "question", "eval")
    forget()
    started = time.process_time()
    value = eval(asked)
    print(json.dumps([time.process_time() - started, str(value)]), flush=True)
"""


class Asker:
    """A process that has imported the library of one source and answers questions, given as expressions."""

    def __init__(self, source: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WORKER],
            env=os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask("epsilon(run(1.1, 1000), delta=1e-5)")  # what a first call loads is not measured

    def ask(self, question: str) -> tuple[float, str]:
        """Seconds, and the answer as text."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        seconds, value = json.loads(self.process.stdout.readline())
        return float(seconds), value


@contextlib.contextmanager
def askers() -> Iterator[dict[str, Asker]]:
    """Today's source and the earlier commit's."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", COMMIT, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        found = {"renyi": Asker(ROOT / "src"), COMMIT: Asker(Path(folder) / "src")}
        try:
            yield found
        finally:
            for one in found.values():
                one.process.terminate()
                one.process.wait()


def sampled_laplace(scale: float, steps: int) -> Callable[[], float]:
    """dp-accounting's privacy loss distribution of Laplace noise on Poisson samples at rate 1e-3, delta 1e-5."""

    def answer() -> float:
        from dp_accounting import dp_event
        from dp_accounting.pld import pld_privacy_accountant as pld

        accountant = pld.PLDAccountant(value_discretization_interval=LOSS_INTERVAL)
        accountant.compose(dp_event.PoissonSampledDpEvent(1e-3, dp_event.LaplaceDpEvent(scale)), steps)
        return float(accountant.get_epsilon(1e-5))

    return answer


def recorded_by_opacus() -> float:
    """Opacus's RDP accountant: 10,000 calls of step, then epsilon."""
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    for _ in range(10_000):
        accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    return float(accountant.get_epsilon(1e-5))


Peer = tuple[str, Callable[[], float]]


def questions() -> list[tuple[str, str, Peer | None]]:
    """Group, question and peer of every row."""
    step = "Gaussian(1.0).on(Poisson(0.01))"
    grid = "[10 ** (-4 + 0.2 * k) for k in range(20)]"
    found: list[tuple[str, str, Peer | None]] = [
        (
            "sampled Laplace",
            f"Exact().epsilon(Laplace({scale}).on(Poisson(0.001)) * {steps}, delta=1e-5)",
            ("dp-accounting PLD", sampled_laplace(scale, steps)),
        )
        for scale in (0.5, 2.0)
        for steps in (1_000, 100_000)
    ]
    found.append(
        ("recorded one by one", f"epsilon(grown({step}, 10_000), delta=1e-5)", ("opacus RDP", recorded_by_opacus))
    )
    low = ("run(0.3, 1000)", "run(0.35, 3000)", "run(0.25, 500, 0.02)")
    found += [("trade_off at low noise", f"trade_off({event}, fpr=0.01)", None) for event in low]
    found += [("trade_off at low noise", f"trade_off({event}, fpr={grid})", None) for event in low[:2]]
    found += [
        ("calibrate to a risk", f"calibrate({make}, {target})", None)
        for make, target in (
            ("lambda noise: run(noise, 1000)", "advantage=0.1"),
            ("lambda noise: run(noise, 1000)", "tpr=0.05, fpr=0.01"),
            ("lambda noise: run(noise, 1000)", "tpr=0.5, fpr=0.1"),
            ("lambda noise: run(noise, 1000)", "tpr=0.97, fpr=0.05"),
            ("lambda steps: run(1.1, steps)", "tpr=0.05, fpr=0.01, integer=True"),
        )
    ]
    return found


def measured() -> list[dict[str, Any]]:
    """Every row: the seconds of each round and the last answer, by who answered."""
    rows = []
    with askers() as sources:
        for group, question, peer in questions():
            seconds: dict[str, list[float]] = {}
            values: dict[str, str] = {}
            for turn in range(ROUNDS):
                if turn >= SLOW_ROUNDS and max(map(min, seconds.values())) > SLOW:
                    break
                for name, asker in sources.items():
                    taken, values[name] = asker.ask(question)
                    seconds.setdefault(name, []).append(taken)
                if peer is not None:
                    started = time.process_time()
                    values[peer[0]] = str(peer[1]())
                    seconds.setdefault(peer[0], []).append(time.process_time() - started)
            rows.append({"group": group, "question": question, "seconds": seconds, "values": values})
            print("+", end="", file=sys.stderr, flush=True)
    return rows


def starts() -> dict[str, float]:
    """Processor seconds of whole processes: two imports, and the command that answers one question."""
    asked = {
        "import scipy.special": ["-c", "import scipy.special"],
        "import renyi": ["-c", "import renyi"],
        "renyi epsilon": ["-m", "renyi", *COMMAND],
    }
    taken: dict[str, list[float]] = {name: [] for name in asked}
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as compiled:  # by the first round, as an installation does
        environment["PYTHONPYCACHEPREFIX"] = compiled
        for _ in range(1 + ROUNDS):
            for name, arguments in asked.items():
                before = os.times()
                subprocess.run(
                    [sys.executable, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL, cwd=ROOT
                )
                after = os.times()
                spent = after.children_user - before.children_user + after.children_system - before.children_system
                taken[name].append(spent)
    return {name: statistics.median(times[1:]) for name, times in taken.items()}
