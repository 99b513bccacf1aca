"""Time and memory of a look beside a plain step, and memory of a confirmation in float64; writes docs/benchmark-looks.json.

    make bench-looks
    python -m benchmarks.looks "MLP, 10M"      some of them; writes nothing

Memory is the most that torch's allocator held at one time, beyond what it held in a plain step, in multiples of the
parameters' bytes. The confirmation is forced: every comparison is in doubt. It needs ``transformers`` and ``peft``.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from renyi.training.checks.comparison import Comparison, Difference, Seen, Setting
from renyi.training.checks.look import Look
from renyi.training.clipping.clipper import Clipper

RESULT = Path(__file__).resolve().parents[1] / "docs" / "benchmark-looks.json"
ROUNDS = 5


def classified(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")


def next_words(model: nn.Module, batch: Tensor) -> Tensor:
    logits = model(input_ids=batch).logits[:, :-1]
    return nn.functional.cross_entropy(logits.transpose(1, 2), batch[:, 1:], reduction="none").mean(1)


class Words(nn.Module):
    """Embedding and a fused LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.lstm, self.head = (
            nn.Embedding(1000, 64),
            nn.LSTM(64, 128, batch_first=True),
            nn.Linear(128, 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.lstm(self.embed(x))[0][:, -1])
        return out


def gpt2(layers: int, width: int, words: int) -> nn.Module:
    transformers = import_module("transformers")
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=4, n_positions=64, vocab_size=words, bos_token_id=0, eos_token_id=0
    )
    model: nn.Module = transformers.GPT2LMHeadModel(config).train()
    return model


def lora() -> nn.Module:
    peft = import_module("peft")
    config = peft.LoraConfig(r=8, lora_alpha=8, lora_dropout=0.1, target_modules=["c_attn"], fan_in_fan_out=True)
    model: nn.Module = peft.get_peft_model(gpt2(4, 256, 5000), config)
    return model


def cases() -> Iterator[tuple[str, nn.Module, Any, Any]]:
    def labels(units: int) -> Tensor:
        return torch.randint(0, 10, (units,))

    mlp = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    yield "MLP, 0.7M", mlp, classified, (torch.randn(256, 784), labels(256))
    convolutions = (
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
    )
    cnn = nn.Sequential(*convolutions, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 10))
    yield "CNN", cnn, classified, (torch.randn(128, 3, 32, 32), labels(128))
    yield "LSTM", Words(), classified, (torch.randint(0, 1000, (64, 32)), labels(64))
    yield "LoRA on GPT-2 with dropout", lora(), next_words, torch.randint(0, 5000, (32, 64))
    wide = nn.Sequential(nn.Linear(1000, 2400), nn.ReLU(), nn.Linear(2400, 3100), nn.ReLU(), nn.Linear(3100, 10))
    yield "MLP, 10M", wide, classified, (torch.randn(64, 1000), labels(64))
    yield "GPT-2, 30M", gpt2(6, 384, 50257), next_words, torch.randint(0, 50257, (8, 64))


def measured(name: str, model: nn.Module, losses: Any, batch: Any) -> dict[str, Any]:
    units = len(batch[0]) if isinstance(batch, tuple) else len(batch)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-6)
    clipper, seeds = Clipper(model, losses), iter(range(10**6))

    def plain() -> None:
        optimizer.zero_grad()
        losses(model, batch).mean().backward()
        optimizer.step()

    def look() -> None:
        clipper.looked_at_by(Look(model, losses, random.Random(next(seeds))), batch, units)

    def always(self: Comparison, one: Seen, other: Setting, **options: Any) -> Difference | None:
        self.run(other, one.seed)
        setting, seed = one.setting, one.seed
        del one
        return self.confirmed(setting, other, seed, copies=None, same_size=options.get("same_size", True))

    def doubtful() -> None:
        with mock.patch.object(Comparison, "differ", always):
            look()

    for step in (plain, plain, look):
        step()
    rounds = [(_seconds(plain), _seconds(look)) for _ in range(ROUNDS)]
    optimizer.zero_grad()
    bytes_of = sum(p.numel() * p.element_size() for p in model.parameters())
    base, of_look, of_doubt = peak(plain), peak(look), peak(doubtful)
    return {
        "model": name,
        "parameters": sum(p.numel() for p in model.parameters()),
        "units": units,
        "plain step, ms": 1e3 * statistics.median(step for step, _ in rounds),
        "look, plain steps": statistics.median(look / step for step, look in rounds),
        "memory of a plain step, times parameters": base / bytes_of,
        "look beyond a plain step, times parameters": (of_look - base) / bytes_of,
        "confirmations beyond a plain step, times parameters": (of_doubt - base) / bytes_of,
    }


def peak(step: Callable[[], None]) -> int:
    """The most bytes that torch held at one time within a step, beyond those that it held before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    assert profiler.profiler is not None
    results: Any = profiler.profiler.kineto_results
    sizes = [event.nbytes() for event in results.events() if event.name() == "[memory]"]
    return max(itertools.accumulate(sizes), default=0)


def _seconds(step: Callable[[], None]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    wanted = sys.argv[1:]
    for case in cases():
        if wanted and case[0] not in wanted:
            continue
        rows.append(measured(*case))
        print(json.dumps(rows[-1], indent=2), flush=True)
    if wanted:
        return
    RESULT.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
