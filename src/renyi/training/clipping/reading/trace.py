"""Whether a forward pass may have moved its rows, or done something new, judged by the functions it called.

A layout found by probing holds as long as the model does the same things. A trace of the functions and their sizes tells
whether it does. But a function that moves rows by an index between two uses of parameters may move them differently every time,
even if the trace is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_MOVING = (
    "sort argsort topk gather scatter scatter_ scatter_add scatter_add_ index_select index_add index_add_ index_copy "
    "index_copy_ index_put index_put_ take take_along_dim masked_select masked_scatter masked_scatter_ unique"
)
_ALONG_AXES = (
    "mean sum prod max min amax amin std var median norm vector_norm softmax log_softmax logsumexp sort argsort argmax "
    "argmin cumsum any all layer_norm"
)
# Functions that move rows by an index, as functions of torch and as methods.
MOVING: frozenset[Any] = frozenset(
    function
    for name in _MOVING.split()
    for home in (torch, Tensor)
    if (function := getattr(home, name, None)) is not None
)
# Functions whose whole numbers are axes and no sizes: over another axis they do something else.
ALONG_AXES = frozenset(_ALONG_AXES.split())
INDEXING: frozenset[Any] = frozenset({Tensor.__getitem__, Tensor.__setitem__})


class Trace:
    """The functions of one forward pass."""

    def __init__(self, units: int) -> None:
        self._units = units
        self._code = 0
        self._taps = 0
        self._moved = False
        self._called: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = []
        self.doubtful = False

    @property
    def operations(self) -> set[tuple[Any, ...]]:
        """What was called, on tensors of how many axes and with which options; sizes do not count."""
        return {(function, _without_sizes(plain), axes) for function, plain, axes in self._called}

    @property
    def key(self) -> int:
        """A hash, equal for passes that called the same functions with the same sizes, whatever the number of units."""
        return self._code

    def note(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record one function call."""
        plain = tuple(self._plain(value) for value in (*args, *kwargs.values()))
        self._code = hash((self._code, function, plain))
        along = getattr(function, "__name__", "") in ALONG_AXES
        axes = tuple(value for value in (*args, *kwargs.values()) if isinstance(value, int)) if along else ()
        self._called.append((function, plain, axes))
        if self._taps and (function in MOVING or (function in INDEXING and _by_tensor(args[1]))):
            self._moved = True

    def tapped(self) -> None:
        """Record one use of parameters; it is doubtful if rows were moved since an earlier use."""
        self._taps += 1
        self.doubtful |= self._moved

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return ("axes", value.dim())
        if isinstance(value, (tuple, list)):
            return tuple(self._plain(item) for item in value)
        if isinstance(value, int) and not isinstance(value, bool) and self._units > 1 and value:
            return ("units", value // self._units) if value % self._units == 0 else value
        if isinstance(value, slice):
            return tuple(self._plain(end) for end in (value.start, value.stop, value.step))
        return value if isinstance(value, (bool, str)) or value is Ellipsis else None


def _by_tensor(index: Any) -> bool:
    return isinstance(index, (Tensor, list)) or (isinstance(index, tuple) and any(_by_tensor(each) for each in index))


def _without_sizes(plain: tuple[Any, ...]) -> tuple[Any, ...]:
    """How many axes the tensors have, and the options; every whole number and every other tuple may be a size."""
    return tuple(value for value in plain if isinstance(value, (bool, str)) or _axes(value))


def _axes(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and value[0] == "axes"


class Recording(TorchFunctionMode):
    """Records what a forward pass calls, where no book does."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Record one function and run it."""
        self._trace.note(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))
