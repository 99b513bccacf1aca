"""Per-unit gradients of one parameter, in whatever form makes their norms and weighted sums cheap.

Every form answers three questions: the squared norm of each unit's gradient, in float64 and never too small; the sum of the
gradients weighted by a factor per unit, in float32; and, when nothing cheaper is possible, the gradients themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from renyi.training.clipping import gram

CHUNK = 1 << 22  # floats that a temporary may hold
RUN = 1 << 11  # floats that are added up one after another; longer sums are sums of such runs


class PerUnit(Protocol):
    """The gradients of one parameter, one for each unit."""

    def norm2(self, *, wide: bool = False) -> Tensor:
        """The squared norm of every unit's gradient; `wide` forms no square in float32, where 1e20 has none."""
        ...

    def weighted(self, factors: Tensor) -> Tensor:
        """The sum over units of factor times gradient, in the parameter's shape."""
        ...

    def dense(self) -> Tensor:
        """The gradients themselves, units first."""
        ...

    def only(self, keep: Tensor) -> PerUnit:
        """The same with the gradients of the other units replaced by zero, even where they are not finite."""
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """Gradients that are small enough to be held."""

    values: Tensor

    def norm2(self, *, wide: bool = False) -> Tensor:
        """See `PerUnit`."""
        return squares(self._flat().double() if wide else self._flat())

    def weighted(self, factors: Tensor) -> Tensor:
        """See `PerUnit`."""
        return (factors @ self._flat()).view(self.values.shape[1:])

    def dense(self) -> Tensor:
        """See `PerUnit`."""
        return self.values

    def only(self, keep: Tensor) -> Dense:
        """See `PerUnit`."""
        return Dense(zeroed(self.values, keep))

    def _flat(self) -> Tensor:
        return self.values.unsqueeze(-1).flatten(1)


@dataclass(frozen=True, slots=True)
class Block:
    """Terms of a sum of outer products: `left` (units, terms, rows) or, for one-hot rows, their indices (units, terms)."""

    left: Tensor
    right: Tensor

    @property
    def one_hot(self) -> bool:
        """Whether the left factors are given by index."""
        return self.left.dim() == 2

    def chunk(self, units: slice | Tensor, dtype: torch.dtype = torch.float32) -> Block:
        """The same for some of the units, in float32 or float64."""
        return Block(self.left[units] if self.one_hot else self.left[units].to(dtype), self.right[units].to(dtype))

    def sizes(self) -> tuple[Tensor, Tensor]:
        """The lengths of the left and of the right factors, (units, terms)."""
        right = gram.lengths(self.right)
        return torch.ones_like(right) if self.one_hot else gram.lengths(self.left), right

    def scaled(self, factors: Tensor) -> Block:
        """The same with every unit's terms multiplied by its factor, in float32; the smaller side is multiplied."""
        by = factors[:, None, None]
        if self.one_hot or self.right.numel() <= self.left.numel():
            return Block(self.left, self.right.float() * by)
        return Block(self.left.float() * by, self.right)

    def summed(self, shape: tuple[int, int]) -> Tensor:
        """The sum of all terms of all units."""
        right = self.right.float().flatten(0, 1)
        if self.one_hot:
            return torch.zeros(shape, dtype=torch.float32, device=right.device).index_add_(
                0, self.left.flatten(), right
            )
        return self.left.float().flatten(0, 1).t() @ right

    def overlap(self, other: Block) -> tuple[Tensor, float]:
        """Inner products of the left factors, (units, terms, other's terms), and their relative error."""
        if self.one_hot and other.one_hot:
            return (self.left.unsqueeze(2) == other.left.unsqueeze(1)).double(), 0.0
        if self.one_hot:
            terms = other.left.shape[1]
            index = self.left.unsqueeze(1).expand(-1, terms, -1)
            return other.left.gather(2, index).transpose(1, 2).double(), 0.0
        if other.one_hot:
            products, share = other.overlap(self)
            return products.transpose(1, 2), share
        return gram.products(self.left, other.left)


