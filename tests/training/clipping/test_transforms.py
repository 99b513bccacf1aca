"""Models and losses that transform or differentiate on their own, and hooks on gradients."""

from __future__ import annotations

import pytest
import torch
from torch import func, nn
from torch.autograd import forward_ad

from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import ClippingError, LeakError
from tests.training.clipping.reference import UNITS, agrees, randomised, squared


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class Mapped(Two):
    def forward(self, x):
        return torch.vmap(super().forward)(x)


class MappedOverTime(Two):
    def forward(self, x):
        return torch.vmap(super().forward, in_dims=1, out_dims=1)(x.unsqueeze(1))


class Adapted(Two):
    """One step of gradient descent for every unit by itself, and then the layer so adapted."""

    def forward(self, x):
        weights = dict(self.first.named_parameters())

        def loss(weights, row):
            return func.functional_call(self.first, weights, (row,)).square().sum()

        def adapted(row):
            steps = func.grad(loss)(weights, row)
            moved = {name: value - 0.1 * steps[name] for name, value in weights.items()}
            return self.second(func.functional_call(self.first, moved, (row,)))

        return torch.vmap(adapted)(x)


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.Parameter(torch.randn(3, 8, 5))

    def forward(self, x):
        return torch.vmap(lambda member: x @ member, out_dims=1)(self.members)


def slopes(model, batch):
    return torch.vmap(func.jacrev(model))(batch).flatten(1).square().mean(1)


def curvatures(model, batch):
    return torch.stack([func.hessian(lambda row: model(row).sum())(row).square().sum() for row in batch])


def tangents(model, batch):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(batch, torch.ones_like(batch))
        return forward_ad.unpack_dual(model(dual)).tangent.flatten(1).square().mean(1)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch itself, on the first tangent
@pytest.mark.parametrize(
    ("kind", "losses"),
    [
        *((kind, squared) for kind in (Mapped, MappedOverTime, Adapted, Ensemble)),
        *((Two, losses) for losses in (slopes, curvatures, tangents)),
    ],
    ids=lambda value: value.__name__,
)
def test_transforms_are_right_by_the_fallback(kind, losses):
    torch.manual_seed(0)
    model, batch = randomised(kind()), torch.randn(UNITS, 8)
    clipper = agrees(model, batch, losses, booked=False)
    clipper.check(batch, UNITS, 1.0)
    Clipper(model, losses).check(batch, UNITS, 1.0)


@pytest.mark.parametrize("hook", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_on_parameters_are_refused_by_name(hook):
    model, batch = Two(), torch.randn(UNITS, 8)
    clipper = Clipper(model, squared)
    handle = getattr(model.second.weight, hook)(lambda _: None)
    for call in (clipper.sums, clipper.check):
        with pytest.raises(ClippingError, match=r"second\.weight has a gradient hook .*register_full_backward_hook"):
            call(batch, UNITS, 1.0)
    handle.remove()
    clipper.sums(batch, UNITS, 1.0)


def test_hooks_on_modules_are_honoured():
    torch.manual_seed(0)
    model, batch = randomised(Two()), torch.randn(UNITS, 8)
    model.second.register_full_backward_hook(lambda module, inner, outer: tuple(3 * part for part in inner))
    agrees(model, batch).check(batch, UNITS, 1.0)


def test_a_hook_that_mixes_units_is_found():
    model, batch = Two(), torch.randn(UNITS, 8)
    model.second.register_full_backward_hook(lambda module, inner, outer: tuple(part + part.mean(0) for part in inner))
    with pytest.raises(LeakError, match="a backward pass that mixes units"):
        Clipper(model, squared).check(batch, UNITS, 1.0)
