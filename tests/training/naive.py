"""A DP-SGD engine as one would write it in an afternoon: the loss of the batch, a loop over its units, clip, add up.

It is right for well-behaved models. The trap tests plant one mistake at a time and measure what it does, against the
one thing that clipping promises: taking one unit away moves the sum by at most the bound.
"""

from __future__ import annotations

import torch
from torch import nn

from renyi import Poisson
from renyi.training import Plan, Run
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper

BOUND = 1.0
WITHIN = BOUND * (1 + 2**-20) + 1e-5  # float32 sums of a few units


def flat(gradients) -> torch.Tensor:
    return torch.cat([gradient.flatten().float() for gradient in gradients])


def per_unit(net, loss, batch) -> list[torch.Tensor]:
    """The gradient of every unit's loss, the batch having gone through the model as a whole."""
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    values = loss(net, batch)
    return [
        flat(torch.autograd.grad(value, parameters, retain_graph=True, allow_unused=True, materialize_grads=True))
        for value in values
    ]


def clipped(gradient: torch.Tensor, norm: torch.Tensor | None = None) -> torch.Tensor:
    norm = gradient.norm() if norm is None else norm
    return gradient * min(1.0, BOUND / max(float(norm), 1e-30))


def naive_sum(net, loss, batch) -> torch.Tensor:
    return sum((clipped(gradient) for gradient in per_unit(net, loss, batch)), start=torch.zeros(1))


def without_first(batch):
    return tuple(part[1:] for part in batch)


def influence(total, batch) -> float:
    """How far the sum moves when the first unit is taken away."""
    return float((total(batch) - total(without_first(batch))).norm())


def our_sum(net, loss, batch, bound=BOUND) -> torch.Tensor:
    """The clipped sum of our engine."""
    clipper = Clipper(net, loss)
    sums = clipper.sums(batch, len(batch[0]), ClipBounds.flat(clipper.parameters, bound))
    clipper.close()
    return flat(sums.gradients[name] for name in clipper.parameters)


def released(
    tmp_path, make, loss, data, *, name="run.jsonl", keys=None, bound=BOUND, batches=None, **changes
) -> torch.Tensor:
    """What one release of a run adds to the weights, with everybody drawn and no noise: its clipped sum."""
    net = make()
    values = {
        "sampling": Poisson(1.0),
        "steps": 1,
        "clip": bound,
        "expected_batch": 1,
        "noise_multiplier": 0.0,
        "delta": 1e-5,
    }
    before = flat(parameter.detach().clone() for parameter in net.parameters())
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    with Run(Plan(**(values | changes)), net, optimizer, loss, journal=tmp_path / name, keys=keys) as run:
        for batch in run.batches(data, **(batches or {})):
            run.step(batch)
    return before - flat(parameter.detach() for parameter in net.parameters())


def linear(inputs=4, outputs=2, *, bias=True):
    """The same weights every time."""

    def make():
        net = nn.Linear(inputs, outputs, bias=bias)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape))
        return net

    return make
