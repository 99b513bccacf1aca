"""A forward pass in float64, whatever the precision of the model: what rounding causes goes away, what a leak causes stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from renyi.training.clipping.reading.book import in_place
from renyi.training.clipping.reading.composite import opened

NARROW = (torch.float32, torch.bfloat16, torch.float16)
NARROWING: set[Any] = {Tensor.float, Tensor.half, Tensor.bfloat16}


class InFloat64(TorchFunctionMode):
    """Gives every torch function its arguments in float64.

    The model itself is not converted, so nothing has to be put back, and autocast leaves float64 alone. Gradients arrive in the
    precision of the parameters.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one torch function in float64."""
        kwargs = kwargs or {}
        if func is torch.autograd.grad:
            with self:
                return opened(func)(*args, **kwargs)
        if func in NARROWING:
            func = Tensor.double
        if getattr(func, "__name__", "") == "__get__":  # a property; models ask for dtypes, and compare them
            found = func(*args, **kwargs)
            return _wide(found) if isinstance(found, torch.dtype) else found
        if in_place(func, kwargs):
            return func(*args, **kwargs)
        args, kwargs = tree_map(_wide, (args, kwargs))
        return tree_map(_wide, func(*args, **kwargs))


def _wide(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.double() if value.dtype in NARROW else value
    return torch.float64 if isinstance(value, torch.dtype) and value in NARROW else value
