"""Tail functionals of a random variable from its transform on a vertical line.

For X with M(t) = E e^(tX), any c > 0 with M(c) finite, and t = c + iw,

    tail(x) = E (1 - e^(x - X))_+ = 1/(2 pi) integral over w of M(t) e^(-x t)/(t (t + 1)).

The trapezoidal rule with step h gives, by Poisson summation, exactly the sum over all integers k of
tail(x + k A) e^(k A c), A = 2 pi/h: all terms are nonnegative, and k = 0 is the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Sums:
    """The trapezoidal sums at one point: the tail's logarithm and what is needed to judge and to refine it."""

    log_tail: float
    slope: float  # of the tail's logarithm in x; negative
    density: float  # of X at x, divided by the tail
    scale: float  # log of M(c) e^(-c x): what sums on the line are relative to
    clarity: float  # the sum divided by the sum of absolute values: small where most of it cancels


@dataclass(frozen=True, slots=True)
class Line:
    """M(c + i j h)/M(c) for j = 0, 1, ..., with c = ``tilt``, h = ``step``, log M(c) = ``peak``."""

    tilt: float
    step: float
    peak: float
    ratio: Complex

    def at(self, x: float) -> Sums:
        """The sums at x; ``log_tail`` is -inf where rounding has eaten everything."""
        frequency = self.step * np.arange(self.ratio.size)
        t = self.tilt + 1j * frequency
        wave = self.ratio * np.exp(-1j * x * frequency)
        wave[0] *= 0.5
        smooth = wave / (t + 1.0)
        terms = smooth / t
        tail, fall = float(np.sum(terms.real)), float(np.sum(smooth.real))
        size = float(np.sum(np.abs(terms)))
        scale = self.peak - self.tilt * x
        if not tail > 0.0:
            return Sums(-math.inf, -math.inf, math.inf, scale, 0.0)
        density = max(float(np.sum(wave.real)), 0.0)
        return Sums(
            math.log(tail * self.step / math.pi) + scale, -fall / tail, density / tail, scale, min(tail / size, 1.0)
        )
