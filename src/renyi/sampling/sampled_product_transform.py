"""The loss transform of one Poisson sample that feeds two releases: a Gaussian one and another.

Given the other release's ratio e^r, the draw has the mixed ratio 1 - q + q e^r e^g = (1 - q + q e^r) (1 - q' + q' e^g), where
q' = q e^r/(1 - q + q e^r) and g is the Gaussian log-ratio. So the transform M is an average, over the law of the other release,
of transforms of sampled Gaussians with rates q'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.pair import DominatingPair
from renyi.laws.ratio_law import log_mixed
from renyi.laws.transform import LossTransform
from renyi.numerics.logspace import log_sum_exp
from renyi.sampling.poisson.gaussian.transform import SampledGaussianTransform

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_MOST_NODES = 2_000
"""Values of the other release, each of which takes a transform of its own; more would take too long."""


@dataclass(frozen=True, slots=True)
class SampledProductTransform(LossTransform):
    """The transform for removing the record; ``other`` must have a ``DominatingPair.resolved_law``."""

    noise: float
    other: DominatingPair
    rate: float

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        mixed, log_weight, gaussians = self._mixture(float(np.max(tilt)), 0.0)
        inner = np.array([gaussian.cumulants(tilt) for gaussian in gaussians]).T
        return log_sum_exp((tilt[:, None] + 1.0) * mixed + log_weight + inner)

    def line(self, tilt: float, step: float, count: int) -> Complex:
        mixed, log_weight, gaussians = self._mixture(tilt, step * count)
        t = tilt + 1j * step * np.arange(count)
        total = np.zeros(count, dtype=np.complex128)
        for loss, log_mass, gaussian in zip(mixed.tolist(), log_weight.tolist(), gaussians, strict=True):
            total += np.exp((t + 1.0) * loss + log_mass + gaussian.line(tilt, step, count))
        return np.log(total)

    def line_error(self, tilt: float, step: float, count: int) -> float:
        """The error of sums near 1, which is relative to 1 and not to their distance from it."""
        return 2e-14 * (1.0 + abs(self.cumulant(tilt)))

    def log_decay(self, tilt: float, frequency: float) -> float:
        mixed, log_weight, gaussians = self._mixture(tilt, 0.0)
        size = np.array([gaussian.cumulant(tilt) for gaussian in gaussians]) + (tilt + 1.0) * mixed + log_weight
        decay = np.array([gaussian.log_decay(tilt, frequency) for gaussian in gaussians])
        both = np.array([size, size + decay])
        whole, left = log_sum_exp(both).tolist()
        return left - whole + 1e-9  # a margin for the cumulants, which are known to twelve digits

    def _mixture(self, tilt: float, frequency: float) -> tuple[Array, Array, list[SampledGaussianTransform]]:
        """For each value of the other release: its mixed loss, its log-probability, and the Gaussian's transform given it."""
        law = self.other.resolved_law(tilt + 1.0, frequency)
        if law is None or law.missing > 0.0 or law.log_ratio.size > _MOST_NODES:
            raise ConvergenceError(f"the law of {self.other} is not known at frequency {frequency:g}.")
        mixed = log_mixed(law.log_ratio, self.rate)
        rates = np.exp(math.log(self.rate) + law.log_ratio - mixed)
        return mixed, law.log_weight, [SampledGaussianTransform(rate, self.noise, False) for rate in rates.tolist()]