@dataclass(frozen=True, slots=True)
class Outer:
    """Gradients that are sums of outer products, as a matrix multiplied with data has them.

    The norm needs no gradient: it is the sum over pairs of terms of <left, left'> <right, right'>. Which way is cheaper
    depends on the number of terms (positions of a sequence) and the size of the matrix.
    """

    blocks: tuple[Block, ...]
    shape: tuple[int, int]

    def norm2(self, *, wide: bool = False) -> Tensor:
        """See `PerUnit`."""
        terms, size = self._terms(), self.shape[0] * self.shape[1]
        dtype = torch.float64 if wide else torch.float32
        if 2 * terms * terms <= size:
            return torch.cat([_gram(blocks) for blocks in self._chunks(terms * terms, dtype)])
        return torch.cat([_formed(blocks, self.shape) for blocks in self._chunks(size, dtype)])

    def settled(self) -> PerUnit:
        """The gradients themselves if that is cheaper than their factors in both time and memory."""
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

    def only(self, keep: Tensor) -> Outer:
        """See `PerUnit`."""
        return Outer(tuple(Block(zeroed(b.left, keep), zeroed(b.right, keep)) for b in self.blocks), self.shape)

    def transposed(self) -> Outer | None:
        """The gradients of the transposed matrix, in the same form if it has one."""
        if any(block.one_hot for block in self.blocks):
            return None
        return Outer(tuple(Block(b.right, b.left) for b in self.blocks), (self.shape[1], self.shape[0]))

    def _terms(self) -> int:
        return sum(block.right.shape[1] for block in self.blocks)

    def _chunks(self, size: int, dtype: torch.dtype = torch.float32) -> Iterator[list[Block]]:
        units = self.blocks[0].right.shape[0]
        step = max(1, CHUNK // max(1, size))
        for start in range(0, units, step):
            yield [block.chunk(slice(start, start + step), dtype) for block in self.blocks]


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """No gradients, no autocast, no mode: plain arithmetic in the dtypes at hand."""
    cast = torch.autocast(device.type, enabled=False) if torch.amp.is_autocast_available(device.type) else nullcontext()
    with torch.no_grad(), cast, torch._C.DisableTorchFunction():
        yield


def squares(tensor: Tensor) -> Tensor:
    """The squared norm of every unit's part, accurate to a few units in the last place however long it is."""
    flat = tensor.flatten(1)
    whole = flat.shape[1] - flat.shape[1] % RUN
    blocks = flat[:, :whole].reshape(flat.shape[0], -1, RUN)
    rest = gram.lengths(flat[:, whole:]).square()
    return gram.lengths(blocks).square().sum(1) + rest if whole else rest


def zeroed(tensor: Tensor, keep: Tensor) -> Tensor:
    """The tensor with all units but those to keep replaced by zero."""
    return torch.where(
        keep.view(-1, *(1,) * (tensor.dim() - 1)), tensor, torch.zeros((), dtype=tensor.dtype, device=keep.device)
    )


def joined(parts: Sequence[PerUnit]) -> PerUnit:
    """The sum of the gradients that several uses of one parameter give, cross terms of their norms included."""
    if len(parts) == 1:
        return parts[0]
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


def _gram(blocks: Sequence[Block]) -> Tensor:
    """Squared norms from inner products of terms; where they cancel, from those in float64."""
    if len(blocks) == 1 and blocks[0].right.shape[1] == 1:
        (block,) = blocks
        return squares(block.right) if block.one_hot else squares(block.right) * squares(block.left)
    lengths = [block.sizes() for block in blocks]
    size = sum(((left * right).sum(1) for left, right in lengths), torch.zeros((), dtype=torch.float64))
    total, error = torch.zeros_like(size), torch.zeros_like(size)
    for i, block in enumerate(blocks):
        for j, other in enumerate(blocks[: i + 1]):
            left, of_left = block.overlap(other)
            right, of_right = gram.products(block.right, other.right)
            sizes = (lengths[i][0], lengths[j][0], lengths[i][1], lengths[j][1])
            part, off = gram.paired(left, right, (of_left, of_right), sizes)
            total += part if i == j else 2 * part
            error += off if i == j else 2 * off
    if blocks[0].right.dtype == torch.float64:
        return gram.norm2_upper(total, error, size, None)
    return gram.norm2_upper(total, error, size, lambda units: _gram([b.chunk(units, torch.float64) for b in blocks]))


def _formed(blocks: Sequence[Block], shape: tuple[int, int]) -> Tensor:
    """Squared norms of gradients that are formed for it."""
    found = squares(_product(blocks, shape))
    size = torch.stack([(left * right).sum(1) for left, right in (b.sizes() for b in blocks)]).sum(0)
    return gram.norm2_upper(found, torch.zeros_like(found), size, None)


def _product(blocks: Sequence[Block], shape: tuple[int, int]) -> Tensor:
    """The gradients of some units, formed."""
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
