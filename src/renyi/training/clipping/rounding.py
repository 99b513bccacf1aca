"""How much a loss or a gradient may differ, by rounding alone, between two runs that should agree.

Two batches of the same size go through the same kernels, so a unit's numbers come out the same to the bit, or nearly. In a
batch of another size other kernels sum in another order, which changes a few units in the last place of float32; a deep model
amplifies that to 1e-5 or so. In half precision (eight bits), and on devices that multiply float32 with ten bits, it is
percents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

SHARE = 1e-2
"""Share of the largest value nearby that is added to a value's own size, because the rounding of a sum is relative to its
largest terms."""

NEGLIGIBLE = 1e-30
"""Absolute difference that underflow may cause."""

HALF = (torch.bfloat16, torch.float16)
"""The dtypes of half precision."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """Relative differences in losses and in gradients that are attributed to rounding."""

    losses: float
    gradients: float

    def moved(self, before: Tensor, after: Tensor, *, beside: float) -> Tensor:
        """A mask of the values that differ by more; `beside` is the size of the values they were computed from or with."""
        allowed = self.losses * (before.abs().nan_to_num(0, 0, 0) + beside) + NEGLIGIBLE
        same = (before == after) | (before.isnan() & after.isnan())
        return ~(same | ((before - after).abs() <= allowed))

    def turned(self, before: Sequence[Tensor], after: Sequence[Tensor], *, beside: float) -> bool:
        """Whether the gradients of any parameter differ by more. Gradients that are not finite are not compared.

        Zero times infinity is not a number, so a unit whose activations overflow can spoil the gradients of the others.
        """
        return any(
            self.gradients * (float(one.norm()) + beside) + NEGLIGIBLE < float((one - other).norm()) < torch.inf
            for one, other in zip(before, after, strict=True)
        )


# Tolerances for batches of the same size and of different sizes, in float32 and in half precision. Smaller values would take
# rounding for a leak; larger ones would overlook a weak leak.
SAME_SIZE, SAME_SIZE_HALF = Rounding(1e-5, 1e-4), Rounding(2.0**-8, 2e-2)
OTHER_SIZE, OTHER_SIZE_HALF = Rounding(1e-4, 1e-3), Rounding(2e-2, 5e-2)


class Precision(TorchFunctionMode):
    """Finds out whether half precision is used: by a parameter or buffer, under autocast, or in the result of a function."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._kinds = {parameter.device.type for parameter in model.parameters()} - {"meta"}
        self.half = any(tensor.dtype in HALF for tensor in (*model.parameters(), *model.buffers()))

    def same_size(self) -> Rounding:
        """The tolerance for two batches of the same size."""
        return SAME_SIZE_HALF if self.half else SAME_SIZE

    def other_size(self, device: torch.device) -> Rounding:
        """The tolerance for batches of different sizes."""
        exact = device.type == "cpu" and torch.get_float32_matmul_precision() == "highest"
        return OTHER_SIZE if exact and not self.half else OTHER_SIZE_HALF

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one torch function, and look at the precision of its result."""
        output = func(*args, **(kwargs or {}))
        self.half |= any(torch.is_autocast_enabled(kind) for kind in self._kinds)
        self.half |= any(isinstance(leaf, Tensor) and leaf.dtype in HALF for leaf in tree_leaves(output))
        return output
