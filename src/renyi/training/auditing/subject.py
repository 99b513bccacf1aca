"""What is trained in a trial: a probe of our own on data that nobody is in, or somebody's model with an example inserted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.data import ConcatDataset, Dataset, Subset

from renyi.errors import InvalidInput, UnsupportedError
from renyi.laws.relation import Adjacency
from renyi.training.clipping.contract import one_per_unit
from renyi.training.planning.clip import LayerClip
from renyi.training.planning.plan import Plan

LENGTH = 4.0
"""Norm of a probe's canary in clip bounds: any above 1 shows whether it is clipped at all."""


class Taken(torch.optim.Optimizer):
    """An optimizer that keeps the gradient it is given and leaves the weights, so that every trial begins at the same ones."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        super().__init__(parameters, {})
        self.gradients: list[torch.Tensor] = []

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Keep what was released."""
        self.gradients = [
            parameter.grad.detach().clone()
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]


class Subject(Protocol):
    """A model and its data with and without the canary; how to read a release in its direction."""

    @property
    def model(self) -> nn.Module:
        """What is trained."""
        ...

    @property
    def losses(self) -> Callable[[nn.Module, Any], torch.Tensor]:
        """One loss per unit."""
        ...

    @property
    def made_up(self) -> bool:
        """Whether nobody is in the data."""
        ...

    @property
    def alternates(self) -> bool:
        """Whether the canary's gradient changes its sign from one step to the next."""
        ...

    @property
    def collate(self) -> Callable[[list[Any]], Any] | None:
        """What makes a batch of examples; None for torch's default."""
        ...

    def data(self, *, there: bool) -> Any:
        """The dataset with the canary, or its neighbour without."""
        ...

    def turned(self, sign: float, bound: float) -> None:
        """Before a step: the sign of the canary's gradient, where it alternates, and the clip bound."""
        ...

    def read(self, gradients: Sequence[torch.Tensor]) -> float:
        """The released gradient along that of the canary, whose norm is taken to be 1."""
        ...


