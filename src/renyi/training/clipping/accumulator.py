"""The clipped sum of one draw, accumulated chunk by chunk, and its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import nn

from renyi.training.errors import TrainingError
from renyi.training.hiding.private import Private


@dataclass(frozen=True, slots=True)
class Statistics:
    """Private statistics of a step.

    No noise was added to them, so each value is shown only by ``reveal()``.
    """

    loss: Private[float]
    clipped: Private[float]
    drawn: Private[int]

    def backward(self, *_: object) -> NoReturn:
        """Refuse what a loss would be asked for."""
        raise TrainingError(
            "run.step(batch) returns statistics, not a loss, and has done everything already: gradients, clipping, noise and "
            "the optimizer's step. Take loss.backward(), optimizer.step() and optimizer.zero_grad() out of the loop."
        )


class Accumulator:
    """Sums over the chunks of one draw, in float32 on the parameters' devices."""

    def __init__(self, parameters: Mapping[str, nn.Parameter]) -> None:
        self._parameters = parameters
        self._sums: dict[str, torch.Tensor] = {}
        self._losses: list[torch.Tensor] = []
        self._inside: list[torch.Tensor] = []
        self._units = 0

    def add(self, sums: Any, units: int) -> None:
        """Add the clipped sums of one chunk."""
        for name, gradient in sums.gradients.items():
            held = self._sums.get(name)
            self._sums[name] = gradient if held is None else held.add_(gradient)
        self._losses.append(sums.losses.detach())
        self._inside.append(sums.inside.detach())
        self._units += units

    def sums(self) -> dict[str, torch.Tensor]:
        """The clipped sum of the draw; zero if nobody was drawn."""
        return {
            name: self._sums[name] if name in self._sums else torch.zeros_like(parameter, dtype=torch.float32)
            for name, parameter in self._parameters.items()
        }

    def halves(self) -> float:
        """The sum over units of +1/2 for those inside the bound and -1/2 for the others."""
        return sum(float(inside.sum()) for inside in self._inside) - 0.5 * self._units

    def statistics(self) -> Statistics:
        """The statistics of the draw, wrapped so that they are shown only on purpose."""
        losses, inside, units = tuple(self._losses), tuple(self._inside), self._units
        groups = inside[0].numel() if inside else 1
        return Statistics(
            loss=Private("loss", lambda: float(torch.cat(losses).float().mean()) if losses else float("nan")),
            clipped=Private(
                "clipped fraction",
                lambda: 1.0 - sum(float(i.sum()) for i in inside) / (groups * units) if units else float("nan"),
            ),
            drawn=Private("number of units drawn", lambda: units),
        )
