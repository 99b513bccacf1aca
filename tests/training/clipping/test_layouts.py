"""Units that change places after the layouts were found are noticed in the step in which they do."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from renyi.training.clipping.clipper import Clipper
from tests.training.clipping.reference import UNITS, squared


class Switching(nn.Module):
    """Works time-first from one step on: the shapes stay as they were."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)
        self.turned = False

    def forward(self, x):
        x = torch.tanh(self.first(x))
        return self.second(x.transpose(0, 1)).transpose(0, 1) if self.turned else self.second(x)


class Ordered(nn.Module):
    """Sorts the units, which at first are sorted already."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        order = x.sum((1, 2)).argsort(stable=True)
        return self.second(torch.tanh(self.first(x))[order])[order.argsort()]


def summed(model, batch, bound):
    return Clipper(model, squared).sums(batch, UNITS, bound).gradients


@pytest.mark.parametrize("step", [5, 6, 7])
def test_a_layout_that_changes_between_probes_is_noticed(step):
    torch.manual_seed(0)
    model, batch = Switching(), torch.randn(UNITS, UNITS, 8) * torch.linspace(0.1, 9, UNITS).view(-1, 1, 1)
    clipper = Clipper(model, squared)
    for _ in range(step):
        clipper.sums(batch, UNITS, 0.1)
    model.turned = True
    found, expected = clipper.sums(batch, UNITS, 0.1).gradients, summed(model, batch, 0.1)
    assert all(torch.allclose(g, expected[name], rtol=1e-4, atol=1e-7) for name, g in found.items())


def test_units_that_are_sorted_between_layers_are_followed_in_every_step():
    torch.manual_seed(0)
    batch = torch.randn(UNITS, 4, 8) * torch.linspace(0.1, 9, UNITS).view(-1, 1, 1)
    batch = batch[batch.sum((1, 2)).argsort()]
    model = Ordered()
    clipper = Clipper(model, squared)
    for _ in range(5):
        clipper.sums(batch, UNITS, 0.1)
    found, expected = clipper.sums(batch.flip(0), UNITS, 0.1).gradients, summed(model, batch, 0.1)
    assert all(torch.allclose(g, expected[name], rtol=1e-4, atol=1e-7) for name, g in found.items())


def test_an_index_in_the_loss_alone_costs_no_probe():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))

    def losses(model, batch):
        return -model(batch).log_softmax(1)[torch.arange(len(batch)), torch.zeros(len(batch), dtype=torch.long)]

    clipper = Clipper(model, losses)
    for units in (6, 6, 6, 6, 5, 7, 4):
        clipper.sums(torch.randn(units, 8), units, 0.1)
    assert clipper._memory.probed == 4
