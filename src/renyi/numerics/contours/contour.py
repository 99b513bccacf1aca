"""Tail functionals of a random variable from its transform on a vertical line.

For X with M(t) = E e^(tX), any c > 0 with M(c) finite, and t = c + iw,

    tail(x) = E (1 - e^(x - X))_+ = 1/(2 pi) integral over w of M(t) e^(-x t)/(t (t + 1)).

The trapezoidal rule with step h gives, by Poisson summation, exactly the sum over all integers k of
tail(x + k A) e^(k A c), A = 2 pi/h. All terms are nonnegative and k = 0 is the answer, so in exact arithmetic the rule errs
upwards, by the terms with k != 0, which a small h makes negligible. For -1 < c < 0 the same integral is minus the complement
1 - tail(x), E min(1, e^(x - X)), and all of this holds of the complement in place of the tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class LineSums:
    """The trapezoidal sums at one point x: the logarithm of the tail, and what is needed to judge and refine it."""

    log_tail: float
    slope: float
    """Derivative of ``log_tail`` in x; negative."""
    density: float
    """Density of X at x, divided by the tail."""
    scale: float
    """log of M(c) e^(-c x), the factor that all sums on the line share."""
    clarity: float
    """The sum divided by the sum of its absolute values: small where most of it cancels."""


@dataclass(frozen=True, slots=True)
class Line:
    """A transform on a vertical line: M(c + i j h)/M(c) for j = 0, 1, ..., as ``ratio``.

    ``tilt`` is c, ``step`` is h, ``peak`` is log M(c) and ``error`` bounds the error of log M. Terms with j < 0 are the complex
    conjugates of those with j > 0, so half the line suffices.
    """

    tilt: float
    step: float
    peak: float
    ratio: Complex
    error: float = 0.0
    _frequency: Complex = field(init=False, repr=False)
    _terms: Complex = field(init=False, repr=False)
    """Factors of the waves e^(-iwx), in three rows: for the tail, minus its derivative, and the density."""
    _size: float = field(init=False, repr=False)
    """Sum of the absolute values of the tail's terms; it does not depend on x, because |e^(-iwx)| = 1."""
    frequency: float = field(init=False, repr=False)
    """The mean of w, weighted by the absolute values of the tail's terms."""

    def __post_init__(self) -> None:
        frequency = 1j * self.step * np.arange(self.ratio.size)
        terms = np.empty((3, self.ratio.size), dtype=np.complex128)
        terms[2] = self.ratio
        terms[2, 0] *= 0.5  # j = 0 is its own mirror image
        terms[1] = terms[2] / (frequency + (self.tilt + 1.0))
        terms[0] = terms[1] / (frequency + self.tilt) * math.copysign(1.0, self.tilt)
        object.__setattr__(self, "_frequency", frequency)
        object.__setattr__(self, "_terms", terms)
        size = np.abs(terms[0])
        object.__setattr__(self, "_size", float(np.sum(size)))
        object.__setattr__(self, "frequency", float(size @ frequency.imag) / self._size)

    def at(self, x: float) -> LineSums:
        """The sums at x; ``log_tail`` is -inf where nothing but rounding is left."""
        tail, fall, density = (self._terms @ np.exp(-x * self._frequency)).real.tolist()
        scale = self.peak - self.tilt * x
        if not tail > 0.0:
            return LineSums(-math.inf, -math.inf, math.inf, scale, 0.0)
        return LineSums(
            math.log(tail * self.step / math.pi) + scale,
            -fall / tail,
            max(density, 0.0) / tail,
            scale,
            min(tail / self._size, 1.0),
        )
