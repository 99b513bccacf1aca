"""Splitting a batch by units: in every tensor and every list of values of a batch the units come first."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from numbers import Number
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from renyi.training.errors import ClippingError

Column = Tensor | list[Any]
"""One value for every unit: along the first axis of a tensor, or in a list of non-tensors."""

Rebuild = Callable[[Sequence[Column]], Any]
"""Makes a batch from columns."""

CONSTANT = (type(None), Number, str, bytes, Enum, torch.dtype, torch.device)
ADVICE = (
    "Turn what belongs to units into a tensor with the units in front, and keep what all units share out of the batch "
    "(functools.partial of the losses)."
)


def split(batch: Any, units: int) -> tuple[list[Column], Rebuild]:
    """The columns of a batch, and the function that rebuilds a batch from such columns.

    Tensors without axes and single values that are not tensors are constants, shared by all units.
    """
    leaves, spec = tree_flatten(batch, is_leaf=lambda value: _encoded(value) or _listed(value))
    pieces: list[tuple[int, int, Rebuild]] = []
    columns: list[Column] = []
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, CONSTANT) or (isinstance(leaf, Tensor) and leaf.dim() == 0):
            continue
        found, rebuild = _columns(leaf, units)
        pieces.append((place, len(found), rebuild))
        columns += found
    if not any(isinstance(column, Tensor) for column in columns):
        raise ClippingError(
            f"a batch of type {type(batch).__name__} holds no tensor. Pass tensors, or tuples and dicts of them."
        )

    def filled_in(parts: Sequence[Column]) -> Any:
        filled, start = list(leaves), 0
        for place, count, rebuild in pieces:
            filled[place] = rebuild(parts[start : start + count])
            start += count
        return tree_unflatten(filled, spec)

    return columns, filled_in


def rows(column: Column, indices: Sequence[int]) -> Column:
    """The entries of a column for these units, in this order."""
    return column[list(indices)] if isinstance(column, Tensor) else [column[index] for index in indices]


def take(batch: Any, units: int, indices: Sequence[int]) -> Any:
    """The batch of these units, in this order."""
    columns, rebuild = split(batch, units)
    return rebuild([rows(column, indices) for column in columns])


def _columns(leaf: Any, units: int) -> tuple[list[Column], Rebuild]:
    kind: Any = type(leaf)
    if _encoded(leaf):  # a mapping of another library, such as a tokenizer's encodings
        found, rebuild = split(dict(leaf), units)
        return found, lambda parts: kind(rebuild(parts))
    if _listed(leaf):
        if len(leaf) != units or not all(isinstance(item, CONSTANT) for item in leaf):
            raise ClippingError(
                f"a batch holds a {kind.__name__} of values that are no tensors: not one number or text for each unit. {ADVICE}"
            )
        return [list(leaf)], lambda parts: kind(parts[0])
    if not isinstance(leaf, Tensor):
        raise ClippingError(f"a batch holds a {kind.__name__}, which cannot be taken apart by units. {ADVICE}")
    if leaf.shape[0] != units:
        raise ClippingError(
            f"a tensor of the batch, with {leaf.dim()} axes, is not as long as there are units. The leading axis "
            "of every tensor in a batch is the unit axis: move it there, and turn it back inside the model."
        )
    return [leaf], lambda parts: parts[0]


def _encoded(value: Any) -> bool:
    return isinstance(value, Mapping) and type(value) not in (dict, OrderedDict, defaultdict)


def _listed(value: Any) -> bool:
    """Whether this is a list of plain values, without tensors, and not a list of lists only."""
    lists = (list, tuple)
    return type(value) in lists and _plain(value) and not all(isinstance(item, lists) for item in value)


def _plain(value: Any) -> bool:
    if isinstance(value, (list, tuple, dict)):
        return all(_plain(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, CONSTANT)