class Probe:
    """A model whose gradient is the example itself: the canary is a gradient in one direction (Dirac), ``LENGTH`` bounds long.

    There is a parameter for each part of the model that has a bound of its own. ``others`` examples have the opposite gradient,
    as long.
    """

    made_up = True
    collate = None

    def __init__(self, plan: Plan, *, others: int = 0, alternates: bool = True) -> None:
        clip = plan.clip
        bounds = clip.bounds if isinstance(clip, LayerClip) else (("probe", clip.bound),)
        self.model = nn.Module()
        for name, _ in bounds:
            _inside(self.model, name).register_parameter("canary", nn.Parameter(torch.zeros(1)))
        self.alternates = alternates
        self._names = [f"{name}.canary" for name, _ in bounds]
        self._shape = torch.tensor([bound / clip.bound for _, bound in bounds])
        self._others, self._adjacency = others, plan.adjacency
        self._sign, self._bound = 1.0, clip.bound

    def losses(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        """Linear in the parameters, so that the gradient of each unit is its row."""
        held = dict(model.named_parameters())
        rows = [batch[:, place : place + 1] * held[name] for place, name in enumerate(self._names)]
        return (rows[0] if len(rows) == 1 else torch.cat(rows, 1)).sum(1)

    def data(self, *, there: bool) -> Dataset[torch.Tensor]:
        """The others, and the canary; where neighbours have equally many records, another in its place."""
        missing = {Adjacency.ADD_OR_REMOVE: None, Adjacency.ZERO_OUT: 0.0, Adjacency.REPLACE_ONE: -1.0}[self._adjacency]
        return _Stage(self, self._others, 1.0 if there else missing)

    def turned(self, sign: float, bound: float) -> None:
        """Scale and turn the gradients of all examples."""
        self._sign, self._bound = sign, bound

    def example(self, share: float) -> torch.Tensor:
        """A gradient, in lengths of the canary as it is now."""
        return self._shape * (share * self._sign * LENGTH * self._bound)

    def read(self, gradients: Sequence[torch.Tensor]) -> float:
        """The release along the canary, times its sign."""
        along = sum(float(gradient) * share for gradient, share in zip(gradients, self._shape.tolist(), strict=True))
        return self._sign * float(along)


class _Stage(Dataset[torch.Tensor]):
    """The examples of a probe as its steps want them; the last is the canary, or what stands for it."""

    def __init__(self, probe: Probe, others: int, last: float | None) -> None:
        self._probe, self._others, self._last = probe, others, last

    def __len__(self) -> int:
        return self._others + (self._last is not None)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self._probe.example(-1.0 if index < self._others or self._last is None else self._last)


class Inserted:
    """Somebody's model and data, and an example that is inserted or not: the last of ``canary``, a dataset of one.

    ``made_up`` says that nobody is in the data. Then trials cost nothing. Otherwise each of them is a release.
    """

    model: nn.Module
    losses: Callable[[nn.Module, Any], torch.Tensor]
    made_up: bool
    collate: Callable[[list[Any]], Any] | None
    alternates: bool

    def __init__(
        self,
        model: nn.Module,
        losses: Callable[[nn.Module, Any], torch.Tensor],
        data: Any,
        canary: Any,
        *,
        made_up: bool,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        if not isinstance(made_up, bool):
            raise InvalidInput(
                f"made_up says whether nobody is in the data: True or False; got {made_up!r}. Trials on data of real people "
                "are releases, which cost like any other."
            )
        if len(canary) != 1:
            raise InvalidInput(f"a canary is a dataset of one example; got {len(canary)}.")
        self.model, self.losses, self.made_up, self.alternates = model, losses, made_up, False
        self._data, self._canary = data, canary
        batch = (collate or torch.utils.data.default_collate)([canary[0]])
        self.collate = collate
        self._direction = self._gradient(batch)

    def data(self, *, there: bool) -> Any:
        """The data that were given, with the example or without."""
        return ConcatDataset([self._data, self._canary if there else Subset(self._canary, [])])

    def turned(self, sign: float, bound: float) -> None:
        """Nothing: an example has the gradient that it has."""

    def read(self, gradients: Sequence[torch.Tensor]) -> float:
        """The release along the example's own gradient."""
        return sum(float((gradient * part).sum()) for gradient, part in zip(gradients, self._direction, strict=True))

    def _gradient(self, batch: Any) -> list[torch.Tensor]:
        """The canary's own gradient at the weights as they are, scaled to norm 1."""
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        with torch.enable_grad():
            loss = one_per_unit(self.losses(self.model, batch), 1).sum()
            found = torch.autograd.grad(loss, trained, allow_unused=True)
        parts = [
            torch.zeros_like(parameter) if part is None else part
            for parameter, part in zip(trained, found, strict=True)
        ]
        norm = float(torch.sqrt(sum((part.double().square().sum() for part in parts), torch.zeros(()).double())))
        if not norm > 0.0 or norm == float("inf"):
            raise InvalidInput("the canary's gradient is zero or not finite at these weights: it would show nothing.")
        return [part / norm for part in parts]


def _inside(model: nn.Module, name: str) -> nn.Module:
    """The module of this dotted name, made if it is not there."""
    for part in name.split("."):
        if part not in dict(model.named_children()):
            model.add_module(part, nn.Module())
        model = model.get_submodule(part)
    return model


def expect_supported(plan: Plan, subject: object) -> None:
    """Refuse an inserted example where neighbours have equally many records: what would stand in its place?"""
    if isinstance(subject, Inserted) and plan.adjacency is not Adjacency.ADD_OR_REMOVE:
        raise UnsupportedError(
            f"an inserted example is there or not, which makes add-or-remove neighbours; the plan promises for "
            f"{plan.adjacency.value} ones. Audit it with the probe: audit(plan)."
        )
