"""The likelihood ratio of the Gaussian mechanism on a Poisson sample, as a function of the output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from renyi.laws.ratio_law import log_mixed

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class SampledRatio:
    """The ratio r(u) = 1 - q + q exp(u/sigma - 1/(2 sigma^2)), q = ``rate``, sigma = ``noise``.

    u is the output in units of the noise, which is standard normal if the record is absent.
    """

    rate: float
    noise: float

    def log_ratio(self, u: Array) -> Array:
        """log r on the real line."""
        return log_mixed((u - 0.5 / self.noise) / self.noise, self.rate)

    def log_ratio_at(self, u: NDArray[np.complexfloating[Any, Any]]) -> Complex:
        """log r at complex u, within pi sigma of the real line, where r has no zero."""
        y = (u - 0.5 / self.noise) / self.noise
        # e^y would overflow at 709; long before, 1 - q is negligible beside q e^y.
        far = y.real > 500.0
        near = np.log(1.0 + self.rate * np.expm1(np.where(far, 0.0, y)))
        return np.where(far, y + math.log(self.rate), near)
