"""Convolutions in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from renyi.training.clipping import gram
from renyi.training.clipping.gradients import CHUNK, Dense, PerUnit, squares, zeroed
from renyi.training.clipping.reading.book import Book, Unbooked
from renyi.training.clipping.reading.layout import Place
from renyi.training.clipping.reading.tap import Contribution

Size = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """The shape and options of a convolution, without its values."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    def weight_gradient(self, x: Tensor, gradient: Tensor) -> Tensor:
        """The gradient of the weight, summed over the leading axis."""
        weight = torch.empty(self.shape, dtype=x.dtype, device=x.device)  # only its shape matters
        nothing = [0] * len(self.stride)
        backward = torch.ops.aten.convolution_backward
        _, result, _ = backward(
            gradient,
            x,
            weight,
            None,
            self.stride,
            self.padding,
            self.dilation,
            False,
            nothing,
            self.groups,
            (False, True, False),
        )
        return cast(Tensor, result)

    def patches(self, x: Tensor) -> Tensor:
        """The input patch of each output position: (leading axis, groups, channels of a group x kernel, positions)."""
        kernel = self.shape[2:]
        x = functional.pad(x, [amount for pad in reversed(self.padding) for amount in (pad, pad)])
        for axis, (size, dilation, stride) in enumerate(zip(kernel, self.dilation, self.stride, strict=True), start=2):
            x = (
                x.unfold(axis, dilation * (size - 1) + 1, stride)[..., ::dilation]
                if dilation > 1
                else x.unfold(axis, size, stride)
            )
        spatial = len(kernel)
        # (N, C, positions..., kernel...) -> (N, groups, C / groups, kernel..., positions...)
        order = [0, 1, *range(2 + spatial, 2 + 2 * spatial), *range(2, 2 + spatial)]
        x = x.permute(order)
        return x.reshape(x.shape[0], self.groups, self.shape[1] * math.prod(kernel), -1)

    def reach(self, x: Tensor) -> Tensor:
        """The norm of the input patch of each output position, all groups together: (units, views, positions...)."""
        energy = gram.lengths(x.movedim(2, -1)).square().flatten(0, 1).unsqueeze(1)
        ones = torch.ones(1, 1, *self.shape[2:], dtype=energy.dtype, device=energy.device)
        seen = torch.convolution(
            energy, ones, None, self.stride, self.padding, self.dilation, False, [0] * len(self.stride), 1
        )
        return seen.view(*x.shape[:2], *seen.shape[2:]).sqrt()


