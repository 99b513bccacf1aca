"""The dominating pair of a group of records under Poisson sampling with Gaussian noise: a mixture over how many are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pairs.gaussian_mixture import MixturePair
from renyi.numerics.binomial import log_binomial_weight

Array = NDArray[np.float64]

LARGEST_GROUP = 1024
"""Largest group whose mixture is summed; larger groups are left to the general bound."""


@dataclass(frozen=True)
class GroupMixturePair(MixturePair):
    """Shifts j with the weights Bin(k, q)(j), 0 < q < 1, k = ``size``: how many of the group's records were drawn."""

    most_nodes: ClassVar[int] = 2_000_000

    noise: float
    rate: float
    size: int
    adding: bool = False

    @property
    def log_none(self) -> float:
        return self.size * math.log1p(-self.rate)

    def shifts_and_weights(self) -> tuple[Array, Array]:
        drawn = np.arange(1.0, self.size + 1.0)
        return drawn, log_binomial_weight(self.size, drawn, self.rate)

    def reversed(self) -> GroupMixturePair:
        return GroupMixturePair(self.noise, self.rate, self.size, not self.adding)

    def step(self, order: float) -> float:
        """Multiplying the coefficients of (1 - q + q w)^k by e^(-c j^2) keeps its roots real and negative.

        So P/Q has no zero within pi s of the real line, however large the group.
        """
        # Half the step at which the aliasing error is e^-37 = e^(-74/2): see ``real_step`` in gaussian/law.
        bend = math.hypot(0.5 * math.sqrt(self.size * order), self.noise)
        return min(0.3 * self.noise, 0.3, math.pi * self.noise / (math.sqrt(74.0) * bend))
