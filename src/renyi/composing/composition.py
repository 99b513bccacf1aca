"""Loss transforms with their counts: what a contour integrates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.transform import CountedTransform, GaussianTransform, LossTransform
from renyi.numerics.contours.contour import Line

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Composition:
    """Transforms with their counts, and the mass at infinite loss, which is kept apart."""

    parts: tuple[CountedTransform, ...]
    """Each kind as it is best computed: fewer transforms than there are steps, where many are alike."""
    escaped: float = 0.0
    blur: float = 0.0
    """The squared reciprocal noise of a Gaussian release that was composed with the run (``contour/blurred``)."""

    def blurred(self, blur: float) -> Composition:
        """The composition with a Gaussian release of squared reciprocal noise ``blur``."""
        extra = GaussianTransform(1.0 / math.sqrt(blur)), 1
        return replace(self, parts=(*self.parts, extra), blur=blur)

    @property
    def dearer_beyond(self) -> bool:
        """Whether a line takes less work at a smaller tilt."""
        return any(transform.dearer_beyond for transform, _ in self.parts)

    @property
    def known_between_poles(self) -> bool:
        """Whether lines at tilts between -1 and 0 are known as closely as others."""
        return all(transform.known_between_poles for transform, _ in self.parts)

    def cumulant(self, tilt: float) -> float:
        """log M of the whole."""
        return math.fsum(count * transform.cumulant(tilt) for transform, count in self.parts)

    def cumulants(self, tilt: Array) -> Array:
        """The same at several tilts, inf where a transform has no value."""
        total = np.zeros(tilt.shape)
        for transform, count in self.parts:
            total += count * transform.cumulants(tilt)
        return total

    def small_cumulants(self, tilt: Array) -> Array:
        """The same at tilts between -1 and 0, from above."""
        total = np.zeros(tilt.shape)
        for transform, count in self.parts:
            total += count * transform.small_cumulants(tilt)
        return total

    def log_decay(self, tilt: float, frequency: float) -> float:
        """Bounds log |M/M(tilt)| at every higher frequency."""
        return math.fsum(count * transform.log_decay(tilt, frequency) for transform, count in self.parts)

    def line(self, tilt: float, step: float, nodes: int) -> Line:
        """The transform on a line."""
        total = np.zeros(nodes, dtype=np.complex128)
        peak = 0.0
        error = 0.0
        for transform, count in self.parts:
            with np.errstate(invalid="ignore"):
                values = count * transform.line(tilt, step, nodes)
            error += count * transform.line_error(tilt, step, nodes)  # while the line is remembered
            peak += float(values[0].real)
            total += values - values[0].real
        if not np.all(np.isfinite(total)):
            raise ConvergenceError("the transform is not finite on the line.")
        with np.errstate(under="ignore"):
            ratio = np.exp(total)
            return Line(tilt, step, peak, ratio, error)


def log_corner(tilt: Array) -> Array:
    """log of tilt^tilt/(1 + tilt)^(1 + tilt): E (1 - e^(x-X))_+ is at most that times M(tilt) e^(-tilt x)."""
    return tilt * np.log(tilt) - (1.0 + tilt) * np.log1p(tilt)


def composition(parts: Sequence[CountedTransform], escaped: float = 0.0) -> Composition:
    """Transforms with positive counts, composed."""
    return Composition(_together(parts), escaped)


def _together(parts: Sequence[CountedTransform]) -> tuple[CountedTransform, ...]:
    """The same, each kind as it is best computed."""
    kinds: dict[type[LossTransform], list[CountedTransform]] = {}
    for transform, count in parts:
        kinds.setdefault(type(transform), []).append((transform, count))
    return tuple(counted for kind, members in kinds.items() for counted in kind.together(members))
