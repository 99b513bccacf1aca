"""A billion values of the noise, a million cells in ball arithmetic, every float32 that can occur; writes docs/noise.json.

make noise                                              the whole campaign
python -m tests.training.noise_campaign --share 0.01    a hundredth, which is printed only
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flint import ctx
from scipy import special, stats
from torch import nn
from torch.utils.data import TensorDataset

from renyi import Poisson
from renyi.training import Plan, Run
from renyi.training import release as release_module
from renyi.training.randomness import noise, refinement
from renyi.training.randomness.noise import ROW, grid_of, round_in_place, rounded
from tests.soundness.journal import tree_of_source
from tests.training.readable_noise import standard_normal
from tests.training.test_noise import certain_cell, repetitions

RESULT = Path(__file__).resolve().parents[2] / "docs" / "noise.json"
VALUES, CELLS = 1_000_000_000, 1_000_000
CHUNK = 64 * ROW
SCALE = 1024.0
EDGE, WIDTH = 4000, 4
"""Cells of the grid are counted from -EDGE to EDGE, WIDTH at a time: 2,000 of them."""
LOWEST = 1e-6
"""A p-value below which something is wrong: one in a million campaigns has one by chance, per test."""


def law(values: int) -> dict[str, object]:
    """Histogram, tails, and correlations of neighbours, of pairs and of rows; from a fresh key for every chunk."""
    counts, beyond = np.zeros(2 * EDGE // WIDTH), {}
    tails = {level: [0, 0] for level in (3.5, 4.0, 5.0, 6.0)}
    sums = {"value": 0.0, "square": 0.0, "neighbours": 0.0, "pairs": 0.0, "sizes of pairs": 0.0, "rows": 0.0}
    numbers = dict.fromkeys(sums, 0)
    low_bits = np.zeros(16)
    zeros = torch.zeros(CHUNK)
    chunks = -(-values // CHUNK)
    for _ in range(chunks):
        made = rounded(zeros, deviation=1.0, grid=1.0 / SCALE, key=os.urandom(32)).numpy()
        cell = (made * SCALE).astype(np.int32)
        inside = np.abs(cell + 0.5) < EDGE
        counts += np.bincount((cell[inside] + EDGE) // WIDTH, minlength=counts.size)
        low_bits += np.bincount(cell & 15, minlength=16)
        for level, found in tails.items():
            found[0] += int((made < -level).sum())
            found[1] += int((made > level).sum())
        rows = made.reshape(-1, 2, ROW)
        sizes = rows * rows - (1.0 + 1.0 / (12.0 * SCALE * SCALE))
        for name, product in {
            "value": made,
            "square": sizes,
            "neighbours": rows[:, :, 1:] * rows[:, :, :-1],
            "pairs": rows[:, 0] * rows[:, 1],
            "sizes of pairs": sizes[:, 0] * sizes[:, 1],
            "rows": rows[1:] * rows[:-1],
        }.items():
            sums[name] += float(product.sum(dtype=np.float64))
            numbers[name] += product.size
    total = chunks * CHUNK
    variance = {"square": 2.0, "sizes of pairs": 4.0}
    scores = {name: sums[name] / np.sqrt(numbers[name] * variance.get(name, 1.0)) for name in sums}
    edges = np.arange(-EDGE, EDGE + 1, WIDTH)
    expected = total * np.diff(special.ndtr((edges - 0.5) / SCALE))
    beyond = total * special.ndtr((-EDGE - 0.5) / SCALE) + total * special.ndtr(-(EDGE - 0.5) / SCALE)
    outside = total - counts.sum()
    square = float(np.sum((counts - expected) ** 2 / expected) + (outside - beyond) ** 2 / beyond)
    p_values = {
        "2,000 cells": float(stats.chi2.sf(square, counts.size)),
        "low four bits": float(stats.chisquare(low_bits).pvalue),
        **{name: float(2.0 * special.ndtr(-abs(score))) for name, score in scores.items()},
    }
    for level, found in tails.items():
        chance = special.ndtr(-(np.floor(level * SCALE) + 0.5) / SCALE)
        for side, number in zip(("below -", "above "), found, strict=True):
            p_values[f"{side}{level}"] = float(stats.binomtest(number, total, chance).pvalue)
    return {
        "values": total,
        "p-values": p_values,
        "beyond 6": sum(tails[6.0]),
        "failed": [n for n, p in p_values.items() if p < LOWEST],
    }


def repeated(values: int) -> dict[str, object]:
    """No pair of words comes twice, and the last 24 bits of a value come twice as often as chance has it."""
    words, last_bits = repetitions(keys=max(values // 2**23, 1), pairs=2**21)
    return {"pairs of words": words, "last 24 bits": last_bits}


def exact(cells: int) -> dict[str, object]:
    """Cells against ball arithmetic: all that were refined, and others at random, up to so many."""
    asked: list[refinement.Doubtful] = []
    last: list[int] = []
    one, other = refinement.cells, refinement._certain
    random = np.random.default_rng(20261118)
    checked = wrong = values = doubtful = 0
    started = time.process_time()
    try:
        refinement.cells = lambda found, *rest: asked.append(found) or one(found, *rest)  # type: ignore[assignment]
        refinement._certain = lambda *given: last.append(1) or other(*given)  # type: ignore[assignment]
        with ctx.workprec(400):
            while checked < cells:
                asked.clear()
                key, deviation = random.bytes(32), float(10.0 ** random.uniform(-2.0, 2.0))
                sums = (random.choice([0.0, 1.0, 20.0]) * random.standard_normal(2 * ROW)).astype(np.float32)
                grid = grid_of(deviation, 1.0)
                found = rounded(torch.from_numpy(sums), deviation=deviation, grid=grid, key=key).numpy() / np.float64(
                    grid
                )
                values += sums.size
                pairs = np.concatenate([one.pair for one in asked])
                doubtful += pairs.size
                places = np.union1d(np.concatenate([pairs, pairs + ROW]), random.integers(0, 2 * ROW, 2000))
                for place in places.tolist():
                    wrong += found[place] != certain_cell(key, place, float(sums[place]) / grid, deviation / grid)
                checked += places.size
    finally:
        refinement.cells, refinement._certain = one, other
    return {
        "cells compared": checked,
        "of values": values,
        "wrong": int(wrong),
        "share refined in float64": doubtful / values,
        "share with further bits": len(last) / values,
        "seconds of CPU": round(time.process_time() - started, 1),
    }


def functions() -> dict[str, object]:
    """Largest errors of the float32 functions, in units in the last place, over every float that can occur."""
    worst = dict.fromkeys(("logarithm", "cosine", "sine"), 0.0)
    low, high = 2.0**-15, 1.0 - 2.0**-9
    for x in _floats(low, high):
        worst["logarithm"] = max(worst["logarithm"], _off(np.log(x), np.log(x.astype(np.float64))))
    for x in _floats(2.0**-31, 3.1415930):
        for sign in (np.float32(1.0), np.float32(-1.0)):
            y = sign * x
            exact = y.astype(np.float64)
            worst["cosine"] = max(worst["cosine"], _off(np.cos(y), np.cos(exact), 2.0**-24))
            worst["sine"] = max(worst["sine"], _off(np.sin(y), np.sin(exact), 2.0**-24))
    return {"units in the last place, of the logarithm; of 1 below 1, of sine and cosine": worst, "allowed": 4.0}


def _floats(low: float, high: float):
    """All float32 numbers between two positive ones, some at a time."""
    first, last = (int(np.float32(end).view(np.int32)) for end in (low, high))
    for start in range(first, last + 1, 1 << 22):
        yield np.arange(start, min(start + (1 << 22), last + 1), dtype=np.int32).view(np.float32)


def _off(found, exact, unit: float | None = None) -> float:
    units = unit if unit is not None else np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return float(np.max(np.abs(found.astype(np.float64) - exact) / units))


def times() -> dict[str, object]:
    """CPU time of noise, sum and quotient per million parameters, beside the noise as it was; medians of 15, in turns."""
    torch.set_num_threads(1)
    count = 4_000_000
    sums, deviation = torch.randn(count), 1.1
    grid = grid_of(deviation, 1.0)

    def old() -> torch.Tensor:
        return torch.add(sums, torch.from_numpy(standard_normal(count, bytes(32))), alpha=deviation).div_(256.0)

    def new() -> torch.Tensor:
        return rounded(sums, deviation=deviation, grid=grid, key=bytes(32)).div_(256.0)

    taken: dict[str, list[float]] = {"old": [], "new": []}
    for _ in range(15):
        for name, release in (("old", old), ("new", new)):
            started = time.process_time()
            release()
            taken[name].append((time.process_time() - started) / count * 1e9)
    old_time, new_time = (statistics.median(taken[name]) for name in ("old", "new"))
    return {
        "ns a parameter, old": round(old_time, 2),
        "ns a parameter, new": round(new_time, 2),
        "ratio": round(new_time / old_time, 3),
    }


def step_times() -> dict[str, object]:
    """CPU time of ``Run.step`` without its looks, with the noise as it was and as it is in turns; medians of 100 each."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(640, 784), torch.randint(0, 10, (640,)))
    model = nn.Sequential(nn.Linear(784, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 10))
    plan = Plan(sampling=Poisson(0.1), steps=200, clip=1.0, expected_batch=64, noise_multiplier=1.1, delta=1e-5)

    def losses(network: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return nn.functional.cross_entropy(network(batch[0]), batch[1], reduction="none")

    def old(sums: list[torch.Tensor], *, deviation: float, keys: list[bytes], **_: object) -> None:
        for one, key in zip(sums, keys, strict=True):
            made = torch.from_numpy(standard_normal(one.numel(), key))
            one.add_(made.reshape(one.shape), alpha=deviation)

    taken: dict[str, list[float]] = {"old": [], "new": []}
    try:
        with tempfile.TemporaryDirectory() as place:
            run = Run(plan, model, torch.optim.SGD(model.parameters(), lr=0.1), losses, journal=f"{place}/run.journal")
            run._looks._at = lambda *_: None  # type: ignore[method-assign]
            for number, batch in enumerate(run.batches(data, physical_batch=128)):
                name = ("old", "new")[number % 2]
                release_module.round_in_place = {"old": old, "new": round_in_place}[name]
                started = time.process_time()
                run.step(batch)
                taken[name].append((time.process_time() - started) * 1e3)
    finally:
        release_module.round_in_place = round_in_place
    old_time, new_time = (statistics.median(taken[name]) for name in ("old", "new"))
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "ms a step, old": round(old_time, 2),
        "ms a step, new": round(new_time, 2),
        "ratio": round(new_time / old_time, 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0)
    share = parser.parse_args().share
    result: dict[str, Any] = {
        "tree of src": tree_of_source(),
        "versions": {
            "python": platform.python_version(),
            **{n: importlib.metadata.version(n) for n in ("numpy", "torch", "cryptography")},
        },
        "law": law(round(share * VALUES)),
        "cells": exact(round(share * CELLS)),
        **({"float32": functions()} if share == 1.0 else {}),
        "repetitions": repeated(round(share * VALUES)),
        "time of a release": times(),
        "time of a step": step_times(),
        "rows": {"pairs": ROW, "cells in a deviation": noise.CELLS},
    }
    text = json.dumps(result, indent=1)
    print(text)
    if share == 1.0:
        RESULT.write_text(text + "\n", encoding="utf-8")
    again = result["repetitions"]
    failed = (
        result["law"]["failed"]
        or result["cells"]["wrong"]
        or again["pairs of words"]["found"]
        or again["last 24 bits"]["p-value"] < LOWEST
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
