"""A batch taken apart by units: every tensor in it has the unit axis in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from renyi.training.errors import ClippingError


def split(batch: Any, units: int) -> tuple[list[Tensor], Callable[[Sequence[Tensor]], Any]]:
    """The tensors of a batch, and the way back from such tensors to a batch.

    Tensors without axes and values that are not tensors are constants, shared by all units.
    """
    if isinstance(batch, Mapping) and type(batch) is not dict:  # such as the encodings of a tokenizer
        tensors, rebuild = split(dict(batch), units)
        kind: Any = type(batch)
        return tensors, lambda parts: kind(rebuild(parts))
    leaves, spec = tree_flatten(batch)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf.dim() > 0]
    for place in places:
        if leaves[place].shape[0] != units:
            raise ClippingError(
                f"a tensor of the batch has shape {tuple(leaves[place].shape)}, but there are {units} units. The leading axis "
                "of every tensor in a batch is the unit axis: move it there, and turn it back inside the model."
            )
    if not places:
        raise ClippingError(
            f"a batch of type {type(batch).__name__} holds no tensor. Pass tensors, or tuples and dicts of them."
        )

    def filled_in(parts: Sequence[Tensor]) -> Any:
        filled = list(leaves)
        for place, part in zip(places, parts, strict=True):
            filled[place] = part
        return tree_unflatten(filled, spec)

    return [leaves[place] for place in places], filled_in


def take(batch: Any, units: int, indices: Sequence[int]) -> Any:
    """The batch of these units, in this order."""
    tensors, rebuild = split(batch, units)
    return rebuild([tensor[list(indices)] for tensor in tensors])
