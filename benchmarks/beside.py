"""`make bench-beside COMMIT=...`: today's answers beside those of an earlier commit. Writes docs/benchmark-beside.json.

Two processes, one for each source, answer the same questions in turn, every cache emptied before each answer; what counts is
the ratio of their processor times. Ten settings of sampled Gaussian noise, and twenty mixed runs of the campaign's domain.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "benchmark-beside.json"
ROUNDS = 7
SEED, MIXED = 20261123, 20

WORKER = """
import functools, gc, json, sys, time
import renyi

def forget():
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()

for line in sys.stdin:
    question = json.loads(line)
    try:
        event = renyi.from_json(question["event"])
    except renyi.PrivacyError as error:
        print(json.dumps([None, str(error)]), flush=True)
        continue
    adjacency = renyi.Adjacency[question.get("adjacency", "ADD_OR_REMOVE")]
    ask = renyi.Exact().epsilon if question.get("exact") else renyi.epsilon
    forget()
    started = time.process_time()
    try:
        if "calibrated" in question:
            added = getattr(renyi, question["calibrated"])
            value = renyi.calibrate(lambda x: event + added(x), epsilon=question["epsilon"], delta=question["delta"])
        elif question["delta"] is None:
            value = renyi.delta(event, epsilon=question["epsilon"], adjacency=adjacency)
        else:
            value = ask(event, delta=question["delta"], adjacency=adjacency)
    except renyi.PrivacyError as error:
        value = str(error)
    taken = time.process_time() - started
    print(json.dumps([taken, str(value)]), flush=True)
"""


class Answerer:
    """A process that has imported the library of one source."""

    def __init__(self, source: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WORKER],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self, question: dict[str, Any]) -> tuple[float | None, str]:
        """Processor seconds and the answer; None where this source cannot read the event."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        taken, value = json.loads(self.process.stdout.readline())
        return taken, value

    def seconds(self, question: dict[str, Any]) -> float:
        """Processor seconds of an answer."""
        taken, value = self.answer(question)
        assert taken is not None, value
        return taken


@contextmanager
def both(commit: str) -> Iterator[tuple[Answerer, Answerer]]:
    """The answerers of an earlier commit and of today."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Answerer(Path(folder) / "src"), Answerer(ROOT / "src")


def tree() -> str:
    """The name of what is committed in src/."""
    command = ["git", "rev-parse", "HEAD:src"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def settings() -> dict[str, dict[str, Any]]:
    """The runs of bench-exact, with both ends."""
    from benchmarks.exact import LONG, label
    from benchmarks.rdp import RUNS
    from renyi import Gaussian, Poisson

    return {
        label(run): {"event": (Gaussian(run[1]).on(Poisson(run[0])) * run[2]).to_json(), "delta": run[3], "exact": True}
        for run in (*RUNS, LONG[0], LONG[-1])
    }


def mixed() -> dict[str, dict[str, Any]]:
    """Random runs of the campaign that have a JSON form, asked of the default."""
    from renyi import NotSerialisable

    campaign = importlib.import_module("tests.soundness.exact_campaign")
    events = importlib.import_module("tests.soundness.random_events")

    found: dict[str, dict[str, Any]] = {}
    number = 0
    while len(found) < MIXED:
        point = campaign.point(SEED, number)
        number += 1
        if point.adjacency.relations[0].value != "remove":
            continue  # other neighbours are asked about by name, which this worker does not do
        try:
            text = events.event_of(point.terms).to_json()
        except NotSerialisable:
            continue
        question = {"event": text, "delta": point.delta, "epsilon": point.epsilon, "exact": False}
        found[f"mixed {number - 1}"] = question
    return found


def compared(questions: dict[str, dict[str, Any]], old: Answerer, new: Answerer) -> dict[str, float]:
    """The median ratio of times, new over old, for each question."""
    ratios = {}
    for name, question in questions.items():
        pairs = [(old.seconds(question), new.seconds(question)) for _ in range(ROUNDS)]
        ratios[name] = statistics.median(b for _, b in pairs) / statistics.median(a for a, _ in pairs)
        print(f"{name}: {ratios[name]:.2f}", flush=True)
    return ratios


def main() -> int:
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    commit = sys.argv[1] if len(sys.argv) > 1 else "f32e2ab"
    with both(commit) as (old, new):
        runs, random = compared(settings(), old, new), compared(mixed(), old, new)
    result = {
        "beside": commit,
        "tree of src": tree(),
        "time over its time": runs,
        "slowest setting": max(runs.values()),
        "mixed runs": random,
        "geometric mean of the mixed runs": math.exp(statistics.fmean(math.log(ratio) for ratio in random.values())),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(
        f"slowest setting {result['slowest setting']:.2f}, mixed runs {result['geometric mean of the mixed runs']:.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
