"""Per-unit gradients of one parameter, in the form in which their norms and weighted sums are cheapest.

Every form gives three things: the squared norm of each unit's gradient, in float64 and never too small; the sum of the
gradients weighted by a factor per unit, in float32; and, if nothing cheaper is possible, the gradients themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from renyi.training.clipping import gram
from renyi.training.clipping.block import Block

CHUNK = 1 << 22
"""Floats that a temporary may hold: 16 MB."""

SUM_RUN = 1 << 11
"""Floats that are summed in one run; longer sums are sums of runs, so that rounding does not grow with their length."""


class PerUnit(Protocol):
    """The gradients of one parameter, one for each unit."""

    def norm2(self, *, wide: bool = False) -> Tensor:
        """The squared norm of every unit's gradient.

        Infinite where float32 cannot determine it, because terms cancel or a square overflows. `wide` uses float64 throughout.
        """
        ...

    def weighted(self, factors: Tensor) -> Tensor:
        """The sum over units of factor times gradient, in the parameter's shape."""
        ...

    def dense(self) -> Tensor:
        """The gradients themselves, units first."""
        ...

    def pick(self, units: Tensor) -> PerUnit:
        """The gradients of some of the units, by index."""
        ...

    def only(self, keep: Tensor) -> PerUnit:
        """The gradients with those of all other units replaced by zero, even where they are not finite."""
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """Gradients that are small enough to be held in full."""

    values: Tensor

    def norm2(self, *, wide: bool = False) -> Tensor:
        """See `PerUnit`."""
        return squares(gram.cast(self._flat(), wide=wide))

    def weighted(self, factors: Tensor) -> Tensor:
        """See `PerUnit`."""
        return (factors @ self._flat()).view(self.values.shape[1:])

    def dense(self) -> Tensor:
        """See `PerUnit`."""
        return self.values

    def pick(self, units: Tensor) -> Dense:
        """See `PerUnit`."""
        return Dense(self.values[units])

    def only(self, keep: Tensor) -> Dense:
        """See `PerUnit`."""
        return Dense(zeroed(self.values, keep))

    def _flat(self) -> Tensor:
        return self.values.unsqueeze(-1).flatten(1)


@dataclass(frozen=True, slots=True)
class Outer:
    """Gradients that are sums of outer products, such as those of a matrix multiplied with data.

    The squared norm can be had without the gradient: it is the sum over pairs of terms of <left, left'> <right, right'>.
    Whether that is cheaper depends on the number of terms (positions of a sequence) and the size of the matrix.
    """

    blocks: tuple[Block, ...]
    shape: tuple[int, int]

    def norm2(self, *, wide: bool = False) -> Tensor:
        """See `PerUnit`."""
        terms, size = self._terms(), self.shape[0] * self.shape[1]
        # Two tables of terms^2 inner products, or the gradient itself: whichever is smaller.
        if 2 * terms * terms <= size:
            return torch.cat([_gram(blocks, wide=wide) for blocks in self._chunks(terms * terms, wide=wide)])
        return torch.cat([_formed(blocks, self.shape) for blocks in self._chunks(size, wide=wide)])

    def settled(self) -> PerUnit:
        """The gradients themselves if forming them is cheaper than keeping their factors, in both time and memory."""
        terms, (rows, columns) = self._terms(), self.shape
        size = rows * columns
        held = sum(block.right[0].numel() + block.left[0].numel() for block in self.blocks)
        if size <= held and 16 * size <= terms * terms * (rows + columns):
            return Dense(self.dense())
        return self

    def weighted(self, factors: Tensor) -> Tensor:
        """See `PerUnit`."""
        total: Tensor | None = None
        for block in self.blocks:
            part = block.scaled(factors).summed(self.shape)
            total = part if total is None else total.add_(part)
        assert total is not None
        return total

    def dense(self) -> Tensor:
        """See `PerUnit`."""
        return torch.cat([_product(blocks, self.shape) for blocks in self._chunks(self.shape[0] * self.shape[1])])

    def pick(self, units: Tensor) -> Outer:
        """See `PerUnit`."""
        return Outer(tuple(Block(b.left[units], b.right[units]) for b in self.blocks), self.shape)

    def only(self, keep: Tensor) -> Outer:
        """See `PerUnit`."""
        return Outer(tuple(Block(zeroed(b.left, keep), zeroed(b.right, keep)) for b in self.blocks), self.shape)

    def transposed(self) -> Outer | None:
        """The gradients of the transposed matrix in the same form; None if a factor is one-hot."""
        if any(block.one_hot for block in self.blocks):
            return None
        return Outer(tuple(Block(b.right, b.left) for b in self.blocks), (self.shape[1], self.shape[0]))

    def _terms(self) -> int:
        return sum(block.right.shape[1] for block in self.blocks)

    def _chunks(self, size: int, *, wide: bool = False) -> Iterator[list[Block]]:
        units = self.blocks[0].right.shape[0]
        step = max(1, CHUNK // max(1, size))
        for start in range(0, units, step):
            yield [block.chunk(slice(start, start + step), wide=wide) for block in self.blocks]


def without_autocast(device: torch.device) -> AbstractContextManager[None]:
    """Compute in the dtypes of the tensors, whatever the caller's autocast is."""
    active = torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)
    return torch.autocast(device.type, enabled=False) if active else nullcontext()


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Switch off autograd, autocast and function modes: plain arithmetic in the dtypes of the tensors."""
    with torch.no_grad(), without_autocast(device), torch._C.DisableTorchFunction():
        yield


def squares(tensor: Tensor) -> Tensor:
    """The squared norm of every unit's part, to a few units in the last place, whatever its length."""
    flat = tensor.flatten(1)
    whole = flat.shape[1] - flat.shape[1] % SUM_RUN
    if not whole:
        return gram.squares(flat)
    return gram.squares(flat[:, :whole].reshape(flat.shape[0], -1, SUM_RUN)).sum(1) + gram.squares(flat[:, whole:])


