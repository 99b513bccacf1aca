"""Taps on the outputs of calls: where their gradients are read off during the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor

from renyi.training.clipping.gradients import PerUnit, full_precision
from renyi.training.clipping.reading.layout import Layout, Place
from renyi.training.errors import ClippingError

Contribution = tuple[Tensor, PerUnit]


@dataclass(eq=False)
class Call:
    """One use of parameters: which parameters it read, and how its output's gradient becomes per-unit gradients of them.

    `axes` are the axes of the output along which units may lie. `contribute` turns the output's gradient into per-unit
    gradients; it holds the inputs, so it is dropped as soon as it has been called. An `optional` call read no data: if its
    output turns out not to be laid out by unit, the output is treated as a parameter in its own right.
    """

    key: tuple[Any, ...]
    owners: tuple[str, ...]
    shape: torch.Size
    axes: tuple[int, ...]
    contribute: Callable[[Tensor, Place], Iterable[Contribution]] | None
    optional: bool = False
    layout: Layout | None = None
    gradient: Tensor | None = None
    parts: list[Contribution] = field(default_factory=list)

    def settle(self, units: int) -> None:
        """Turn the gradient into contributions, and drop everything that they do not need."""
        assert self.layout is not None
        if self.gradient is not None and self.contribute is not None:
            with full_precision(self.gradient.device):
                self.parts = list(self.contribute(self.gradient, Place(self.layout, units)))
        self.gradient = self.contribute = None


@dataclass(eq=False)
class Backward:
    """What the taps do with the gradients that reach them."""

    units: int
    active: bool = False
    streaming: bool = True
    twice: bool = False

    def receive(self, call: Call, gradient: Tensor) -> None:
        """Take the gradient of a call's output, and process it at once if the layout is known.

        A loss may run a backward pass of its own, for instance to find an adversarial example. Its gradients are not ours to
        take; and a backward pass that is itself differentiated is beyond the rules.
        """
        self.twice |= torch.is_grad_enabled()
        if not self.active:
            return
        call.gradient = gradient.detach()
        if self.streaming and call.layout is not None:
            call.settle(self.units)


class Tap(torch.autograd.Function):
    """The identity, whose backward pass reports the gradient.

    The result shares memory with the input but is not a view of it, so that in-place functions such as `relu_` may follow. The
    anchor is the input that the backward pass is asked to differentiate: the way to it leads through every tap, and to no
    parameter.
    """

    @staticmethod
    def forward(ctx: Any, value: Tensor, anchor: Tensor, backward: Backward, call: Call) -> Tensor:
        """Pass the value on."""
        ctx.report = backward, call
        return cast(Tensor, torch.ops.aten._unsafe_view(value, value.shape))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """Report the gradient and pass it on."""
        backward, call = ctx.report
        backward.receive(call, gradient)
        return gradient, None, None, None


class Kept:
    """An input that a call will need again; like autograd, it notices if the tensor was changed in the meantime."""

    def __init__(self, tensor: Tensor, owner: str) -> None:
        self._tensor = tensor.detach()
        self._version = tensor._version
        self._owner = owner

    def value(self) -> Tensor:
        """The tensor, unchanged since the call."""
        if self._tensor._version != self._version:
            raise ClippingError(
                f"the input of {self._owner} was changed in place after it was used, so its gradient is lost. "
                "Use the out-of-place operation (for example relu instead of relu_) on that tensor."
            )
        return self._tensor
