"""Per-unit gradients by the plainest loop, in float64, and comparisons with them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from renyi.training.clipping.factors import ClippedSums

UNITS = 6
Losses = Callable[[nn.Module, Any], Tensor]


def squared(model: nn.Module, batch: Any) -> Tensor:
    """A loss for any output: the mean square over each unit's own axes."""
    return model(batch).flatten(1).square().mean(1)


def randomised(model: nn.Module, std: float = 0.5) -> nn.Module:
    """The model with no parameter left at zero or one."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape) * std)
    return model


def per_unit(model: nn.Module, losses: Losses, batch: Tensor, *, double: bool = True) -> dict[str, Tensor]:
    """Every trainable parameter's gradients, units first, each from a batch of its own."""
    if double:
        model, batch = copy.deepcopy(model).double(), batch.double() if batch.is_floating_point() else batch
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    rows = []
    for unit in range(len(batch)):
        value = losses(model, batch[unit : unit + 1]).sum()
        gradients = torch.autograd.grad(value, list(parameters.values()), allow_unused=True)
        rows.append(
            [torch.zeros_like(p) if g is None else g for p, g in zip(parameters.values(), gradients, strict=True)]
        )
    return {
        name: torch.stack(column).double() for name, column in zip(parameters, zip(*rows, strict=True), strict=True)
    }


def norms(gradients: dict[str, Tensor]) -> Tensor:
    """The norm of each unit's whole gradient."""
    return torch.stack([g.reshape(len(g), -1).norm(dim=1) for g in gradients.values()]).norm(dim=0)


def between(lengths: Tensor) -> float:
    """A bound halfway between the two middle norms: it clips half of the units."""
    return float(lengths.sort().values[len(lengths) // 2 - 1 : len(lengths) // 2 + 1].mean())


def error(found: ClippedSums, gradients: dict[str, Tensor], bounds: ClipBounds, *, floor: float = 1e-4) -> float:
    """The largest difference of a clipped sum from the loop's, relative to its terms (or to all of them, when it is tiny)."""
    worst = 0.0
    for names, bound in bounds.groups:
        lengths = norms({name: gradients[name] for name in names})
        factors = (bound / lengths).clamp(max=1)
        overall = float((factors * lengths).sum())
        for name in names:
            terms = gradients[name] * factors.view(-1, *(1,) * (gradients[name].dim() - 1))
            scale = float(terms.reshape(len(terms), -1).norm(dim=1).sum()) + floor * overall + 1e-12
            worst = max(worst, float((found.gradients[name] - terms.sum(0)).norm()) / scale)
    return worst


def agrees(
    model: nn.Module, batch: Tensor, losses: Losses = squared, *, booked: bool = True, tolerance: float = 1e-5
) -> Clipper:
    """Assert that the first and a later step agree with the loop, at a bound that clips about half of the units."""
    gradients = per_unit(model, losses, batch)
    lengths = norms(gradients)
    bound = between(lengths)
    clipper = Clipper(model, losses)
    bounds = ClipBounds.flat(clipper.parameters, bound)
    for _ in range(3):
        found = clipper.sums(batch, len(batch), bound)
        assert error(found, gradients, bounds) < tolerance
        assert int(found.inside) == int((lengths <= bound).sum())
    assert (clipper._fallback is None) is booked
    each_within_its_bound(clipper, batch, bound)
    alone = clipper.sums(batch[:1], 1, bound)
    assert error(alone, {name: g[:1] for name, g in gradients.items()}, bounds) < tolerance
    return clipper


def each_within_its_bound(clipper: Clipper, batch: Tensor, bound: float) -> None:
    """Assert that no unit's clipped gradient exceeds the bound by more than 2^-20."""
    for unit in range(len(batch)):
        found = clipper.sums(batch[unit : unit + 1], 1, bound)
        total = torch.stack([g.double().norm() for g in found.gradients.values()]).norm()
        assert float(total) <= bound * (1 + 2**-20)