def norm2(form: PerUnit) -> Tensor:
    """The squared norm of every unit's gradient, computed again in float64 where float32 cannot determine it."""
    found = form.norm2()
    doubtful = (~found.isfinite()).nonzero().flatten()
    return found.index_copy(0, doubtful, form.pick(doubtful).norm2(wide=True).to(found)) if len(doubtful) else found


def zeroed(tensor: Tensor, keep: Tensor) -> Tensor:
    """The tensor with the parts of all units except those to keep replaced by zero."""
    return torch.where(
        keep.view(-1, *(1,) * (tensor.dim() - 1)), tensor, torch.zeros((), dtype=tensor.dtype, device=keep.device)
    )


def joined(parts: Sequence[PerUnit]) -> PerUnit:
    """The sum of the gradients from several uses of one parameter, in a form whose norm includes the cross terms."""
    if len(parts) == 1:
        return parts[0]
    # The norm of a sum needs the inner products between its parts: joined blocks have them, dense gradients are added up.
    outers = [part for part in parts if isinstance(part, Outer)]
    if len(outers) < len(parts):
        return Dense(torch.stack([part.dense() for part in parts]).sum(0))
    blocks = [block for part in outers for block in part.blocks]
    alike = [[block for block in blocks if block.one_hot is one_hot] for one_hot in (False, True)]
    return Outer(
        tuple(
            Block(torch.cat([b.left for b in same], 1), torch.cat([b.right for b in same], 1)) for same in alike if same
        ),
        outers[0].shape,
    )


def _gram(blocks: Sequence[Block], *, wide: bool) -> Tensor:
    """Squared norms from inner products of terms."""
    if len(blocks) == 1 and blocks[0].right.shape[1] == 1:
        (block,) = blocks
        return squares(block.right) if block.one_hot else squares(block.right) * squares(block.left)
    tables = {(i, i): (block.overlap(block), gram.products(block.right, block.right)) for i, block in enumerate(blocks)}
    lengths = [
        (gram.lengths_from(*tables[i, i][0], block.width), gram.lengths_from(*tables[i, i][1], block.right.shape[2]))
        for i, block in enumerate(blocks)
    ]
    size = _size(lengths)
    total, error = torch.zeros_like(size), torch.zeros_like(size)
    for i, block in enumerate(blocks):
        for j, other in enumerate(blocks[: i + 1]):
            found = tables.pop((i, j), None) or (block.overlap(other), gram.products(block.right, other.right))
            (left, of_left), (right, of_right) = found
            sizes = (lengths[i][0], lengths[j][0], lengths[i][1], lengths[j][1])
            part, off = gram.paired(left, right, (of_left, of_right), sizes)
            total += part if i == j else 2 * part
            error += off if i == j else 2 * off
    return gram.norm2_upper(total, error, size, wide=wide)


def _formed(blocks: Sequence[Block], shape: tuple[int, int]) -> Tensor:
    """Squared norms from gradients that are formed for the purpose."""
    found = squares(_product(blocks, shape))
    return gram.norm2_upper(found, torch.zeros_like(found), _size([block.sizes() for block in blocks]), wide=True)


def _size(lengths: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """The sum of the lengths of all terms of a unit."""
    return torch.stack([(left * right).sum(1) for left, right in lengths]).sum(0)


def _product(blocks: Sequence[Block], shape: tuple[int, int]) -> Tensor:
    """The gradients of these blocks' units, formed in full."""
    total: Tensor | None = None
    for block in blocks:
        if block.one_hot:
            part = torch.zeros(block.right.shape[0], *shape, dtype=block.right.dtype, device=block.right.device)
            part.scatter_add_(1, block.left.unsqueeze(2).expand(-1, -1, shape[1]), block.right)
        else:
            part = block.left.transpose(1, 2) @ block.right
        total = part if total is None else total + part
    assert total is not None
    return total
