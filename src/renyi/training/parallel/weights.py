"""The weights of a model as a run holds them: here all of them in every process; in ``shards`` a part in each."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import nn

from renyi.training.parallel.team import Team


class Part(NamedTuple):
    """What this process steps of a parameter: its clipped sums, and how many values of the whole are ahead of them."""

    sums: torch.Tensor
    first: int


class Weights:
    """Weights of which every process holds all: it steps the very tensors that it computes with."""

    def __init__(self, model: nn.Module, team: Team) -> None:
        self._model, self._team = model, team

    def parameters(self) -> dict[str, nn.Parameter]:
        """The parameters as the optimizer has them."""
        return dict(self._model.named_parameters())

    def trainable(self) -> dict[str, nn.Parameter]:
        """Those of them that are trained."""
        return {name: parameter for name, parameter in self.parameters().items() if parameter.requires_grad}

    def is_whole(self, name: str) -> bool:
        """Whether every process holds all values of this parameter."""
        return True

    def own(self, parameter: torch.Tensor) -> torch.Tensor:
        """The values of a parameter that this process holds."""
        return parameter

    def meeting(self) -> AbstractContextManager[None]:
        """Run the block; if what follows is done by all processes together, go on only if it succeeded in all of them."""
        return nullcontext()

    def gathered(self) -> AbstractContextManager[None]:
        """Within it the model computes with all of its weights."""
        return nullcontext()

    def expect_unwritten(self) -> None:
        """Raise if the gathered weights were written; those that are stepped are watched anyway."""

    def spread(self) -> None:
        """Give every process the leader's values of what all of them hold."""
        self._team.spread([*self._model.parameters(), *self._model.buffers()])

    def added_up(self, sums: Mapping[str, torch.Tensor]) -> dict[str, Part]:
        """The sums over all processes, of each parameter the part that this one steps."""
        self._team.add_up(list(sums.values()))
        return {name: Part(value, 0) for name, value in sums.items()}

    def gradient(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """The part of a gradient that this process steps, as its optimizer wants it."""
        return values

    def whole(self, values: dict[str, Any]) -> dict[str, Any]:
        """The state of a run, with all values of each tensor, however they are held."""
        return values

    def load(self, model: Mapping[str, Any], optimizer: torch.optim.Optimizer, values: dict[str, Any]) -> None:
        """Take these states of the model and of the optimizer, which have all values."""
        self._model.load_state_dict(model)
        optimizer.load_state_dict(values)
