"""Normalisation layers: a scale and a shift of normalised data, whose gradients are held in full because they are small.

The normalised data are not kept, but computed again, in float32, when the gradient is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from renyi.training.clipping.gradients import Dense
from renyi.training.clipping.reading.book import Book
from renyi.training.clipping.reading.layout import Place
from renyi.training.clipping.reading.tap import Contribution
from renyi.training.errors import LeakError


def layer_norm(
    book: Book,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`F.layer_norm`."""
    output = functional.layer_norm(input, normalized_shape, book.plain(weight), book.plain(bias), eps)
    lead = input.dim() - len(normalized_shape)
    return _last_axes(
        book,
        "layer_norm",
        input,
        weight,
        bias,
        output,
        lead,
        lambda x: functional.layer_norm(x, normalized_shape, eps=eps),
    )


def rms_norm(
    book: Book,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """`F.rms_norm`."""
    output = functional.rms_norm(input, normalized_shape, book.plain(weight), eps)
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    lead = input.dim() - len(normalized_shape)
    return _last_axes(
        book, "rms_norm", input, weight, None, output, lead, lambda x: functional.rms_norm(x, normalized_shape, eps=eps)
    )


def group_norm(
    book: Book,
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`F.group_norm`."""
    output = functional.group_norm(input, num_groups, book.plain(weight), book.plain(bias), eps)
    return _channels(
        book, "group_norm", input, weight, bias, output, lambda x: functional.group_norm(x, num_groups, eps=eps)
    )


def instance_norm(
    book: Book,
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`F.instance_norm`; running statistics are allowed only if they are not updated."""
    output = functional.instance_norm(
        input, running_mean, running_var, book.plain(weight), book.plain(bias), use_input_stats, momentum, eps
    )

    def normal(x: Tensor) -> Tensor:
        if use_input_stats:
            return functional.instance_norm(x, eps=eps)
        return functional.batch_norm(x, running_mean, running_var, eps=eps)

    return _channels(book, "instance_norm", input, weight, bias, output, normal)


def batch_norm(
    book: Book,
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`F.batch_norm` with fixed statistics; the guard refuses the statistics of a batch."""
    output = functional.batch_norm(
        input, running_mean, running_var, book.plain(weight), book.plain(bias), False, momentum, eps
    )
    return _channels(
        book,
        "batch_norm",
        input,
        weight,
        bias,
        output,
        lambda x: functional.batch_norm(x, running_mean, running_var, eps=eps),
    )


def batch_norm_guard(
    book: Book,
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> None:
    """Refuse batch statistics."""
    if training:
        raise LeakError(
            f"{book.module_of(weight, bias, running_mean)} normalises with the statistics of the batch: each unit moves the "
            "gradient of all others, and running statistics leave without noise. Use GroupNorm instead of BatchNorm, or "
            "put that module in eval mode."
        )


def instance_norm_guard(
    book: Book,
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> None:
    """Refuse running statistics that are updated from the data."""
    if use_input_stats and running_mean is not None:
        raise LeakError(
            f"{book.module_of(weight, bias, running_mean)} updates running statistics from the data, which leave without "
            "noise. Use track_running_stats=False, or GroupNorm."
        )


def batch_norm_core_guard(
    book: Book, x: Tensor, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, *_: Any
) -> None:
    """The guard for `torch.batch_norm`, whose arguments come in another order."""
    batch_norm_guard(book, x, mean, variance, weight, bias, training)


def instance_norm_core_guard(
    book: Book, x: Tensor, weight: Any, bias: Any, mean: Any, variance: Any, use_input_stats: bool, *_: Any
) -> None:
    """The guard for `torch.instance_norm`, whose arguments come in another order."""
    instance_norm_guard(book, x, mean, variance, weight, bias, use_input_stats)


def _last_axes(
    book: Book,
    rule: str,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output: Tensor,
    lead: int,
    normal: Callable[[Tensor], Tensor],
) -> Tensor:
    """A scale and shift over the last axes; units lie along one of the first `lead` axes."""
    return _affine(book, rule, x, weight, bias, output, range(lead), normal, lambda t: t.flatten(1, lead).sum(1))


def _channels(
    book: Book,
    rule: str,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output: Tensor,
    normal: Callable[[Tensor], Tensor],
) -> Tensor:
    """A scale and shift for each channel, the second axis; units are on the first."""
    return _affine(book, rule, x, weight, bias, output, (0,), normal, lambda t: t.unsqueeze(-1).flatten(3).sum((1, 3)))


def _affine(
    book: Book,
    rule: str,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output: Tensor,
    axes: Sequence[int],
    normal: Callable[[Tensor], Tensor],
    reduced: Callable[[Tensor], Tensor],
) -> Tensor:
    kept = book.kept(x, weight) if book.shared(weight) else None
    shifts = book.shared(bias) is not None

    def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
        gradient = gradient.float()
        if kept is not None and weight is not None:
            yield weight, Dense(reduced(place.front(gradient * normal(kept.value().float()))))
        if bias is not None and shifts:
            yield bias, Dense(reduced(place.front(gradient)))

    return book.tap(rule, output, (weight, bias), axes, contribute)
