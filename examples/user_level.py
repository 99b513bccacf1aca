"""DP-SGD that protects persons, each with all their rows: python examples/user_level.py [--short]

At every step persons are drawn. All rows of one make one gradient, which is clipped once: so the guarantee is for whatever a
person contributes, one row or a hundred.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset

from renyi import Filter, Poisson
from renyi.training import Plan, Progress, Rows, Run, StopWithin

SHORT = "--short" in sys.argv
STEPS, PERSONS = (6, 200) if SHORT else (200, 1_000)
FOLDER = Path("user-level")


def data() -> tuple[TensorDataset, list[str]]:
    """Rows, and whose each is: here every person has 1 to 9 of them, and a taste of their own."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(1, 10, (PERSONS,), generator=generator)
    person = torch.arange(PERSONS).repeat_interleave(counts)
    x = torch.randn(len(person), 20, generator=generator) + 0.5 * torch.randn(PERSONS, 20, generator=generator)[person]
    return TensorDataset(x, (x[:, :5].sum(1) > 0).long()), [f"person {number}" for number in person.tolist()]


def losses(model: nn.Module, batch: Rows) -> torch.Tensor:
    """One loss per person: the mean over the rows that are there, of tensors of shape (persons, rows, ...)."""
    x, y = batch.values
    each = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="none").view_as(y)
    return (each * batch.present).sum(1) / batch.present.sum(1)


def main() -> None:
    """Train until a budget is spent, and print what it cost."""
    FOLDER.mkdir(exist_ok=True)
    rows, owners = data()
    model = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    public = {"clip": 1.0, "expected_batch": 0.1 * PERSONS, "noise_multiplier": 1.5, "delta": 1e-5, "unit": "person"}
    plan = Plan(sampling=Poisson(0.1), steps=STEPS, **public)
    budget = StopWithin(Filter(epsilon=1.5 if SHORT else 3.0, delta=1e-5, expected=plan.event(0)))  # fixed beforehand
    with Run(plan, model, optimizer, losses, journal=FOLDER / "run.jsonl", callback=[budget, Progress()]) as run:
        for batch in run.batches(rows, owners=owners, rows_per_unit=5, physical_batch=64):
            run.step(batch)
        print(run.guarantee())


if __name__ == "__main__":
    main()
