"""Clip factors: from per-unit gradients to their clipped sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from renyi.training.clipping import gram
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.gradients import PerUnit, full_precision

LARGEST = torch.finfo(torch.float32).max
"""Largest norm that counts as finite: a gradient with a larger one cannot be held in float32."""

SMALLEST = torch.finfo(torch.float32).tiny
"""Smallest clip factor; a smaller one would be subnormal and rounded coarsely, so it becomes 0."""

SHAVE = {torch.float64: 1 - 2.0**-20, torch.float32: 1 - 2.0**-16}
"""Factor on the bound that covers the rounding of a norm summed in this dtype, so that no clipped gradient exceeds its
bound."""


@dataclass(frozen=True)
class ClippedSums:
    """The contribution of a batch to a step, all of it private until noise has been added.

    `gradients` has, for every trainable parameter, the sum over units of clip factor times gradient, in float32;
    `inside`, for every group of the bounds, the number of units whose norm was within the bound; `losses`, the loss of
    every unit.
    """

    gradients: dict[str, Tensor]
    inside: Tensor
    losses: Tensor

    def __add__(self, other: ClippedSums) -> ClippedSums:
        """The sums over two batches together."""
        return ClippedSums(
            {name: total + other.gradients[name] for name, total in self.gradients.items()},
            self.inside + other.inside,
            torch.cat([self.losses, other.losses]),
        )


def nothing(parameters: Mapping[str, nn.Parameter], bounds: ClipBounds) -> ClippedSums:
    """The sums over an empty batch."""
    device = next(iter(parameters.values())).device
    return ClippedSums(
        {name: torch.zeros(p.shape, dtype=torch.float32, device=p.device) for name, p in parameters.items()},
        torch.zeros(len(bounds.groups), dtype=torch.float32, device=device),
        torch.zeros(0, dtype=torch.float32, device=device),
    )


def clipped(
    forms: dict[str, PerUnit], losses: Tensor, bounds: ClipBounds, parameters: Mapping[str, nn.Parameter]
) -> ClippedSums:
    """Clip every unit's gradient, group by group, and sum. Removes entries from ``forms`` as it goes, to free their memory.

    A unit whose norm is not finite is left out entirely: its factor would be zero, but zero times infinity is not zero.
    """
    device = losses.device
    with full_precision(device):
        norms = _norms(forms, bounds, losses)
        finite = (norms <= LARGEST).all(0)
        damaged = False
        # This is the only place where the host waits for the device.
        if not losses.is_meta and not bool(finite.all()):
            # Infinite may only mean "in doubt": those units are measured again in float64.
            units = (~finite).nonzero().flatten()
            norms[:, units] = _norms(
                {n: form.pick(units.to(parameters[n].device)) for n, form in forms.items()},
                bounds,
                losses[units],
                wide=True,
            )
            finite = (norms <= LARGEST).all(0)
            damaged = not bool(finite.all())
        limits = torch.tensor([[bound] for _, bound in bounds.groups], dtype=norms.dtype, device=device)
        # min(1, bound/norm), a little less for rounding; units without a finite norm get 0.
        factors = torch.where(finite, (limits * SHAVE[norms.dtype] / norms).clamp(max=1), 0.0)
        factors = torch.where(factors < SMALLEST, 0.0, factors).float()
        gradients = {}
        for (names, _), factor in zip(bounds.groups, factors, strict=True):
            for name in names:
                shape, home = parameters[name].shape, parameters[name].device
                form = forms.pop(name, None)
                if form is None:
                    gradients[name] = torch.zeros(shape, dtype=torch.float32, device=home)
                    continue
                if damaged:
                    form = form.only(finite.to(home))
                gradients[name] = form.weighted(factor.to(home)).view(shape)
    return ClippedSums(gradients, ((norms <= limits) & finite).sum(1).float(), losses.detach().float())


def _norms(forms: Mapping[str, PerUnit], bounds: ClipBounds, losses: Tensor, *, wide: bool = False) -> Tensor:
    """The norm of each unit's gradient in each group, (groups, units), in the widest dtype of the losses' device."""
    device = losses.device
    home = gram.home(device) if wide else device
    nothing = torch.zeros(losses.shape, dtype=gram.widest(home), device=home)
    squares = [
        sum((forms[name].norm2(wide=wide).to(home) for name in names if name in forms), nothing)
        for names, _ in bounds.groups
    ]
    return torch.stack(squares).sqrt().to(gram.widest(device)).to(device)
