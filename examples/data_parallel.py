"""DP-SGD on several processes: torchrun --nproc-per-node 2 examples/data_parallel.py [--short] [--shard]

Every process runs this script. The run draws one batch from the whole dataset, gives each process a part of it, adds up the
clipped sums and adds noise once. The journal and the checkpoint are written by rank 0. With --shard no process keeps the
whole model: each holds, noises and steps its rows of every parameter.
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import TensorDataset

from renyi import Poisson
from renyi.training import Plan, Progress, Run

STEPS = 5 if "--short" in sys.argv else 200
FOLDER = Path("data-parallel")


def data(units: int = 2_000) -> TensorDataset:
    """The whole dataset, the same in every process: here two clouds of points."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(units, 20, generator=generator)
    return TensorDataset(x, (x[:, :5].sum(1) > 0).long())


def losses(model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
    """One loss per unit."""
    x, y = batch
    return nn.functional.cross_entropy(model(x), y, reduction="none")


def main() -> None:
    """Train, and print what it cost."""
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    leads = dist.get_rank() == 0
    FOLDER.mkdir(exist_ok=True)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))  # not wrapped: the run adds up sums itself
    if "--shard" in sys.argv:
        fully_shard(model[0])  # of a large model, one layer after the other
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)  # of what is sharded, so after it
    plan = Plan(sampling=Poisson(0.05), steps=STEPS, clip=1.0, expected_batch=100, noise_multiplier=1.0, delta=1e-5)
    callback = Progress() if leads else None
    with Run(plan, model, optimizer, losses, journal=FOLDER / "run.jsonl", callback=callback) as run:
        for batch in run.batches(data(), physical_batch=32):  # at most 32 units at a time in each process
            run.step(batch)
        run.save(FOLDER / "run.pt")
    if leads:
        print(run.guarantee())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
