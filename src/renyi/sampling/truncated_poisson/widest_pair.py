"""A pair that dominates several others: the pointwise maximum of their profiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import DominatingPair
from renyi.sampling.replacing.symmetric_pair import SymmetricPair

Array = NDArray[np.float64]


def widest_pair(*pairs: DominatingPair) -> DominatingPair:
    """A pair that dominates all of these at epsilon >= 0: one of them if it is known to dominate the others."""
    for pair in pairs:
        if all(pair.dominates(other) for other in pairs):
            return pair
    return WidestPair(pairs)


@dataclass(frozen=True, slots=True)
class WidestPair(SymmetricPair):
    """The pointwise maximum of the profiles of ``pairs`` at epsilon >= 0, and its mirror."""

    pairs: tuple[DominatingPair, ...]

    @property
    def attained(self) -> bool:
        return False

    @property
    def max_loss(self) -> float:
        return max(pair.max_loss for pair in self.pairs)

    @property
    def infinite_mass(self) -> float:
        return max(pair.infinite_mass for pair in self.pairs)

    @property
    def loss_error(self) -> float:
        return max(pair.loss_error for pair in self.pairs)

    def profile_error(self, epsilon: float) -> float:
        return max(pair.profile_error(epsilon) for pair in self.pairs)

    def log_right(self, epsilon: Array) -> Array:
        return np.asarray(np.max([pair.log_profile(epsilon) for pair in self.pairs], axis=0))
