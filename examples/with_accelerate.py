"""DP-SGD in a loop of Accelerate: accelerate launch examples/with_accelerate.py [--short], or python, or torchrun

Model and optimizer are prepared as ever; the dataset is not, because the run draws its batches and shares them among the
processes. run.step takes the place of accelerator.backward, optimizer.step and optimizer.zero_grad.
"""

import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import TensorDataset

from renyi import Poisson
from renyi.training import LogTo, Plan, Run

STEPS = 5 if "--short" in sys.argv else 200
FOLDER = Path("with-accelerate")


def data(units: int = 2_000) -> TensorDataset:
    """The whole dataset, the same in every process: here two clouds of points."""
    x = torch.randn(units, 20, generator=torch.Generator().manual_seed(0))
    return TensorDataset(x, (x[:, :5].sum(1) > 0).long())


def losses(model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
    """One loss per unit; the batch comes on the model's device."""
    x, y = batch
    return nn.functional.cross_entropy(model(x), y, reduction="none")


def main() -> None:
    """Train, and print what it cost."""
    accelerator = Accelerator(mixed_precision="bf16")
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, STEPS)
    model, optimizer = accelerator.prepare(model, optimizer)  # a prepared scheduler would step once for every process
    plan = Plan(sampling=Poisson(0.05), steps=STEPS, clip=1.0, expected_batch=100, noise_multiplier=1.0, delta=1e-5)
    FOLDER.mkdir(exist_ok=True)
    bare = accelerator.unwrap_model(model)  # of several processes, too: the run adds up the clipped sums itself
    log = LogTo(lambda values, step: accelerator.print(step, values))  # LogTo(accelerator) writes to its trackers
    callbacks = [log, lambda _: scheduler.step()]
    with Run(plan, bare, optimizer, losses, journal=FOLDER / "run.jsonl", callback=callbacks) as run:
        for batch in run.batches(data(), physical_batch=32):
            run.step(batch)
        run.save(FOLDER / "run.pt")
        accelerator.print(run.guarantee())
    accelerator.end_training()


if __name__ == "__main__":
    main()
