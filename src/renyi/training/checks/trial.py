"""One run of model and losses on a few units from a given random state, and what it showed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from renyi.training.clipping.contract import one_per_unit
from renyi.training.clipping.rounding import SHARE, Rounding

FLOOR = 1e-2  # of the largest gradient: units with a smaller one are weighed as if theirs were as large

Losses = Callable[[nn.Module, Any], Tensor]


@dataclass(frozen=True, eq=False, slots=True)
class Seen:
    """Losses in float64, on the host; the gradient of their weighted sum, if it was asked for; whether torch drew numbers."""

    losses: Tensor
    gradient: list[Tensor] | None
    drew: bool

    def moved(self, other: Seen, places: Sequence[int], rounding: Rounding) -> list[int]:
        """The places at which the losses of another run of the same units differ by more than rounding."""
        beside = SHARE * float(self.losses.abs().nan_to_num(0, 0, 0).max())
        mask = rounding.moved(self.losses, other.losses, beside=beside)
        return [place for place in places if mask[place]]

    def turned(self, other: Seen, rounding: Rounding, *, length: float = 1.0) -> bool:
        """Whether the gradient of another run differs by more than rounding; `length` is that of one unit's, about."""
        if self.gradient is None or other.gradient is None:
            return False
        return rounding.turned(self.gradient, other.gradient, beside=SHARE * length)

    def numbers(self, place: int) -> tuple[float, float]:
        """The loss of the unit at this place, and the length of the gradient."""
        return float(self.losses[place]), self.length()

    def length(self) -> float:
        """The norm of the gradient, zero if there is none."""
        return float(torch.stack([part.norm() for part in self.gradient]).norm()) if self.gradient else 0.0


class Trial:
    """Runs the losses of a model. The caller keeps its random state."""

    def __init__(self, model: nn.Module, losses: Losses) -> None:
        self.model = model
        self._losses = losses
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self.device = self._parameters[0].device

    def run(self, batch: Any, units: int, seed: int, weights: Sequence[float] | None = None) -> Seen:
        """One run; with `weights`, also the gradient of the losses so weighted."""
        values, drew = self._forward(batch, units, seed)
        gradient = None if weights is None or not values.requires_grad else self._gradient(values, weights)
        return Seen(values.detach().cpu().double(), gradient, drew)

    def lengths(self, batch: Any, units: int, seed: int) -> list[float] | None:
        """The norm of every unit's gradient, by a loop over the losses; None if autograd does not get through."""
        values, _ = self._forward(batch, units, seed)
        lengths = []
        for unit in range(units):
            alone = [float(unit == each) for each in range(units)]
            gradient = self._gradient(values, alone, keep=True) if values.requires_grad else None
            if gradient is None:
                return None
            lengths.append(Seen(values, gradient, drew=False).length())
        return lengths

    def _forward(self, batch: Any, units: int, seed: int) -> tuple[Tensor, bool]:
        torch.manual_seed(seed)
        before = self._state()
        with torch.enable_grad():  # a loss may itself differentiate
            values = one_per_unit(self._losses(self.model, batch), units)
        return values, not all(torch.equal(one, other) for one, other in zip(before, self._state(), strict=True))

    def _state(self) -> list[Tensor]:
        """The random states that torch draws from on the host and on the model's device."""
        states = [torch.get_rng_state()]
        if self.device.type not in ("cpu", "meta"):
            states.append(torch.get_device_module(self.device).get_rng_state())
        return states

    def _gradient(self, values: Tensor, weights: Sequence[float], *, keep: bool = False) -> list[Tensor] | None:
        """The gradient of the weighted sum in float32; None if autograd refuses, which the clipping will say by name."""
        each = torch.tensor(weights, dtype=values.dtype, device=values.device)
        try:
            parts = torch.autograd.grad(values, self._parameters, each, retain_graph=keep, allow_unused=True)
        except RuntimeError:
            return None
        return [
            torch.zeros_like(p, dtype=torch.float32) if part is None else part.detach().float()
            for p, part in zip(self._parameters, parts, strict=True)
        ]


def weights(lengths: Sequence[float], signs: Sequence[float]) -> list[float]:
    """Weights that make every unit's gradient about as long as one, so that none hides behind a larger one.

    The gradient of the sum then stands for those of all units: were one of them another, so would be the sum, but for an
    accident of signs.
    """
    least = FLOOR * max((length for length in lengths if math.isfinite(length)), default=0.0)
    sizes = [length + least if length + least > 0 else 1.0 for length in lengths]
    return [sign / size if math.isfinite(size) else 0.0 for size, sign in zip(sizes, signs, strict=True)]
