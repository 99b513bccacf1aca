"""Random stacks of layers, batches of changing size and length: a search for layouts that are taken for others."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from tests.training.clipping.reference import error, norms, per_unit, randomised, squared


def time_first(function):
    return lambda m, x: function(m, x.transpose(0, 1)).transpose(0, 1)


USES = {
    "linear": lambda m, x: torch.tanh(m.linear(x)),
    "linear, time first": time_first(lambda m, x: torch.relu_(m.linear(x)) + x),
    "linear, flattened": lambda m, x: m.linear(x.flatten(0, 1)).view_as(x),
    "linear, interleaved": time_first(lambda m, x: m.linear(x.flatten(0, 1)).view_as(x)),
    "linear, first token": lambda m, x: x + m.linear(x[:, 0]).unsqueeze(1),
    "linear, tied": lambda m, x: torch.tanh(m.linear(x)) @ m.linear.weight.T,
    "linear, recomputed": lambda m, x: checkpoint(lambda y: torch.tanh(m.linear(y)), x, use_reentrant=False),
    "norm": lambda m, x: m.norm(x),
    "attention": lambda m, x: m.attention(x, x, x)[0] + x,
    "attention, time first": time_first(lambda m, x: m.late(x, x, x)[0]),
    "attention, cross": lambda m, x: m.attention(x, x[:, :1], x[:, :1])[0] + x,
    "gru": time_first(lambda m, x: m.gru(x)[0]),
    "conv": lambda m, x: m.conv(x.transpose(1, 2)).transpose(1, 2),
    "positions": lambda m, x: x + m.places(torch.arange(x.shape[1])),
    "positions of every unit": lambda m, x: x * m.places(torch.arange(x.shape[1]).expand(len(x), -1)),
    "token": lambda m, x: torch.cat([m.token.expand(len(x), -1, -1), x], 1)[:, : x.shape[1]],
    "scale": lambda m, x: x * m.scale + m.token,
}


class Layer(nn.Module):
    def __init__(self, use):
        super().__init__()
        self.use = USES[use]
        self.linear, self.norm, self.gru = nn.Linear(8, 8), nn.LayerNorm(8), nn.GRU(8, 8)
        self.attention, self.late = nn.MultiheadAttention(8, 2, batch_first=True), nn.MultiheadAttention(8, 2)
        self.conv, self.places = nn.Conv1d(8, 8, 3, padding=1, groups=2), nn.Embedding(16, 8)
        self.token, self.scale = nn.Parameter(torch.zeros(1, 1, 8)), nn.Parameter(torch.zeros(8))

    def forward(self, x):
        return self.use(self, x)


def first_token(model, batch):
    return model(batch)[:, 0].square().mean(1)


def last_token(model, batch):
    return model(batch)[:, -1].square().mean(1)


@pytest.mark.parametrize("seed", range(40))
def test_random_stacks_agree_with_the_loop(seed):
    chance = random.Random(seed)
    torch.manual_seed(seed)
    layers = [Layer(chance.choice(list(USES))) for _ in range(chance.randint(1, 4))]
    again = layers[:1] if chance.random() < 0.3 else []
    model = randomised(nn.Sequential(*layers, *again), 0.4)
    losses = chance.choice([squared, first_token, last_token])
    clipper = Clipper(model, losses)
    for _ in range(4):
        units = chance.randint(1, 6)
        batch = torch.randn(units, chance.choice([units, 2 * units, chance.randint(1, 6)]), 8)
        gradients = per_unit(model, losses, batch)
        bound = float(norms(gradients).median()) * chance.choice([0.5, 1.1]) + 1e-6
        found = clipper.sums(batch, units, bound)
        assert error(found, gradients, ClipBounds.flat(gradients, bound), floor=0.1) < 1e-5
    assert clipper.method == "rules"
