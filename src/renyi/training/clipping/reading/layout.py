"""Layouts: where the units lie inside a tensor.

The unit axis is the leading axis of a batch, but a model may move it (attention works time-first), merge it with another
(`x.flatten(0, 1)`) or interleave it (a time-first tensor flattened). Shapes alone cannot tell: eight units of eight tokens
look the same either way. Gradients can: the loss of unit i reaches unit i's part of a tensor and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Layout:
    """Units lie along `axis` with `views` positions each: contiguous, or every `units`-th position if interleaved."""

    axis: int
    views: int = 1
    interleaved: bool = False

    def fits(self, shape: torch.Size, units: int) -> bool:
        """Whether a tensor of this shape can have this layout."""
        return self.axis < len(shape) and shape[self.axis] == units * self.views

    def front(self, tensor: Tensor, units: int) -> Tensor:
        """The tensor as (units, views, the other axes in order)."""
        if self.views == 1:
            return tensor.movedim(self.axis, 0).unsqueeze(1)
        if self.interleaved:
            return _split(tensor, self.axis, self.views, units).movedim((self.axis + 1, self.axis), (0, 1))
        return _split(tensor, self.axis, units, self.views).movedim((self.axis, self.axis + 1), (0, 1))

    def reached(self, gradient: Tensor, units: int) -> Tensor:
        """For every unit, whether the gradient is nonzero anywhere in its part.

        Entries that are not finite do not count: zero times the infinite loss of a unit is not zero either.
        """
        size = self.front(gradient, units).abs()
        return ((size > 0) & (size < torch.inf)).flatten(1).any(1)


@dataclass(frozen=True, slots=True)
class Place:
    """A layout together with the number of units: what a rule needs to split a tensor by units."""

    layout: Layout
    units: int

    def front(self, tensor: Tensor) -> Tensor:
        """The tensor as (units, views, the other axes in order)."""
        return self.layout.front(tensor, self.units)

    def rows(self, tensor: Tensor) -> Tensor:
        """The tensor as (units, everything else, last axis)."""
        return self.front(tensor).flatten(1, -2)


def candidates(shape: torch.Size, axes: Iterable[int], units: int) -> Iterator[Layout]:
    """Every layout that a tensor of this shape may have, the simplest first."""
    axes = [axis for axis in axes if shape[axis] and shape[axis] % units == 0]
    yield from (Layout(axis) for axis in axes if shape[axis] == units)
    for axis in axes:
        views = shape[axis] // units
        if views > 1:
            yield Layout(axis, views)
            if units > 1:
                yield Layout(axis, views, interleaved=True)


def by_shape(shape: torch.Size, axes: Iterable[int], units: int) -> Layout | None:
    """The simplest layout, for cases without ambiguity: a single unit, or a tensor without data."""
    return next(candidates(shape, axes, units), None)


def _split(tensor: Tensor, axis: int, first: int, second: int) -> Tensor:
    return tensor.reshape(*tensor.shape[:axis], first, second, *tensor.shape[axis + 1 :])
