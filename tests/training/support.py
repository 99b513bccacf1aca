"""A small model, its data and its plan, for tests of the run around it."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import TensorDataset

from renyi import Poisson
from renyi.training import Plan, Run

PEOPLE = 60


def dataset(people: int = PEOPLE) -> TensorDataset:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(people, 4, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long())


def model() -> nn.Module:
    made = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    with torch.no_grad():
        for number, parameter in enumerate(made.parameters()):
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape) / (number + 1))
    return made


def losses(net, batch):
    x, y = batch
    return nn.functional.cross_entropy(net(x), y, reduction="none")


def plan(**changes) -> Plan:
    values = {
        "sampling": Poisson(0.3),
        "steps": 6,
        "clip": 1.0,
        "expected_batch": 18,
        "noise_multiplier": 1.0,
        "delta": 1e-5,
    }
    return Plan(**(values | changes))


def run(
    tmp_path, *, net=None, optimizer=None, keys=None, name="run.jsonl", callback=None, loss=losses, **changes
) -> Run:
    net = model() if net is None else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1) if optimizer is None else optimizer
    made = Run(plan(**changes), net, optimizer, loss, journal=tmp_path / name, keys=keys, callback=callback)
    made.net, made.sgd = net, optimizer
    return made


def train(made, data=None, *, steps=None, physical_batch=7):
    for batch in made.batches(dataset() if data is None else data, physical_batch=physical_batch, steps=steps):
        made.step(batch)
    return made


def weights(net) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten().clone() for parameter in net.parameters()])
