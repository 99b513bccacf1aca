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

    def overlaps(self, x: Tensor) -> tuple[Tensor, float]:
        """Inner products of the patches of any two positions, and their error relative to the patches' lengths.

        `x` is (units, views, channels, ...), the table (units, groups, positions, positions) with all views' positions.
        """
        x = functional.pad(x, [amount for pad in reversed(self.padding) for amount in (pad, pad)])
        pixels, kernel = math.prod(x.shape[3:]), math.prod(self.shape[2:])
        positions = math.prod(self._out(x.shape[3:]))
        if pixels * pixels <= kernel * positions * positions:
            return self._summed_over_kernel(x)
        patches = self._patches(x.flatten(0, 1))
        patches = patches.reshape(*x.shape[:2], *patches.shape[1:]).movedim(1, 3).flatten(3).transpose(2, 3)
        return gram.products(patches, patches)

    def _summed_over_kernel(self, x: Tensor) -> tuple[Tensor, float]:
        """The table by way of the inner products of pixels, of which there are fewer than numbers in all patches.

        <patch i, patch j> is the sum over the kernel's places d of <pixel i + d, pixel j + d>. With pixels numbered row by row,
        a place is a shift of both numbers, the same all over the table, and a sum over places one sum for each axis. Shifts
        across a row's end are computed as well; the output's positions are picked from the result.
        """
        units, views, space = x.shape[0], x.shape[1], x.shape[3:]
        rows = x.reshape(units, views, self.groups, -1, math.prod(space)).permute(0, 2, 1, 4, 3).flatten(2, 3)
        table, share = gram.products(rows, rows)
        table = table.view(units, self.groups, views, math.prod(space), views, -1)
        apart = [math.prod(space[axis + 1 :]) for axis in range(len(space))]
        for size, dilation, distance in reversed(list(zip(self.shape[2:], self.dilation, apart, strict=True))):
            left = table.shape[3] - (size - 1) * dilation * distance
            starts = [place * dilation * distance for place in range(size)]
            shifted = [table[:, :, :, start : start + left, :, start : start + left] for start in starts]
            table = shifted[0] + shifted[1] if size > 1 else shifted[0]
            for further in shifted[2:]:
                table += further
        out, along, across = self._out(space), table.stride(3), table.stride(5)
        picks = [stride * distance for stride, distance in zip(self.stride, apart, strict=True)]
        table = table.as_strided(
            (units, self.groups, views, *out, views, *out),
            (
                *(table.stride(axis) for axis in (0, 1, 2)),
                *(along * pick for pick in picks),
                table.stride(4),
                *(across * pick for pick in picks),
            ),
        )
        positions = views * math.prod(out)
        # A sum over the kernel is one over the patches' entries: its error is relative to their lengths, by Cauchy and Schwarz.
        return table.reshape(units, self.groups, positions, positions), share + math.prod(self.shape[2:]) * gram.unit(
            table
        )

    def _out(self, space: Sequence[int]) -> list[int]:
        """The sizes of the output, of an input that has been padded."""
        return [
            (size - dilation * (kernel - 1) - 1) // stride + 1
            for size, kernel, dilation, stride in zip(space, self.shape[2:], self.dilation, self.stride, strict=True)
        ]

    def _patches(self, x: Tensor) -> Tensor:
        """The patch of a padded input at each position: (leading axis, groups, channels of a group x kernel, positions)."""
        kernel = self.shape[2:]
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
            kernel = math.prod(self.geometry.shape[2:])
            held = positions * max(positions * kernel, self.geometry.groups * math.prod(self.geometry.shape[1:]))
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
        outputs = gradient.reshape(*gradient.shape[:2], groups, gradient.shape[2] // groups, -1).movedim(1, 3)
        outputs = outputs.flatten(3).transpose(2, 3)
        left, of_left = self.geometry.overlaps(x)
        right, of_right = gram.products(outputs, outputs)
        seen = gram.lengths_from(left, of_left, math.prod(self.geometry.shape[1:]))
        sent = gram.lengths_from(right, of_right, outputs.shape[-1])
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
