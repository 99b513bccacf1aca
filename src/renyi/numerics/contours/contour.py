"""Tail functionals of a random variable from its transform on a vertical line.

For X with M(t) = E e^(tX), any c > 0 with M(c) finite, and t = c + iw,

    tail(x) = E (1 - e^(x - X))_+ = 1/(2 pi) integral over w of M(t) e^(-x t)/(t (t + 1)).

The trapezoidal rule with step h gives, by Poisson summation, exactly the sum over all integers k of
tail(x + k A) e^(k A c), A = 2 pi/h: all terms are nonnegative, and k = 0 is the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

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
    """M(c + i j h)/M(c) for j = 0, 1, ..., with c = ``tilt``, h = ``step``, log M(c) = ``peak``; ``error`` is of its log."""

    tilt: float
    step: float
    peak: float
    ratio: Complex
    error: float = 0.0
    _frequency: Complex = field(init=False, repr=False)
    _terms: Complex = field(
        init=False, repr=False
    )  # what the waves e^(-iwx) are multiplied by: for the tail, its fall, the density
    _size: float = field(init=False, repr=False)  # of the tail's terms, which no wave changes
    frequency: float = field(init=False, repr=False)
    """The mean of w, weighted by the sizes of the tail's terms."""

    def __post_init__(self) -> None:
        frequency = 1j * self.step * np.arange(self.ratio.size)
        terms = np.empty((3, self.ratio.size), dtype=np.complex128)
        terms[2] = self.ratio
        terms[2, 0] *= 0.5
        terms[1] = terms[2] / (frequency + (self.tilt + 1.0))
        terms[0] = terms[1] / (frequency + self.tilt)
        object.__setattr__(self, "_frequency", frequency)
        object.__setattr__(self, "_terms", terms)
        size = np.abs(terms[0])
        object.__setattr__(self, "_size", float(np.sum(size)))
        object.__setattr__(self, "frequency", float(size @ frequency.imag) / self._size)

    def at(self, x: float) -> Sums:
        """The sums at x; ``log_tail`` is -inf where rounding has eaten everything."""
        tail, fall, density = (self._terms @ np.exp(-x * self._frequency)).real.tolist()
        scale = self.peak - self.tilt * x
        if not tail > 0.0:
            return Sums(-math.inf, -math.inf, math.inf, scale, 0.0)
        return Sums(
            math.log(tail * self.step / math.pi) + scale,
            -fall / tail,
            max(density, 0.0) / tail,
            scale,
            min(tail / self._size, 1.0),
        )
