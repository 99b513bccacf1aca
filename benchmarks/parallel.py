"""What privacy adds on several processes: CPU time and traffic of ``Run.step`` beside plain training of the same model.

    python -m benchmarks.parallel

On one process ours is compared with plain SGD, on two with DistributedDataParallel; with weights sharded by ``fully_shard``,
with plain training of the model sharded alike. All methods take the same batch, divided among the processes, and in every round
each of them takes a few steps in turn. Times are processor time of all processes together, one thread each, so that it does not
count when they wait for each other or for the machine; a ratio is taken within a round. Loading is left out. A step of ours has
no look in it, as in ``benchmarks.clipping``. Traffic is what each process hands to collectives in one step.

Draws: processor time of one Poisson draw over 10^9 units beside one over 10^6 with as many units expected.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset

from benchmarks.clipping import KEEP_PAGES, quartiles
from benchmarks.clipping_models import Case, cases, losses
from benchmarks.traffic import Traffic
from renyi import Poisson
from renyi.training import Plan, Run, seeded
from renyi.training.randomness.sampler import poisson_draw

OUT = Path(__file__).parents[1] / "docs" / "benchmark-parallel.json"
WANTED = ("MLP", "Transformer")
SIZES = (1, 2)
ROUNDS, STEPS, RATE = 9, 3, 1e-6
"""Rounds, steps of each method in a round, and the learning rate."""

WARM = 64
"""Steps of ours before any is timed, so that the next look, at the 128th release, comes after the last that is timed."""

PLANNED = 1_000_000
"""Planned steps: more than are ever taken here."""

DRAWN, DRAWS = 1_000, 400
"""Units expected in a draw, and draws over each number of units."""


def divided(model: nn.Module, *, sharded: bool) -> nn.Module:
    """The model, whole or with every layer that has weights sharded by itself."""
    if sharded:
        inner = model.get_submodule("layers") if hasattr(model, "layers") else model
        for block in inner.children():
            if any(True for _ in block.parameters()):
                fully_shard(block)
        fully_shard(model)
    return model


class Plain:
    """Steps of plain training: by itself, under DistributedDataParallel, or sharded."""

    def __init__(self, case: Case, batch: Any, *, sharded: bool) -> None:
        self._model, self._batch = divided(case.plain(), sharded=sharded), batch
        if dist.get_world_size() > 1 and not sharded:
            self._model = DistributedDataParallel(self._model)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=RATE)

    def load(self) -> None:
        """There is one batch."""

    def step(self) -> None:
        """One step."""
        self._optimizer.zero_grad()
        losses(self._model, self._batch).mean().backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()

    def close(self) -> None:
        """There is nothing to release."""


class Ours:
    """Steps of a run that draws the whole batch every time."""

    def __init__(self, case: Case, folder: Path, *, sharded: bool) -> None:
        model, units = divided(case.model(), sharded=sharded), len(case.batch[1])
        public = {"clip": 1.0, "expected_batch": units, "noise_multiplier": 1.0, "delta": 1e-3}
        plan = Plan(sampling=Poisson(1.0), steps=PLANNED, **public)  # type: ignore[arg-type]
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        self._run = Run(plan, model, optimizer, losses, journal=folder / f"{'sharded' if sharded else 'whole'}.jsonl")
        self._batches = self._run.batches(TensorDataset(*case.batch), physical_batch=-(-units // dist.get_world_size()))
        for _ in range(WARM):
            self.load()
            self.step()

    def load(self) -> None:
        """Fetch the next batch."""
        self._batch = next(self._batches)

    def step(self) -> None:
        """One step."""
        self._run.step(self._batch)

    def close(self) -> None:
        """End the run."""
        self._run.close()


def member(rank: int, size: int, folder: Path, name: str) -> None:
    """One process: measures everything together with the others, and writes what it has found."""
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    meeting = f"file://{folder / 'meeting'}"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size, timeout=timedelta(seconds=600))
    case = next(each for each in cases() if each.name == name)
    mine = tuple(part[rank::size] for part in case.batch)
    methods: dict[str, Plain | Ours] = {}
    for sharded, words in ((False, "whole"), (True, "sharded")):
        methods[f"plain, {words}"] = Plain(case, mine, sharded=sharded)
        methods[f"ours, {words}"] = Ours(case, folder, sharded=sharded)
    traffic = {words: counted(method) for words, method in methods.items()}
    rounds = [{words: seconds(method) for words, method in methods.items()} for _ in range(ROUNDS)]
    for method in methods.values():
        method.close()
    (folder / f"{rank}.json").write_text(json.dumps({"traffic": traffic, "rounds": rounds}))
    dist.destroy_process_group()


def counted(method: Plain | Ours) -> dict[str, dict[str, int]]:
    """What one step hands to collectives, once the first ones have been made."""
    for _ in range(4):
        method.load()
        with Traffic() as traffic:
            method.step()
    return {"bytes": dict(traffic.bytes), "calls": dict(traffic.calls)}


def seconds(method: Plain | Ours) -> float:
    """Processor time of a step of this process."""
    taken = 0.0
    for _ in range(STEPS):
        method.load()
        started = time.process_time()
        method.step()
        taken += time.process_time() - started
    return taken / STEPS


def measured(name: str, size: int) -> dict[str, Any]:
    """One model on so many processes."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        mp.spawn(member, (size, folder, name), nprocs=size)  # type: ignore[no-untyped-call, attr-defined]
        found = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]
    rounds = [
        {method: sum(one["rounds"][n][method] for one in found) for method in found[0]["rounds"][n]}
        for n in range(ROUNDS)
    ]
    return {
        "model": name,
        "processes": size,
        "plain_ms": 1e3 * statistics.median(each["plain, whole"] for each in rounds),
        "time": {
            words: quartiles(each[f"ours, {words}"] / each[f"plain, {words}"] for each in rounds)
            for words in ("whole", "sharded")
        },
        "traffic": found[0]["traffic"],
    }


