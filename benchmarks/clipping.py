"""What a private step costs: CPU time and memory of a whole ``Run.step`` as ratios to a step of plain SGD.

    python -m benchmarks.clipping [part of a model's name ...]

A step of ours is all that ``run.step(batch)`` does: clipping, watching the weights, the line in the journal (forced to disk),
exact noise, the optimizer. Loading is left out everywhere. Beside it, if Opacus is installed, a step of each of its modes. One
thread, glibc told to keep freed pages (which favours methods that materialise gradients). In every round each method takes a
few steps in turn, and its ratio to plain SGD is taken within the round, so that a busy machine disturbs all alike; medians and
quartiles over the rounds are reported. Memory is the peak within a step of what torch's allocator holds, with the parameters
and the input. What Python and NumPy hold at their own peak, which in a step of ours is at another time (the noise), is given in
megabytes.

Looks, which a run takes at releases 1, 2, 4, 8, ..., are left out of the ratios and shown apart: what one costs in plain
steps, and what the ten looks of 1,000 steps add to the ratio on average. The recurrent model has two rows: plain as an LSTM
unrolled in Python, which is what any per-unit method has to see, and plain as the fused `nn.LSTM`. The error is that of the
clipped sums against a loop over the units, relative to its terms' norms.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import TensorDataset

from benchmarks import clipping_opacus
from benchmarks.clipping_models import Case, cases, losses
from renyi import Poisson
from renyi.training import Plan, Run
from renyi.training.clipping.clipper import Clipper

OUT = Path(__file__).parents[1] / "docs" / "benchmark-clipping.json"
ROUNDS, BOUND, NOISE, RATE = 11, 1.0, 1.0, 1e-6
STEPS = 1_000_000
"""Planned steps: more than are ever taken here."""

SHARE = 0.1
"""Seconds of plain steps in one round, at least one step."""

LOOKS = 7
"""Looks that are timed, at releases 2, 4, ..., 128; the first one also warms up, so it is not."""

KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
Step = Callable[[], object]


class Ours:
    """A run that draws the whole batch at every step, so that its steps are those of plain SGD."""

    def __init__(self, case: Case, folder: str) -> None:
        model = case.model()
        self.parameters = list(model.parameters())
        plan = Plan(
            sampling=Poisson(1.0),
            steps=STEPS,
            clip=BOUND,
            expected_batch=len(case.batch[1]),
            noise_multiplier=NOISE,
            delta=1e-3,
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        self._run = Run(plan, model, optimizer, losses, journal=Path(tempfile.mkdtemp(dir=folder)) / "run.jsonl")
        size = len(case.batch[1])
        self._batches = self._run.batches(TensorDataset(*case.batch), physical_batch=size)
        self.looks: list[float] = []
        while self._run.steps <= 2**LOOKS:
            taken = self.seconds(1)
            if math.log2(self._run.steps).is_integer() and self._run.steps > 1:
                self.looks.append(taken)

    def seconds(self, times: int) -> float:
        """CPU time of a step, without the loading of its batch."""
        taken = 0.0
        for _ in range(times):
            batch = next(self._batches)
            start = time.process_time()
            self._run.step(batch)
            taken += time.process_time() - start
        return taken / times

    def peak(self) -> tuple[int, int]:
        """The most bytes at one time within a step: of torch, and of Python and NumPy."""
        return peak(partial(self._run.step, next(self._batches)), partial(self._run.step, next(self._batches)))

    def skip_looks(self, steps: int) -> None:
        """Make sure that the next steps hold no look, by passing the next power of two if it is among them."""
        while (self._run.steps + steps).bit_length() > self._run.steps.bit_length():
            self.seconds(1)


class Theirs:
    """Steps of plain SGD or of Opacus."""

    def __init__(self, step: Step) -> None:
        self._step = step
        for _ in range(4):
            step()

    def seconds(self, times: int) -> float:
        """CPU time of a step."""
        start = time.process_time()
        for _ in range(times):
            self._step()
        return (time.process_time() - start) / times

    def peak(self) -> tuple[int, int]:
        """The most bytes at one time within a step: of torch, and of Python and NumPy."""
        return peak(self._step, self._step)


def plain_step(case: Case) -> Step:
    model: nn.Module = case.plain()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def step() -> None:
        optimizer.zero_grad()
        losses(model, case.batch).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def peak(first: Step, second: Step) -> tuple[int, int]:
    """The peak of what torch's allocator holds within the second step, and of what Python and NumPy hold within the first."""
    tracemalloc.start()
    first()
    others = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        second()
    held = most = 0
    assert profiler.profiler is not None
    results: Any = profiler.profiler.kineto_results
    for event in results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most, others