@dataclass(frozen=True, slots=True)
class Convolved:
    """Per-unit gradients of a convolution's weight, from its input and output gradient (units, views, channels, ...)."""

    x: Tensor
    gradient: Tensor
    geometry: Geometry

    def settled(self) -> PerUnit:
        """The gradients themselves if that is cheaper, which it is with few weights and many positions."""
        size, positions = math.prod(self.geometry.shape), self._positions()
        held = self.x[0].numel() + self.gradient[0].numel()
        # Inner products between positions cost positions^2, the gradient itself its size; and it must not take more memory.
        if 2 * positions * positions > size and size <= held:
            return Dense(self.dense())
        return self

    def norm2(self, *, wide: bool = False) -> Tensor:
        """See `PerUnit`."""
        size, positions = math.prod(self.geometry.shape), self._positions()
        if 2 * positions * positions <= size:
            held = positions * max(positions, self.geometry.groups * math.prod(self.geometry.shape[1:]))
            return torch.cat([self._gram(part, wide=wide) for part in self._chunks(held)])
        return torch.cat([self._squares(part, wide=wide) for part in self._chunks(size)])

    def weighted(self, factors: Tensor) -> Tensor:
        """See `PerUnit`."""
        scaled = self.gradient.float() * factors.view(-1, *(1,) * (self.gradient.dim() - 1))
        return self.geometry.weight_gradient(self.x.float().flatten(0, 1), scaled.flatten(0, 1))

    def dense(self) -> Tensor:
        """See `PerUnit`."""
        return torch.cat([self._formed(part) for part in self._chunks(math.prod(self.geometry.shape))])

    def pick(self, units: Tensor) -> Convolved:
        """See `PerUnit`."""
        return replace(self, x=self.x[units], gradient=self.gradient[units])

    def only(self, keep: Tensor) -> Convolved:
        """See `PerUnit`."""
        return replace(self, x=zeroed(self.x, keep), gradient=zeroed(self.gradient, keep))

    def _positions(self) -> int:
        return self.gradient.shape[1] * math.prod(self.gradient.shape[3:])

    def _chunks(self, size: int) -> Iterator[slice]:
        step = max(1, CHUNK // max(1, size))
        return (slice(start, start + step) for start in range(0, self.x.shape[0], step))

    def _cast(self, units: slice, *, wide: bool) -> tuple[Tensor, Tensor]:
        return gram.cast(self.x[units], wide=wide), gram.cast(self.gradient[units], wide=wide)

    def _formed(self, units: slice, *, wide: bool = False) -> Tensor:
        """Each unit's gradient by one grouped convolution over all of them."""
        each = cast(Callable[[Tensor, Tensor], Tensor], torch.vmap(self.geometry.weight_gradient))
        return each(*self._cast(units, wide=wide))

    def _squares(self, units: slice, *, wide: bool) -> Tensor:
        """Squared norms from gradients that are formed for the purpose."""
        found = squares(self._formed(units, wide=wide))
        x, gradient = self._cast(units, wide=wide)
        size = (self.geometry.reach(x) * gram.lengths(gradient.movedim(2, -1))).flatten(1).sum(1)
        return gram.norm2_upper(found, torch.zeros_like(found), size, wide=True)

    def _gram(self, units: slice, *, wide: bool) -> Tensor:
        """Squared norms from inner products of patches and of gradients, as for matrices, group by group."""
        x, gradient = self._cast(units, wide=wide)
        groups = self.geometry.groups
        patches = self.geometry.patches(x.flatten(0, 1))
        patches = patches.reshape(*x.shape[:2], *patches.shape[1:]).movedim(1, 3).flatten(3).transpose(2, 3)
        outputs = gradient.reshape(*gradient.shape[:2], groups, gradient.shape[2] // groups, -1).movedim(1, 3)
        outputs = outputs.flatten(3).transpose(2, 3)
        left, of_left = gram.products(patches, patches)
        right, of_right = gram.products(outputs, outputs)
        seen, sent = gram.lengths(patches), gram.lengths(outputs)
        parts, errors = gram.paired(left, right, (of_left, of_right), (seen, seen, sent, sent))
        estimate, error, size = parts.sum(1), errors.sum(1), (seen * sent).sum((1, 2))
        return gram.norm2_upper(estimate, error, size, wide=wide)


def convolution(function: Callable[..., Tensor], dimensions: int) -> Callable[..., Tensor]:
    """The rule of `F.conv1d`, `F.conv2d` or `F.conv3d`."""

    def rule(
        book: Book,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
    ) -> Tensor:
        if book.shared(input) or input.dim() != dimensions + 2:
            raise Unbooked
        output = function(input, book.plain(weight), book.plain(bias), stride, padding, dilation, groups)
        kept = book.kept(input, weight) if book.shared(weight) else None
        shifts = book.shared(bias) is not None
        spread = _each(dilation, dimensions)
        uneven, even = _padding(padding, weight.shape[2:], spread)
        geometry = Geometry(tuple(weight.shape), _each(stride, dimensions), even, spread, groups)

        def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
            fronted = place.front(gradient)
            if kept is not None:
                x = kept.value()
                x = functional.pad(x, uneven) if any(uneven) else x
                yield weight, Convolved(place.front(x), fronted, geometry).settled()
            if bias is not None and shifts:
                yield bias, Dense(fronted.flatten(3).sum((1, 3), dtype=torch.float32))

        return book.tap(function.__name__, output, (weight, bias), (0,), contribute)

    return rule


def _each(size: Size, dimensions: int) -> tuple[int, ...]:
    if isinstance(size, int):
        return (size,) * dimensions
    return tuple(size) * dimensions if len(size) == 1 else tuple(size)


def _padding(padding: Size | str, kernel: Sequence[int], dilation: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
    """Zeros to put at the end only (in the order of `F.pad`), and zeros to put on both sides."""
    nothing = [0] * (2 * len(kernel))
    if padding == "valid":
        return nothing, (0,) * len(kernel)
    if padding == "same":
        total = [spread * (size - 1) for size, spread in zip(kernel, dilation, strict=True)]
        return [amount for each in reversed(total) for amount in (0, each % 2)], tuple(each // 2 for each in total)
    assert not isinstance(padding, str)
    return nothing, _each(padding, len(kernel))
