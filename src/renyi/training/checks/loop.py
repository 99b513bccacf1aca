"""Per-unit gradients by a plain loop, beside those that the clipping found: one unit at a time, so that few are held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from renyi.training.checks.comparison import Comparison, Losses, Seen, Setting
from renyi.training.clipping.contract import one_per_unit
from renyi.training.clipping.gradients import PerUnit, norm2

Measure = Callable[[Any, int, Losses], Iterator[tuple[Tensor, dict[str, PerUnit]]]]
"""How the clipping finds losses and per-unit gradients of a batch, of all its units or a few at a time."""

DISAGREES, DISAGREES_ROUGHLY = 1e-3, 5e-2
"""Relative errors that the comparison with a loop forgives in float32, and where half precision is involved."""

NEGLIGIBLE = 1e-14
"""A difference of norms that no clip bound notices: bounds start at 1e-12. Clipping adds to its norms what underflow may have
lost, so that the norm it finds of a gradient that is zero is not: 1e-14 for a parameter of eight billion numbers."""


class Loop:
    """The gradients of the units of one forward pass, by one backward pass for each."""

    def __init__(self, comparison: Comparison, batch: Any, units: int, seed: int, *, wide: bool = False) -> None:
        self._comparison, self._batch, self._units = comparison, batch, units
        self._seed, self._wide = seed, wide
        self.disagreeing: str | None = None
        self.worst = 0.0
        self.norms: list[float] = []  # of the gradient that was seen last

    def compared_with(self, measure: Measure) -> Iterator[Seen]:
        """The units of one forward pass, one after the other; afterwards ``disagreeing`` names a parameter, if any does."""
        comparison, names = self._comparison, list(self._comparison.parameters)
        norms, sums = self._found(measure)
        lengths = {name: torch.zeros_like(norms[name]) for name in names}
        for unit, seen in enumerate(self._units_one_by_one()):
            if seen.gradient is None:
                yield seen
                return  # the clipping says by name why autograd does not get through
            self.norms = seen.norms()
            for name, norm, part in zip(names, self.norms, seen.gradient, strict=True):
                lengths[name][unit] = norm
                sums[name].sub_(part, alpha=_weight(unit))
            yield seen
        allowed = DISAGREES_ROUGHLY if comparison.rough and not self._wide else DISAGREES
        overall = torch.stack([each.cpu() for each in lengths.values()]).norm(dim=0)
        for name in names:
            found, true = norms[name].cpu(), lengths[name].cpu()
            scale = (true + 1e-2 * overall).nan_to_num(0, 0, 0) + NEGLIGIBLE / allowed
            off = float(
                ((found - true).abs().nan_to_num(0, 0, 0) / scale).max()
            )  # units that are not finite are left out
            off = max(off, float(sums[name].nan_to_num(0, 0, 0).norm()) / float(scale.norm()))
            self.worst = max(self.worst, off)
            if off > allowed and self.disagreeing is None:
                self.disagreeing = name

    def _found(self, measure: Measure) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """For every parameter the norms that the clipping finds, and the sum with weights 1, 1/2, 1/3, ..."""
        comparison, parameters = self._comparison, self._comparison.parameters
        norms = {name: torch.zeros(self._units, device=p.device) for name, p in parameters.items()}
        sums = {name: torch.zeros_like(p, dtype=torch.float32) for name, p in parameters.items()}
        start = 0
        with comparison.controlled(wide=self._wide):
            for values, forms in measure(self._batch, self._units, comparison.losses(self._seed)):
                with torch.no_grad(), torch._C.DisableTorchFunction():
                    for name in list(forms):
                        form = forms.pop(name)
                        weights = torch.tensor([_weight(start + unit) for unit in range(len(values))])
                        norms[name][start : start + len(values)] = norm2(form).sqrt()
                        sums[name] += form.weighted(weights.to(sums[name])).view(sums[name].shape)
                start += len(values)
        return norms, sums

    def _units_one_by_one(self) -> Iterator[Seen]:
        comparison, units = self._comparison, self._units
        with comparison.controlled(wide=self._wide), torch.enable_grad():
            values = one_per_unit(comparison.losses(self._seed)(comparison.model, self._batch), units)
        losses = values.detach().double().cpu()
        for unit in range(units):
            with comparison.controlled(wide=self._wide):  # checkpointing runs parts of the model again
                gradient = comparison.gradient(values, _one_hot(values, unit), keep=unit + 1 < units)
            yield Seen(Setting(self._batch, units, (unit,), (1.0,)), losses[unit : unit + 1], gradient, self._seed)


def _one_hot(values: Tensor, unit: int) -> Tensor:
    weights = torch.zeros_like(values)
    weights[unit] = 1
    return weights


def _weight(unit: int) -> float:
    return 1 / (1 + unit)
