"""The loss transform of a Poisson sample of a pair whose likelihood-ratio law is given by a quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.pair import DominatingPair
from renyi.laws.transform import AtomsTransform, LossTransform

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class SampledLawTransform(LossTransform):
    """A sum over the nodes of the base pair's law, with mixed ratios; nodes are as dense as the frequency requires."""

    base: DominatingPair
    rate: float
    adding: bool = False

    def cumulant(self, tilt: float) -> float:
        return self._atoms(tilt, 0.0).cumulant(tilt)

    def cumulants(self, tilt: Array) -> Array:
        return self._atoms(float(np.max(tilt)), 0.0).cumulants(tilt)

    def line(self, tilt: float, step: float, count: int) -> Complex:
        return self._atoms(tilt, step * count).line(tilt, step, count)

    def log_decay(self, tilt: float, frequency: float) -> float:
        decay = self.base.mixed_decay(self.rate, tilt, adding=self.adding)
        return 0.0 if decay is None else decay.at(frequency)

    @property
    def known_between_poles(self) -> bool:
        return True

    def _atoms(self, tilt: float, frequency: float) -> AtomsTransform:
        # d log(1 - q + q r)/d log r is the probability that the record was drawn, given r: at most its value at the largest r.
        largest = min(self.base.max_loss, 600.0)
        drawn = self.rate * math.exp(largest) / (1.0 + self.rate * math.expm1(largest))
        law = self.base.resolved_law(tilt + 1.0, frequency * drawn)
        if law is None:
            raise ConvergenceError(f"the law of {self.base} is not known at frequency {frequency:g}.")
        mixed = law.mixed(self.rate)
        if self.adding:
            return AtomsTransform(-mixed.log_ratio, mixed.log_weight + mixed.log_ratio)
        return AtomsTransform(mixed.log_ratio, mixed.log_weight, mixed.missing)
