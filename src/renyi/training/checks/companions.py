"""The batches in which a few units are looked at: beside others, beside altered ones, alone, and among copies.

What is altered stays a plausible input where a device would not forgive anything else: on the host, a model that refuses a
value raises; an accelerator may stop for good.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from renyi.training.clipping.batches import Column, rows, split

KINDS = ("exchanged", "altered")


class Companions:
    """A few units of a batch, each at its place, and what may stand beside them."""

    def __init__(self, batch: Any, units: int, few: Sequence[int], choice: random.Random) -> None:
        self._columns, self._rebuild = split(batch, units)
        self._units = units
        self._few = list(few)
        self._generator = torch.Generator().manual_seed(choice.getrandbits(63))

    def __len__(self) -> int:
        return len(self._few)

    def drop(self, places: Sequence[int]) -> None:
        """Go on without the units at these places."""
        self._few = [unit for place, unit in enumerate(self._few) if place not in places]

    def together(self) -> Any:
        """The few units as they are."""
        return self._rebuild([rows(column, self._few) for column in self._columns])

    def copies(self, place: int, size: int) -> Any:
        """The unit at this place, alone or among copies of itself."""
        return self._rebuild([rows(column, [self._few[place]] * size) for column in self._columns])

    def around(self, kept: Sequence[int], kind: str) -> Any:
        """A batch of the same size in which some units keep their places and the others are of this kind.

        Exchanged: any units of the whole batch. Altered: numbers scaled and turned, and each of them shifted, so that units
        that are all alike do not stay so; whole numbers permuted among positions and units.
        """
        others = sorted(set(range(len(self))) - set(kept))
        if kind == "exchanged":
            few = self._exchanged(others)
            return self._rebuild([rows(column, few) for column in self._columns])
        return self._rebuild([self._changed(column, others) for column in self._columns])

    def _exchanged(self, others: Sequence[int]) -> list[int]:
        """Numbers of units, those at other places drawn from the whole batch."""
        few = list(self._few)
        for place in others:
            few[place] = int(torch.randint(self._units, (), generator=self._generator))
        return few

    def _changed(self, column: Column, others: Sequence[int]) -> Column:
        if not isinstance(column, Tensor):
            return rows(column, self._exchanged(others))
        changed = column[self._few]
        change = self._altered if column.device.type == "cpu" else self._replaced
        changed[others] = change(column, changed[others]).to(changed)
        return changed

    def _altered(self, tensor: Tensor, part: Tensor) -> Tensor:
        each = (len(part), *(1,) * (part.dim() - 1))
        if part.is_floating_point() or part.is_complex():
            spread = tensor.abs().nan_to_num(0, 0, 0).float().mean() or torch.ones(())
            factor = (0.5 + 2.5 * self._uniform(*each)) * (1 - 2 * (self._uniform(*each) < 0.5).float())
            return part * factor.to(part.dtype) + (spread * (2 * self._uniform(*part.shape) - 1)).to(part.dtype)
        if part.dtype == torch.bool:
            return self._uniform(*part.shape) < 0.5
        part = self._replaced(tensor, part)
        if part.dim() == 1:
            return part
        flat = part.flatten(1)
        return flat[:, torch.randperm(flat.shape[1], generator=self._generator)].view(part.shape)

    def _replaced(self, tensor: Tensor, part: Tensor) -> Tensor:
        """Numbers drawn anew from the range, or the values, of those that came."""
        if part.is_floating_point():
            known = tensor[tensor.isfinite()]
            low = min(0.0, float(known.min())) if known.numel() else 0.0
            high = max(1.0, float(known.max())) if known.numel() else 1.0
            return low + (high - low) * self._uniform(*part.shape)
        source = torch.randint(self._units, part.shape, generator=self._generator)
        return tensor.gather(0, source.to(tensor.device))  # for each position, what some unit has there

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=self._generator)
