"""The loss transform of a Poisson sample of a pair whose likelihood-ratio law is known by a quadrature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.privacy.pair import DominatingPair
from renyi.privacy.ratio_law import RatioLaw
from renyi.privacy.transform import AtomsTransform, LossTransform

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class SampledLawTransform(LossTransform):
    """Sums over the nodes of the base's law, mixed, which are laid as densely as the frequency asks."""

    base: DominatingPair
    rate: float
    adding: bool = False

    def cumulant(self, tilt: float) -> float:
        return self._atoms(tilt, 0.0).cumulant(tilt)

    def cumulants(self, tilt: Array) -> Array:
        atoms = self._atoms(float(np.max(tilt)), 0.0)
        return np.array([atoms.cumulant(float(t)) for t in tilt])

    def line(self, tilt: float, step: float, count: int) -> Complex:
        return self._atoms(tilt, step * count).line(tilt, step, count)

    def _atoms(self, tilt: float, frequency: float) -> AtomsTransform:
        law = self.base.resolved_law(tilt + 1.0, frequency)
        if not isinstance(law, RatioLaw):
            raise ConvergenceError(f"the law of {self.base} is not known at frequency {frequency:g}.")
        mixed = law.mixed(self.rate)
        if self.adding:
            return AtomsTransform(-mixed.log_ratio, mixed.log_weight + mixed.log_ratio)
        return AtomsTransform(mixed.log_ratio, mixed.log_weight, mixed.missing)
