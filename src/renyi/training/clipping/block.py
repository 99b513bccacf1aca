"""Terms of a sum of outer products, one sum for each unit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from renyi.training.clipping import gram


@dataclass(frozen=True, slots=True)
class Block:
    """Terms of a sum of outer products: `left` is (units, terms, rows) or, for one-hot rows, their indices (units, terms)."""

    left: Tensor
    right: Tensor

    @property
    def one_hot(self) -> bool:
        """Whether the left factors are given by index."""
        return self.left.dim() == 2

    @property
    def width(self) -> int:
        """The number of products that are summed in an inner product of two left factors."""
        return 1 if self.one_hot else self.left.shape[2]

    def chunk(self, units: slice, *, wide: bool) -> Block:
        """The block of some of the units, in float32 or, if `wide`, in float64."""
        left, right = self.left[units], gram.cast(self.right[units], wide=wide)
        return Block(left.to(right.device) if self.one_hot else gram.cast(left, wide=wide), right)

    def sizes(self) -> tuple[Tensor, Tensor]:
        """The lengths of the left and of the right factors, (units, terms)."""
        right = gram.lengths(self.right)
        return torch.ones_like(right) if self.one_hot else gram.lengths(self.left), right

    def scaled(self, factors: Tensor) -> Block:
        """The block with every unit's terms multiplied by its factor, in float32; the smaller side is multiplied."""
        by = factors[:, None, None]
        if self.one_hot or self.right.numel() <= self.left.numel():
            return Block(self.left, self.right.float() * by)
        return Block(self.left.float() * by, self.right)

    def summed(self, shape: tuple[int, int]) -> Tensor:
        """The sum of all terms of all units."""
        left, right = self.left, self.right.float()
        if self.one_hot:
            return torch.zeros(shape, dtype=torch.float32, device=right.device).index_add_(
                0, left.flatten(), right.flatten(0, 1)
            )
        left = left.float()
        # In the order in which they lie in memory, so that nothing is copied: the sum does not mind.
        if left.stride(0) < left.stride(1):
            left, right = left.transpose(0, 1), right.transpose(0, 1)
        return left.flatten(0, 1).t() @ right.flatten(0, 1)

    def overlap(self, other: Block) -> tuple[Tensor, float]:
        """Inner products of the left factors, (units, terms, other's terms), and their relative error."""
        if self.one_hot and other.one_hot:
            return (self.left.unsqueeze(2) == other.left.unsqueeze(1)).to(gram.widest(self.left.device)), 0.0
        if self.one_hot:
            terms = other.left.shape[1]
            index = self.left.unsqueeze(1).expand(-1, terms, -1)
            return other.left.gather(2, index).transpose(1, 2).to(gram.widest(self.left.device)), 0.0
        if other.one_hot:
            products, share = other.overlap(self)
            return products.transpose(1, 2), share
        return gram.products(self.left, other.left)
