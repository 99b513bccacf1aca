"""The rule of last resort: the vector-Jacobian product of any function, mapped over units."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from renyi.training.clipping.gradients import Dense
from renyi.training.clipping.reading.book import Book, Unbooked
from renyi.training.clipping.reading.layout import Layout, Place
from renyi.training.clipping.reading.tap import Contribution


def generic(book: Book, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Book a call about which nothing is known except that it can be run for one unit at a time.

    Even that is verified: run unit by unit, the function must give the same output as for all units together.
    """
    leaves, spec = tree_flatten((args, kwargs))
    plain = [book.plain(leaf) for leaf in leaves]
    output = _apply(func, plain, spec)
    if not isinstance(output, Tensor) or not output.is_floating_point():
        raise Unbooked
    name = getattr(func, "__name__", "function")
    owners = {position: leaf for position, leaf in enumerate(leaves) if book.shared(leaf)}
    names = book.names(*owners.values())
    kept = [book.kept(leaf, *owners.values()) if isinstance(leaf, Tensor) else None for leaf in plain]

    def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
        values = [_float(leaf if keep is None else keep.value()) for leaf, keep in zip(plain, kept, strict=True)]
        try:
            results, gradients = _per_unit(func, values, spec, sorted(owners), gradient.float(), place)
            expected = place.front(_apply(func, values, spec))
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise Unbooked(f"{name} on {', '.join(names)}") from error
        if results.shape != expected.shape or not (expected.is_meta or _close(results, expected)):
            raise Unbooked(f"{name} on {', '.join(names)}")
        for position, part in zip(sorted(owners), gradients, strict=True):
            yield owners[position], Dense(part)

    return book.tap(name, output.clone(), tuple(owners.values()), range(output.dim()), contribute)


def _per_unit(
    func: Callable[..., Any],
    values: list[Any],
    spec: TreeSpec,
    wanted: list[int],
    gradient: Tensor,
    place: Place,
) -> tuple[Tensor, list[Tensor]]:
    """The output and the wanted gradients for each unit, the output as (units, views, the other axes)."""
    layouts = {
        position: layout
        for position, value in enumerate(values)
        if position not in wanted and (layout := _layout(value, gradient.dim(), place)) is not None
    }
    data = {position: layout.front(values[position], place.units) for position, layout in layouts.items()}
    axis = place.layout.axis

    def one(data: dict[int, Tensor], cotangent: Tensor) -> tuple[Tensor, list[Tensor]]:
        filled = dict(enumerate(values))
        filled.update((position, part.movedim(0, layouts[position].axis)) for position, part in data.items())

        def of_parameters(*parameters: Tensor) -> Tensor:
            inner = filled | dict(zip(wanted, parameters, strict=True))
            result: Tensor = _apply(func, [inner[position] for position in range(len(values))], spec)
            return result

        result, pull = cast(Any, torch.func.vjp)(of_parameters, *(values[position] for position in wanted))
        return result.movedim(axis, 0), list(pull(cotangent.movedim(0, axis)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about functions that are slow to map, which is known here
        outputs: tuple[Tensor, list[Tensor]] = cast(Any, torch.vmap(one))(data, place.front(gradient))
    return outputs


def _apply(func: Callable[..., Any], leaves: list[Any], spec: TreeSpec) -> Any:
    args, kwargs = tree_unflatten(leaves, spec)
    return func(*args, **kwargs)


def _layout(value: Any, dimensions: int, place: Place) -> Layout | None:
    """The layout of an argument: units on the output's axis counted from the left, or from the right, or in front."""
    if isinstance(value, Tensor):
        for axis in (place.layout.axis, place.layout.axis + value.dim() - dimensions, 0):
            layout = replace(place.layout, axis=axis)
            if axis >= 0 and layout.fits(value.shape, place.units):
                return layout
    return None


def _float(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


def _close(results: Tensor, expected: Tensor) -> bool:
    """Equality up to the rounding of other kernels, which is relative to the largest value."""
    scale = expected.abs().max() if expected.numel() else 0.0
    return torch.allclose(results, expected, rtol=1e-4, atol=1e-5 * float(scale), equal_nan=True)
