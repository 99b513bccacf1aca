"""Parameters combined with the data element by element, such as a learned position, scale or class token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from renyi.training.clipping.gradients import Dense
from renyi.training.clipping.reading.book import Book, Unbooked
from renyi.training.clipping.reading.layout import Place
from renyi.training.clipping.reading.tap import Contribution

Function = Callable[..., Any]


def elementwise(function: Function) -> Function:
    """The rule of a binary function that broadcasts.

    A parameter expanded to the output's shape has a gradient of that shape. A unit's gradient is its part of it, summed over
    the axes along which the parameter was expanded.
    """

    def rule(book: Book, *values: Any, **options: Any) -> Tensor:
        operands = (*values, *(options.pop(name) for name in ("input", "other") if name in options))
        if len(operands) != 2 or set(options) - {"alpha"}:
            raise Unbooked
        output = function(*book.plain(operands), **options)
        parameters = [value for value in operands if book.shared(value)]
        kept = [book.kept(value, *parameters) if isinstance(value, Tensor) else None for value in book.plain(operands)]

        def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
            again = [value if keep is None else keep.value() for value, keep in zip(operands, kept, strict=True)]
            for position, parameter in enumerate(operands):
                if book.shared(parameter):
                    expanded = [v.float() if isinstance(v, Tensor) and v.is_floating_point() else v for v in again]
                    leaf = expanded[position].expand(output_shape).requires_grad_()
                    expanded[position] = leaf
                    # Differentiating the function itself covers scales, shifts and quotients alike.
                    with torch.enable_grad():
                        (part,) = torch.autograd.grad(function(*expanded, **options), leaf, gradient.float())
                    yield parameter, Dense(_gathered(place.front(part), place, parameter.shape))

        output_shape = output.shape
        axes = free_axes(output_shape, *(parameter.shape for parameter in parameters))
        return book.tap(function.__name__, output, parameters, axes, contribute)

    return rule


def broadcast(function: Function) -> Function:
    """The rule of a function that expands a parameter to a larger shape."""

    def rule(book: Book, input: Tensor, *sizes: Any, **options: Any) -> Tensor:
        if not book.shared(input):
            raise Unbooked
        output = function(book.plain(input), *sizes, **options)
        shape = input.shape
        padded = (1,) * (output.dim() - len(shape)) + tuple(shape)
        if any(old not in (1, new) for old, new in zip(padded, output.shape, strict=True)):
            raise Unbooked

        def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
            yield input, Dense(_gathered(place.front(gradient.float()), place, shape))

        output = output.clone()  # a copy, because later in-place functions must not write to the parameter
        return book.tap(function.__name__, output, (input,), free_axes(output.shape, shape), contribute)

    return rule


def free_axes(output: torch.Size, *parameters: torch.Size) -> list[int]:
    """The axes along which every parameter was expanded: units can lie only along these."""
    return [
        axis
        for axis in range(len(output))
        if all(axis < len(output) - len(shape) or shape[axis - len(output)] == 1 for shape in parameters)
    ]


def _gathered(part: Tensor, place: Place, shape: torch.Size) -> Tensor:
    """Sum (units, views, other axes of the output) to (units, the parameter's shape)."""
    part = part.sum(1)
    part = part.unsqueeze(place.layout.axis + 1)  # where the unit axis was: the parameter has size one there
    lead = part.dim() - 1 - len(shape)
    expanded = [1 + axis for axis in range(lead)]
    expanded += [1 + lead + axis for axis, size in enumerate(shape) if size == 1]
    part = part.sum(expanded, keepdim=True) if expanded else part
    return part.reshape(part.shape[0], *shape)
