"""Per-unit gradients of an arbitrary model: the whole model mapped over units, or a loop over them.

Each unit is then alone in its batch, so nothing needs to be known about where the units lie inside the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from renyi.training.clipping.batches import Rebuild, split
from renyi.training.clipping.contract import one_per_unit
from renyi.training.clipping.gradients import Dense, PerUnit

MOST_HELD = 1 << 24
"""Floats of per-unit gradients held at a time: 64 MB."""

Losses = Callable[[nn.Module, Any], Tensor]
Part = tuple[Tensor, dict[str, PerUnit]]


class Fallback:
    """Maps the model over units until that fails once, and loops from then on."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.maps = True

    def gradients(
        self, batch: Any, units: int, parameters: Mapping[str, nn.Parameter], losses: Losses
    ) -> Iterator[Part]:
        """Losses and gradients, a few units at a time."""
        whole = _Whole(self._model, losses)
        columns, rebuild = split(batch, units)
        self.maps &= all(isinstance(column, Tensor) for column in columns)
        step = max(1, MOST_HELD // sum(p.numel() for p in parameters.values())) if self.maps else 1
        for start in range(0, units, step):
            chunk: list[Any] = [column[start : start + step] for column in columns]
            if self.maps:
                try:
                    yield _mapped(whole, chunk, rebuild, parameters)
                    continue
                except Exception:
                    # Whatever cannot be mapped can be looped over; an error of the model itself is raised again there.
                    self.maps = False
            for unit in range(len(chunk[0])):
                yield _alone(whole, rebuild([column[unit : unit + 1] for column in chunk]), parameters)


class _Whole(nn.Module):
    """The model and its losses as one module, for torch.func."""

    def __init__(self, model: nn.Module, losses: Losses) -> None:
        super().__init__()
        self.model = model
        self._losses = losses

    def forward(self, batch: Any) -> Tensor:
        return self._losses(self.model, batch)


def _mapped(whole: nn.Module, chunk: list[Tensor], rebuild: Rebuild, parameters: Mapping[str, nn.Parameter]) -> Part:
    def loss(values: dict[str, Tensor], parts: list[Tensor]) -> tuple[Tensor, Tensor]:
        batch = rebuild([part.unsqueeze(0) for part in parts])
        (value,) = torch.func.functional_call(whole, values, (batch,))
        return value, value.detach()

    values = {f"model.{name}": p.detach() for name, p in parameters.items()}
    each = torch.vmap(torch.func.grad(loss, has_aux=True), in_dims=(None, 0), randomness="different")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about functions that are slow to map, which is known here
        gradients, losses = each(values, chunk)
    with torch._C.DisableTorchFunction():  # float32 even where a comparison runs the model in float64
        return losses, {name.removeprefix("model."): Dense(value.float()) for name, value in gradients.items()}


def _alone(whole: nn.Module, batch: Any, parameters: Mapping[str, nn.Parameter]) -> Part:
    with torch.enable_grad():
        losses = one_per_unit(whole(batch), 1)
    values = torch.autograd.grad(losses.sum(), list(parameters.values()), allow_unused=True)
    with torch._C.DisableTorchFunction():
        forms: dict[str, PerUnit] = {
            name: Dense(value.float().unsqueeze(0))
            for name, value in zip(parameters, values, strict=True)
            if value is not None
        }
    return losses.detach(), forms
