"""Matrix products: the gradient of each unit is a sum of outer products over its positions."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from renyi.training.clipping.block import Block
from renyi.training.clipping.gradients import Dense, Outer
from renyi.training.clipping.reading.book import Book, Unbooked
from renyi.training.clipping.reading.layout import Place
from renyi.training.clipping.reading.tap import Contribution


def linear(book: Book, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`: input @ weight.T + bias, with any number of axes between the first and the last."""
    return product(book, "linear", input, weight, bias, turned=True)


def matmul(book: Book, input: Tensor, other: Tensor | None = None, *, mat2: Tensor | None = None) -> Tensor:
    """`input @ other` with a shared matrix on the right."""
    matrix = mat2 if other is None else other
    if matrix is None:
        raise Unbooked
    return product(book, "matmul", input, matrix, None, turned=False)


def addmm(book: Book, input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`torch.addmm(bias, x, weight)` with a bias vector."""
    if input.dim() != 1 or beta != 1 or alpha != 1:
        raise Unbooked
    return product(book, "addmm", mat1, mat2, input, turned=False)


def product(book: Book, rule: str, x: Tensor, weight: Tensor, bias: Tensor | None, *, turned: bool) -> Tensor:
    """Book x @ weight + bias, or x @ weight.T + bias if `turned`, as in `F.linear`."""
    if book.shared(x) or x.dim() < 2 or weight.dim() != 2:
        raise Unbooked
    plain = book.plain(weight)
    # Contiguous, or torch multiplies each entry of the first axis by itself, because the detached weight needs no gradient.
    output = functional.linear(x.contiguous(), plain if turned else plain.t(), book.plain(bias))
    weighs, shifts = book.shared(weight) is not None, book.shared(bias) is not None
    kept = book.kept(x, weight) if weighs else None
    shape = (weight.shape[0], weight.shape[1])

    def contribute(gradient: Tensor, place: Place) -> Iterator[Contribution]:
        rows = place.rows(gradient)
        if kept is not None:
            inputs = place.rows(kept.value())
            block = Block(rows, inputs) if turned else Block(inputs, rows)
            yield weight, Outer((block,), shape).settled()
        if bias is not None and shifts:
            yield bias, Dense(rows.sum(1, dtype=torch.float32))

    return book.tap(rule, output, (weight, bias), range(output.dim() - 1), contribute)