def error(case: Case) -> float:
    """The largest difference of a clipped sum from that of a loop over a few units, relative to its terms' norms."""
    units, model = 8, case.model()
    batch = (case.batch[0][:units], case.batch[1][:units])
    clipper = Clipper(model, losses)
    found = clipper.sums(batch, units, BOUND).gradients
    expected = {name: torch.zeros_like(p, dtype=torch.float64) for name, p in clipper.parameters.items()}
    scale = dict.fromkeys(expected, 0.0)
    for unit in range(units):
        value = losses(model, (batch[0][unit : unit + 1], batch[1][unit : unit + 1])).sum()
        gradients = [g.double() for g in torch.autograd.grad(value, list(clipper.parameters.values()))]
        norm = torch.stack([g.norm() for g in gradients]).norm()
        for name, gradient in zip(expected, gradients, strict=True):
            gradient = gradient * min(1.0, BOUND / float(norm))
            expected[name] += gradient
            scale[name] += float(gradient.norm())
    return max(float((found[name] - total).norm()) / scale[name] for name, total in expected.items())


def measured(case: Case, folder: str) -> dict[str, Any]:
    plain, ours = Theirs(plain_step(case)), Ours(case, folder)
    methods: dict[str, Ours | Theirs] = {"plain": plain, "ours": ours}
    failed = {}
    for mode in clipping_opacus.MODES if clipping_opacus.version() else ():
        try:
            made = clipping_opacus.step(case, mode, bound=BOUND, noise=NOISE, rate=RATE)
            methods[f"Opacus {mode}"] = Theirs(made)
        except Exception as reason:  # whatever it raises, the mode cannot train this model
            failed[f"Opacus {mode}"] = f"{type(reason).__name__}: {str(reason).splitlines()[0][:100]}"
    times = max(1, round(SHARE / plain.seconds(3)))
    fixed = sum(t.numel() * t.element_size() for t in (*ours.parameters, *case.batch))
    rounds = []
    for _ in range(ROUNDS):
        ours.skip_looks(times + 1)
        rounds.append({name: method.seconds(times) for name, method in methods.items()})
    ours.skip_looks(2)
    peaks = {name: method.peak() for name, method in methods.items()}
    memory = {name: most + fixed for name, (most, _) in peaks.items()}
    base, usual = (statistics.median(each[name] for each in rounds) for name in ("plain", "ours"))
    look = statistics.median(ours.looks) - usual
    return {
        "model": case.name,
        "parameters": sum(p.numel() for p in ours.parameters),
        "plain_ms": 1e3 * base,
        "overhead_ms": 1e3 * statistics.median(each["ours"] - each["plain"] for each in rounds),
        "time": {name: quartiles(each[name] / each["plain"] for each in rounds) for name in methods if name != "plain"},
        "memory": {name: memory[name] / memory["plain"] for name in methods if name != "plain"},
        "beside_torch_mb": peaks["ours"][1] / 1e6,
        "look_in_plain_steps": look / base,
        "looks_per_1000_steps": 10 * look / base / 1000,
        "error": error(case),
        "failed": failed,
    }


def quartiles(values: Iterator[float]) -> list[float]:
    """Lower quartile, median and upper quartile."""
    return statistics.quantiles(values, n=4, method="inclusive")


def shown(row: dict[str, Any]) -> str:
    lines = [
        f"{row['model']}, {row['parameters']:,} parameters: plain {row['plain_ms']:.2f} ms, ours {row['overhead_ms']:+.2f} ms; "
        f"a look costs {row['look_in_plain_steps']:.1f} plain steps, on average {row['looks_per_1000_steps']:.3f} a step; "
        f"Python and NumPy {row['beside_torch_mb']:.1f} MB; error {row['error']:.1e}"
    ]
    for name, (low, middle, high) in row["time"].items():
        lines.append(f"  {name:30} time {middle:6.2f} ({low:.2f} to {high:.2f})   memory {row['memory'][name]:6.2f}")
    lines += [f"  {name:30} fails: {reason}" for name, reason in row["failed"].items()]
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as they stand in docs/training.md."""
    lines = [
        "| model, batch | plain SGD | ours | best Opacus mode | memory, ours | memory, that mode | a look, in plain steps |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        (low, middle, high), times = row["time"]["ours"], row["time"]
        best = min((name for name in times if name != "ours"), key=lambda name: times[name][1])
        cells = [
            row["model"],
            f"{row['plain_ms']:.2f} ms",
            f"**{middle:.2f}** ({low:.2f} to {high:.2f}), +{row['overhead_ms']:.1f} ms",
            f"{times[best][1]:.2f} ({best.removeprefix('Opacus ')})",
            *(f"{row['memory'][name]:.2f}" for name in ("ours", best)),
            f"{row['look_in_plain_steps']:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    if any(name not in os.environ for name in KEEP_PAGES):
        os.execve(
            sys.executable, [sys.executable, "-m", "benchmarks.clipping", *sys.argv[1:]], {**os.environ, **KEEP_PAGES}
        )
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if not wanted or any(word in case.name for word in wanted):
                rows.append(measured(case, folder))
                print(shown(rows[-1]), flush=True)
    if not wanted:
        about = {
            "torch": torch.__version__,
            "opacus": clipping_opacus.version(),
            "python": platform.python_version(),
            "threads": 1,
            "rounds": ROUNDS,
            "ratios": "to plain SGD: lower quartile, median, upper quartile over the rounds",
        }
        OUT.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
        print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
