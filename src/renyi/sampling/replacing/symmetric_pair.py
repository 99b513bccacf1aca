"""A pair that equals its own reversal, given by its profile at epsilon >= 0."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import DominatingPair
from renyi.numerics.logspace import log1mexp

Array = NDArray[np.float64]


class SymmetricPair(DominatingPair):
    """Replacing one record by another is the same relation in both directions, so one bound at epsilon >= 0 gives the profile.

    Below 0 the profile is 1 - e^epsilon + e^epsilon H_{e^-epsilon}(Q || P), a sum of positive terms.
    """

    __slots__ = ()

    @abstractmethod
    def log_right(self, epsilon: Array) -> Array:
        """log of the profile at each of a one-dimensional array of epsilon >= 0."""

    def reversed(self) -> Self:
        return self

    def log_profile(self, epsilon: Array) -> Array:
        flat = np.asarray(epsilon, dtype=np.float64).ravel()
        with np.errstate(all="ignore"):
            value = np.minimum(self.log_right(np.abs(flat)), 0.0)
            behind = flat < 0.0
            value[behind] = np.minimum(np.logaddexp(log1mexp(-flat[behind]), value[behind] + flat[behind]), 0.0)
        return value.reshape(np.shape(epsilon))
