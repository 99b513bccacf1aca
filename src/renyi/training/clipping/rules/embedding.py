"""Embeddings: a matrix multiplied with one-hot rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.nn import functional

from renyi.training.clipping.block import Block
from renyi.training.clipping.gradients import Outer
from renyi.training.clipping.reading.book import Book, Unbooked
from renyi.training.clipping.reading.layout import Place
from renyi.training.clipping.reading.tap import Contribution
from renyi.training.errors import ClippingError, LeakError


def embedding(
    book: Book,
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """`F.embedding`; the padding row gets no gradient."""
    if book.shared(input):
        raise Unbooked
    output = functional.embedding(input, book.plain(weight))
    kept = book.kept(input, weight)
    rows = weight.shape[0]
    padding = None if padding_idx is None else padding_idx % rows

    def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
        index = place.front(kept.value()).flatten(1)
        right = place.rows(gradient)
        if padding is not None:
            right = right.masked_fill((index == padding).unsqueeze(2), 0)
        yield weight, Outer((Block(index, right),), (rows, weight.shape[1]))

    return book.tap("embedding", output, (weight,), range(input.dim()), contribute)


def guard(
    book: Book,
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> None:
    """Refuse options under which the rows that one unit looks up change what another unit contributes."""
    name = ", ".join(book.names(weight)) or "a frozen embedding"
    if max_norm is not None:
        raise LeakError(
            f"the embedding of {name} has max_norm={max_norm}: looking rows up rescales them, so the weights reveal which "
            "rows were used. Set max_norm=None; clipping already bounds the update."
        )
    if scale_grad_by_freq:
        raise ClippingError(
            f"the embedding of {name} has scale_grad_by_freq=True: the rows' frequencies in the batch tie the units together. "
            "Set scale_grad_by_freq=False."
        )


def bag_guard(
    book: Book, input: Tensor, weight: Tensor, offsets: Any = None, max_norm: Any = None, *args: Any, **options: Any
) -> None:
    """The guard for `F.embedding_bag`, whose arguments come in another order."""
    scaled = args[1] if len(args) > 1 else options.get("scale_grad_by_freq", False)
    guard(book, input, weight, max_norm=max_norm, scale_grad_by_freq=scaled)
