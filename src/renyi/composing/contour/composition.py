"""Loss transforms with their counts: what a contour integrates, with or without a blur or its lump of small losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.transform import Counted, CutTransform, GaussianTransform, LossTransform
from renyi.numerics.contours.contour import Line
from renyi.numerics.contours.power_sums import complex_expm1, complex_log1p

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Composition:
    """Transforms with their counts, and the mass at infinite loss, which is kept apart."""

    parts: tuple[Counted, ...]
    together: tuple[Counted, ...]
    """The same product, of fewer transforms where many are alike."""
    escaped: float = 0.0
    blur: float = 0.0
    cuts: tuple[CutTransform, ...] = ()

    def blurred(self, blur: float) -> Composition:
        """The composition with a Gaussian release of squared reciprocal noise ``blur``."""
        extra = GaussianTransform(1.0 / math.sqrt(blur)), 1
        return replace(self, parts=(*self.parts, extra), together=(*self.together, extra), blur=blur)

    def cut(self, level: float) -> Composition | None:
        """The same without what consists of small losses only, in every part below ``level``; None where a part has no cut."""
        cuts = tuple(transform.cut(level) for transform, _ in self.parts)
        if any(cut is None for cut in cuts):
            return None
        return replace(self, cuts=tuple(cut for cut in cuts if cut is not None))

    def log_left_out(self, epsilon: float, tilt: float) -> float:
        """log of a bound on the delta of what a cut leaves out, by Chernoff's bound at a few large tilts."""
        if not self.cuts:
            return -math.inf
        tilts = tilt * np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0])
        total = -tilts * epsilon + log_corner(tilts)
        for cut, (_, count) in zip(self.cuts, self.parts, strict=True):
            total += count * cut.below(tilts)
        return float(np.min(total))

    def cumulant(self, tilt: float) -> float:
        """log M of the whole."""
        return math.fsum(count * transform.cumulant(tilt) for transform, count in self.together)

    def cumulants(self, tilt: Array) -> Array:
        """The same at several tilts, inf where a transform has no value."""
        total = np.zeros(tilt.shape)
        for transform, count in self.together:
            total += count * transform.cumulants(tilt)
        return total

    def small_cumulants(self, tilt: Array) -> Array:
        """The same at tilts between -1 and 0, from above."""
        total = np.zeros(tilt.shape)
        for transform, count in self.together:
            total += count * transform.small_cumulants(tilt)
        return total

    def log_decay(self, tilt: float, frequency: float) -> float:
        """Bounds log |M/M(tilt)| at every higher frequency, of what is not left out."""
        if self.cuts:
            steps = math.fsum(
                count * math.exp(min(cut.log_above_decay(tilt, frequency) - transform.cumulant(tilt), 600.0))
                for cut, (transform, count) in zip(self.cuts, self.parts, strict=True)
            )
            # |M^T - A^T| <= (|A| + |S|)^T - |A|^T, and |A| <= M(tilt).
            return math.log(math.expm1(steps)) if steps < 600.0 else steps
        return math.fsum(count * transform.log_decay(tilt, frequency) for transform, count in self.together)

    def line(self, tilt: float, step: float, nodes: int) -> Line:
        """The transform on a line."""
        if self.cuts:
            return self._cut_line(tilt, step, nodes)
        total = np.zeros(nodes, dtype=np.complex128)
        peak = 0.0
        error = 0.0
        for transform, count in self.together:
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

    def _cut_line(self, tilt: float, step: float, nodes: int) -> Line:
        """Of the product of M = A + S less the product of A."""
        peak = self.cumulant(tilt)
        below = np.full(nodes, -peak, dtype=np.complex128)
        above = np.zeros(nodes, dtype=np.complex128)
        for cut, (_, count) in zip(self.cuts, self.parts, strict=True):
            log_a, s = cut.lines(tilt, step, nodes)
            below = below + count * np.where(np.isfinite(log_a), log_a, np.inf)
            with np.errstate(invalid="ignore", over="ignore"):
                above += count * complex_log1p(s * np.exp(-log_a))
        if not (np.all(np.isfinite(below)) and np.all(np.isfinite(above))):
            raise ConvergenceError("the transform is not finite on the line.")
        with np.errstate(under="ignore"):
            return Line(tilt, step, peak, np.exp(below) * complex_expm1(above))

    def rounding(self, line: Line) -> float:
        """What the errors of the logarithms on a line make of its values, relatively."""
        nodes = line.ratio.size
        if not self.cuts:
            return line.error
        total = 0.0
        for cut, (_, count) in zip(self.cuts, self.parts, strict=True):
            log_a, s = cut.lines(line.tilt, line.step, nodes)
            total += count * 1e-14 * (abs(complex(log_a[0])) + abs(complex(s[0])))
        # What is left is about as large as S, and known as well as that.
        return total + max(cut.above_error(line.tilt) for cut in self.cuts)


def log_corner(tilt: Array) -> Array:
    """log of tilt^tilt/(1 + tilt)^(1 + tilt): E (1 - e^(x-X))_+ is at most that times M(tilt) e^(-tilt x)."""
    return tilt * np.log(tilt) - (1.0 + tilt) * np.log1p(tilt)


def composition(parts: Sequence[Counted], escaped: float = 0.0) -> Composition:
    """Transforms with positive counts, composed."""
    return Composition(tuple(parts), _together(parts), escaped)


def _together(parts: Sequence[Counted]) -> tuple[Counted, ...]:
    """The same, each kind as it is best computed."""
    kinds: dict[type[LossTransform], list[Counted]] = {}
    for transform, count in parts:
        kinds.setdefault(type(transform), []).append((transform, count))
    return tuple(counted for kind, members in kinds.items() for counted in kind.together(members))
