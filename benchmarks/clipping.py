"""What per-unit clipping costs: CPU time and memory of a DP-SGD step as ratios to a plain SGD step.

    python -m benchmarks.clipping

One thread, glibc told to keep freed pages. Rounds of plain and clipped steps alternate, and the ratio of a round is taken
within it, so that a busy machine disturbs both alike; the median over rounds is reported. "+ noise" adds Gaussian noise by
torch's own generator to the step. Memory is the allocator's peak within a step, parameters and input included. The recurrent
model runs twice: plain as an LSTM unrolled in Python, which is what any per-unit method has to see, and plain as the fused
`nn.LSTM`. The last column is the relative error of the clipped sums against a loop over the units.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from renyi.training.clipping.clipper import Clipper

OUT = Path(__file__).parents[1] / "docs" / "benchmark-clipping.json"
ROUNDS, BOUND = 15, 1.0
KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}


class Text(nn.Module):
    """Tokens to logits: embedding and learned positions, a Transformer, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 128)
        self.position = nn.Parameter(torch.randn(1, 64, 128) * 0.02)
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(128, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.encoder(self.embedding(tokens) + self.position).mean(1))
        return logits


class Recurrent(nn.Module):
    """Tokens to logits by an LSTM, fused or unrolled."""

    def __init__(self, *, unrolled: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 128, batch_first=True)
        self.head = nn.Linear(128, 2)
        self.unrolled = unrolled

    def forward(self, tokens: Tensor) -> Tensor:
        sequence = self.embedding(tokens)
        last = self._unrolled(sequence) if self.unrolled else self.lstm(sequence)[0][:, -1]
        logits: Tensor = self.head(last)
        return logits

    def _unrolled(self, sequence: Tensor) -> Tensor:
        w, u, b, c = (getattr(self.lstm, name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"))
        hidden = cell = sequence.new_zeros(sequence.shape[0], 128)
        for now in functional.linear(sequence, w, b).unbind(1):
            i, f, g, o = (now + functional.linear(hidden, u, c)).chunk(4, 1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            hidden = torch.sigmoid(o) * torch.tanh(cell)
        return hidden


@dataclass(frozen=True)
class Case:
    """A model, the same model for the plain step if it differs, and a batch."""

    name: str
    model: nn.Module
    plain: nn.Module
    batch: tuple[Tensor, Tensor]


def losses(model: nn.Module, batch: Any) -> Tensor:
    return functional.cross_entropy(model(batch[0]), batch[1], reduction="none")


def cases() -> list[Case]:
    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    cnn = nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
    )
    text = Text()
    fused, unrolled = Recurrent(unrolled=False), Recurrent(unrolled=True)
    tokens, words = torch.randint(0, 1000, (32, 64)), torch.randint(0, 1000, (64, 32))
    label = [torch.randint(0, 2, (size,)) for size in (256, 128, 32, 64)]
    return [
        Case("MLP 784-512-512-10, 256", mlp, mlp, (torch.randn(256, 784), label[0])),
        Case("CNN 32x32x3, 128", cnn, cnn, (torch.randn(128, 3, 32, 32), label[1])),
        Case("Transformer d=128 L=2 T=64, 32", text, text, (tokens, label[2])),
        Case("LSTM T=32, 64 (plain unrolled)", fused, unrolled, (words, label[3])),
        Case("LSTM T=32, 64 (plain fused)", fused, fused, (words, label[3])),
    ]


def plain_step(case: Case) -> Callable[[], None]:
    optimizer = torch.optim.SGD(case.plain.parameters(), lr=1e-6)

    def step() -> None:
        optimizer.zero_grad()
        losses(case.plain, case.batch).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def clipped_step(case: Case, *, noise: bool) -> Callable[[], None]:
    optimizer = torch.optim.SGD(case.model.parameters(), lr=1e-6)
    clipper = Clipper(case.model, losses)
    units = len(case.batch[1])

    def step() -> None:
        optimizer.zero_grad()
        for name, total in clipper.sums(case.batch, units, BOUND).gradients.items():
            clipper.parameters[name].grad = (total.add_(torch.randn_like(total)) if noise else total).div_(units)
        optimizer.step()

    return step


def seconds(step: Callable[[], None], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - start) / times


def peak(step: Callable[[], None]) -> int:
    """The most bytes that were allocated at one time within a step."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    held = most = 0
    assert profiler.profiler is not None
    results: Any = profiler.profiler.kineto_results
    for event in results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most


def error(case: Case) -> float:
    """The largest difference of a clipped sum from that of a loop over a few units, relative to its terms' norms."""
    units = 8
    batch = (case.batch[0][:units], case.batch[1][:units])
    clipper = Clipper(case.model, losses)
    found = clipper.sums(batch, units, BOUND).gradients
    expected = {name: torch.zeros_like(p, dtype=torch.float64) for name, p in clipper.parameters.items()}
    scale = dict.fromkeys(expected, 0.0)
    for unit in range(units):
        value = losses(case.model, (batch[0][unit : unit + 1], batch[1][unit : unit + 1])).sum()
        gradients = [g.double() for g in torch.autograd.grad(value, list(clipper.parameters.values()))]
        norm = torch.stack([g.norm() for g in gradients]).norm()
        for name, gradient in zip(expected, gradients, strict=True):
            gradient = gradient * min(1.0, BOUND / float(norm))
            expected[name] += gradient
            scale[name] += float(gradient.norm())
    return max(float((found[name] - total).norm()) / scale[name] for name, total in expected.items())


def measured(case: Case) -> dict[str, Any]:
    steps = plain_step(case), clipped_step(case, noise=False), clipped_step(case, noise=True)
    for step in steps * 4:
        step()
    times = max(1, round(0.05 / seconds(steps[0], 2)))
    rounds = [[seconds(step, times) for step in steps] for _ in range(ROUNDS)]
    fixed = sum(t.numel() * t.element_size() for t in (*case.model.parameters(), *case.batch))
    memory = [peak(step) + fixed for step in steps]
    return {
        "model": case.name,
        "parameters": sum(p.numel() for p in case.model.parameters()),
        "plain_ms": 1e3 * statistics.median(each[0] for each in rounds),
        "clipped": statistics.median(each[1] / each[0] for each in rounds),
        "clipped and noised": statistics.median(each[2] / each[0] for each in rounds),
        "memory": memory[2] / memory[0],
        "error": error(case),
    }


def main() -> int:
    if any(name not in os.environ for name in KEEP_PAGES):
        os.execve(
            sys.executable, [sys.executable, "-m", "benchmarks.clipping", *sys.argv[1:]], {**os.environ, **KEEP_PAGES}
        )
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    rows = [measured(case) for case in cases() if not wanted or any(word in case.name for word in wanted)]
    print(f"{'model':34} {'par.':>8} {'plain':>9} {'clipped':>8} {'+ noise':>8} {'memory':>7} {'error':>9}")
    for row in rows:
        print(
            f"{row['model']:34} {row['parameters']:8} {row['plain_ms']:6.1f} ms {row['clipped']:7.2f}x "
            f"{row['clipped and noised']:7.2f}x {row['memory']:6.2f}x "
            f"{row['error']:9.1e}"
        )
    if not wanted:
        about = {"torch": torch.__version__, "python": platform.python_version(), "threads": 1, "rounds": ROUNDS}
        OUT.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
