"""DP-SGD in a LightningModule: python examples/with_lightning.py [--short]

The run draws the batches and makes the steps, so optimization is manual, and one epoch is the whole run.
"""

import sys
from typing import Any

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from renyi import Poisson
from renyi.training import LogTo, Plan, Run

STEPS = 5 if "--short" in sys.argv else 200
PLAN = Plan(sampling=Poisson(0.05), steps=STEPS, clip=1.0, expected_batch=100, noise_multiplier=1.0, delta=1e-5)


def data(units: int, seed: int) -> TensorDataset:
    """Two clouds of points."""
    x = torch.randn(units, 20, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, (x[:, :5].sum(1) > 0).long())


class Classifier(lightning.LightningModule):
    """What is trained is its net."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=3e-3)

    def losses(self, net: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        return nn.functional.cross_entropy(net(batch[0]), batch[1], reduction="none")  # one per unit

    def train_dataloader(self) -> Any:
        log = LogTo(self.logger)
        self.run = Run(PLAN, self.net, self.optimizers(), self.losses, journal="with-lightning.jsonl", callback=log)
        return self.run.batches(data(2_000, seed=0), physical_batch=128)

    def training_step(self, batch: Any) -> None:
        self.run.step(batch)

    def validation_step(self, batch: list[torch.Tensor]) -> None:  # public data: else accuracy needs noise of its own
        self.log("accuracy", (self.net(batch[0]).argmax(1) == batch[1]).float().mean(), prog_bar=True)


if __name__ == "__main__":
    trainer = lightning.Trainer(max_epochs=1, logger=CSVLogger("with-lightning"), enable_checkpointing=False)
    trainer.fit(classifier := Classifier(), val_dataloaders=DataLoader(data(200, seed=1), 100))
    with classifier.run as run:  # closed in the end
        run.save("with-lightning.pt")
        print(run.guarantee())
