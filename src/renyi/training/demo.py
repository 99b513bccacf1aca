"""A small but real training run: the 8x8 digits that ship with scikit-learn, 100 steps on one thread, with a guarantee."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset

from renyi.accountants import Guarantee
from renyi.errors import PrivacyError
from renyi.sampling.poisson.poisson import Poisson
from renyi.training.callbacks.moment import Moment
from renyi.training.planning.plan import Plan
from renyi.training.run import Run

TRAINING = 1437
"""Training images, of 1797; the others are for testing only."""

RATE = 0.5
"""Sampling rate: each step uses half of the images."""


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of the demonstration: the share of unseen digits that are recognised, and what it cost."""

    accuracy: float
    guarantee: Guarantee
    plan: Plan


class OwnScale(nn.Module):
    """Scales each image to mean 0 and deviation 1 on its own, so that no statistic of the dataset is needed."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The images, each on its own scale."""
        mean, deviation = images.mean((1, 2, 3), keepdim=True), images.std((1, 2, 3), keepdim=True)
        return (images - mean) / (deviation + 1e-3)


def plan() -> Plan:
    """The plan of the demonstration, chosen beforehand."""
    return Plan(
        sampling=Poisson(RATE),
        steps=100,
        clip=0.5,
        expected_batch=RATE * TRAINING,
        epsilon=3.0,
        delta=1e-4,
        unit="image",
    )


def train(journal: str | os.PathLike[str], callback: Callable[[Moment], object] | None = None) -> Trained:
    """Train a small convolutional network on the digits, in one run with its journal at this path."""
    training, testing = _digits()
    model = nn.Sequential(
        OwnScale(),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    with _one_thread(), Run(plan(), model, optimizer, losses, journal=journal, callback=callback) as run:
        for batch in run.batches(training, physical_batch=1024, rows_are_units=True):
            run.step(batch)
        answer = run.guarantee()
    images, digits = testing.tensors
    with torch.no_grad():
        right = model(images).argmax(1) == digits
    return Trained(float(right.float().mean()), answer, run.plan)


def losses(model: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """One loss per image."""
    images, digits = batch
    return nn.functional.cross_entropy(model(images), digits, reduction="none")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: the images are so small that a second costs more than it gains, above all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _digits() -> tuple[TensorDataset, TensorDataset]:
    """Training and test images, split by a fixed permutation."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise PrivacyError(
            "the digits come with scikit-learn: pip install 'renyi[training]', in a clone '.[training]'"
        ) from None
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = torch.tensor(digits.images[order] / 16.0, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target[order])
    return TensorDataset(images[:TRAINING], labels[:TRAINING]), TensorDataset(images[TRAINING:], labels[TRAINING:])