def draws() -> dict[str, Any]:
    """The time of a draw over a thousand million units in times of one over a million, in turn."""
    keys, times = seeded(1), {10**6: 0.0, 10**9: 0.0}
    for turn in range(DRAWS):
        for units in times:
            started = time.process_time()
            poisson_draw(keys.key("draw", turn), units=units, rate=DRAWN / units)
            times[units] += time.process_time() - started
    return {"expected": DRAWN, "draws": DRAWS, "ratio": times[10**9] / times[10**6], "ms": 1e3 * times[10**9] / DRAWS}


def shown(row: dict[str, Any]) -> str:
    times = ", ".join(
        f"{words} {low:.2f} to {high:.2f}, median {middle:.2f}" for words, (low, middle, high) in row["time"].items()
    )
    lines = [f"{row['model']} on {row['processes']}: plain {row['plain_ms']:.1f} ms; ours, in times of plain: {times}"]
    lines += [f"  {method:15} {counted}" for method, counted in row["traffic"].items()]
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as they stand in docs/training.md."""
    lines = [
        "| model, batch | processes | ours / plain | sharded, ours / plain | reduced in a step, ours and plain | control |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["model"], str(row["processes"])]
        cells += ["{1:.2f} ({0:.2f} to {2:.2f})".format(*row["time"][words]) for words in ("whole", "sharded")]
        ours, theirs, shards = (
            row["traffic"][name]["bytes"] for name in ("ours, whole", "plain, whole", "ours, sharded")
        )
        alone = row["processes"] == 1
        cells.append("none" if alone else f"{ours['reduced']:,} and {theirs['reduced']:,} bytes")
        cells.append("none" if alone else f"{ours['control']} bytes; sharded {shards['control']}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    if any(name not in os.environ for name in KEEP_PAGES):
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.parallel"], {**os.environ, **KEEP_PAGES})
    torch.set_num_threads(1)
    rows = []
    for case in cases():
        for size in SIZES if case.name.startswith(WANTED) else ():
            rows.append(measured(case.name, size))
            print(shown(rows[-1]), flush=True)
    about = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "backend": "gloo",
        "threads of each process": 1,
        "rounds": ROUNDS,
        "time": "processor time of all processes, in times of plain training: quartiles over the rounds",
        "traffic": "what each process hands to collectives in one step",
    }
    found = {"about": about, "rows": rows, "draws": draws()}
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    print(table(rows))
    print(found["draws"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
