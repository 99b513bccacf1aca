"""Whether a forward pass may have moved its rows, judged by the functions it called.

A layout found by probing holds as long as the model does the same things. A trace of the functions and their sizes tells
whether it does. But a function that moves rows by an index between two uses of parameters may move them differently every time,
even if the trace is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_MOVING = [
    *("sort", "argsort", "topk", "gather", "scatter"),
    *("scatter_", "scatter_add", "scatter_add_", "index_select", "index_add"),
    *("index_add_", "index_copy", "index_copy_", "index_put", "index_put_"),
    *("take", "take_along_dim", "masked_select", "masked_scatter", "masked_scatter_"),
    *("unique",),
]
# Functions that move rows by an index, as functions of torch and as methods.
MOVING: frozenset[Any] = frozenset(
    function for name in _MOVING for home in (torch, Tensor) if (function := getattr(home, name, None)) is not None
)
INDEXING: frozenset[Any] = frozenset({Tensor.__getitem__, Tensor.__setitem__})


class Trace:
    """The functions of one forward pass."""

    def __init__(self, units: int) -> None:
        self._units = units
        self._code = 0
        self._taps = 0
        self._moved = False
        self.doubtful = False

    @property
    def key(self) -> int:
        """A hash, equal for passes that called the same functions with the same sizes, whatever the number of units."""
        return self._code

    def note(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record one function call."""
        plain = tuple(self._plain(value) for value in (*args, *kwargs.values()))
        self._code = hash((self._code, function, plain))
        if self._taps and (function in MOVING or (function in INDEXING and _by_tensor(args[1]))):
            self._moved = True

    def tapped(self) -> None:
        """Record one use of parameters; it is doubtful if rows were moved since an earlier use."""
        self._taps += 1
        self.doubtful |= self._moved

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.dim()
        if isinstance(value, (tuple, list)):
            return tuple(self._plain(item) for item in value)
        if isinstance(value, int) and not isinstance(value, bool) and self._units > 1 and value:
            return ("units", value // self._units) if value % self._units == 0 else value
        if isinstance(value, slice):
            return tuple(self._plain(end) for end in (value.start, value.stop, value.step))
        return value if isinstance(value, (bool, str)) or value is Ellipsis else None


def _by_tensor(index: Any) -> bool:
    return isinstance(index, (Tensor, list)) or (isinstance(index, tuple) and any(_by_tensor(each) for each in index))
