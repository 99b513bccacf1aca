"""The pair of a truncated Poisson sample: a mixture over whether the other records fill the batch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import DominatingPair

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TruncatedPair(DominatingPair):
    """The profile (1-p) times that of ``usual`` plus p times that of ``truncated``.

    It dominates, because hockey-stick divergences are jointly convex and p does not depend on the record. ``share`` bounds p
    and ``rest`` bounds 1 - p, both from above, so their sum may exceed 1 by rounding.
    """

    usual: DominatingPair
    truncated: DominatingPair
    share: float
    rest: float

    @property
    def attained(self) -> bool:
        return False

    @property
    def max_loss(self) -> float:
        return max(self.usual.max_loss, self.truncated.max_loss)

    @property
    def infinite_mass(self) -> float:
        return min(self.rest * self.usual.infinite_mass + self.share * self.truncated.infinite_mass, 1.0)

    def reversed(self) -> TruncatedPair:
        return TruncatedPair(self.usual.reversed(), self.truncated.reversed(), self.share, self.rest)

    @property
    def loss_error(self) -> float:
        return max(self.usual.loss_error, self.truncated.loss_error)

    def profile_error(self, epsilon: float) -> float:
        return max(self.usual.profile_error(epsilon), self.truncated.profile_error(epsilon))

    def log_profile(self, epsilon: Array) -> Array:
        with np.errstate(divide="ignore"):
            usual = np.log(self.rest) + self.usual.log_profile(epsilon)
        return np.minimum(np.logaddexp(usual, math.log(self.share) + self.truncated.log_profile(epsilon)), 0.0)
