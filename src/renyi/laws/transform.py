"""The Laplace transform of a privacy loss on vertical lines: what contour integration composes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.numerics.contours.power_sums import complex_log1p, phi_power_sums, plain_power_sums
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.remainder import exp_remainder

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_MOST_TERMS = 20_000_000
"""Points of a line times losses; a line that needs more is refused, and another method is asked."""

_TERMS_AT_ONCE = 200_000
"""Terms of a sum in one array: larger arrays only take more memory."""

_LARGE_LOG_TERM = 30.0
"""log of a term of M above which M is summed directly: beside e^30 = 1e13 it makes no difference whether M or M - 1 is."""

_LARGE_ESCAPE = 1e-3
"""Mass at infinite loss above which M is summed directly: M is then not close to 1 at any tilt, and nothing cancels."""

SMALLEST_KNOWN = -8.0
"""A log M below which 1 + (M - 1) has lost the digits of M that bounds are asked for: eleven."""

CountedTransform = tuple["LossTransform", int]
"""A transform and how many independent losses have it."""


class LossTransform(ABC):
    """M(t) = E_P[e^(t L); L finite], for the loss L = log(P/Q) of one pair.

    Its logarithm is wanted with an error relative to itself, because it is multiplied by the number of steps: for a small
    loss M is close to 1.
    """

    @abstractmethod
    def cumulant(self, tilt: float) -> float:
        """log M(tilt) at a real tilt > -1 other than -1/2, inf where it overflows or diverges."""

    def cumulants(self, tilt: Array) -> Array:
        """log M at several real tilts."""
        return np.array([self.cumulant(float(t)) for t in tilt])

    def small_cumulants(self, tilt: Array) -> Array:
        """log M at tilts between -1 and 0, where M <= 1; an upper bound where M, as 1 and a number near -1, loses digits."""
        return np.maximum(self.cumulants(tilt), SMALLEST_KNOWN)

    @abstractmethod
    def line(self, tilt: float, step: float, count: int) -> Complex:
        """log M(tilt + i step j) for j < count, up to multiples of 2 pi i."""

    def line_error(self, tilt: float, step: float, count: int) -> float:
        """The absolute error of the logarithms on that line."""
        return abs(self.cumulant(tilt)) * self.relative_error

    def log_decay(self, tilt: float, frequency: float) -> float:
        """A bound on log |M(tilt + i w)/M(tilt)| for every w >= ``frequency``; 0 where nothing is known.

        At an infinite frequency it is the limit, which tells whether any line is long enough.
        """
        return 0.0

    @property
    def relative_error(self) -> float:
        """Relative error of log M."""
        return 2e-14

    @property
    def known_between_poles(self) -> bool:
        """Whether lines at tilts between -1 and 0, where M <= 1, are known as closely as others."""
        return False

    @property
    def dearer_beyond(self) -> bool:
        """Whether a line takes much more work the larger its tilt is."""
        return False

    @staticmethod
    def together(members: Sequence[CountedTransform]) -> Iterable[CountedTransform]:
        """Transforms of this kind with their counts; a kind that is cheaper in bulk merges some of them."""
        return members


@dataclass(frozen=True, slots=True)
class GaussianTransform(LossTransform):
    """log M(t) = t (t + 1)/(2 noise^2)."""

    noise: float

    def cumulant(self, tilt: float) -> float:
        return tilt * (tilt + 1.0) / (2.0 * self.noise * self.noise)

    def small_cumulants(self, tilt: Array) -> Array:
        return self.cumulants(tilt)

    def line(self, tilt: float, step: float, count: int) -> Complex:
        t = np.asarray(tilt + 1j * step * np.arange(count), dtype=np.complex128)
        return t * (t + 1.0) / (2.0 * self.noise * self.noise)

    def log_decay(self, tilt: float, frequency: float) -> float:
        return -0.5 * (frequency / self.noise) ** 2

    @property
    def relative_error(self) -> float:
        return 2e-15

    @property
    def known_between_poles(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, eq=False)
class AtomsTransform(LossTransform):
    """Finitely many losses, ``log_weight`` their logarithmic probabilities under Q, and mass of P that escapes to infinity.

    With phi(z) = e^z - 1 - z >= 0 and E over P's finite losses, M(t) = 1 - escaped + t E[L] + E[phi(t L)], and E[L] is
    E[phi(-L)] - escaped plus the mass of Q where P has none: sums that keep their digits however small t is.
    """

    loss: Array
    log_weight: Array
    escaped: float = 0.0

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        loss, log_p, mean = self._finite()
        weight = np.exp(log_p)
        result = np.empty(tilt.shape)
        rows = max(1, _TERMS_AT_ONCE // max(loss.size, 1))
        for start in range(0, tilt.size, rows):
            t = tilt[start : start + rows]
            z = t[:, None] * loss
            top = np.max(z + log_p, axis=1, initial=-math.inf)
            large = (
                (top > _LARGE_LOG_TERM)
                | (np.max(z, axis=1, initial=-math.inf) > 600.0)
                | (self.escaped > _LARGE_ESCAPE)
            )
            part = result[start : start + rows]
            if large.any():
                part[large] = log_sum_exp(z[large] + log_p)
            if not large.all():
                part[~large] = np.log1p(exp_remainder(z[~large]) @ weight + t[~large] * mean - self.escaped)
        return np.where(np.isnan(result), math.inf, result)

    def _finite(self) -> tuple[Array, Array, float]:
        """The losses above -inf, their logarithmic probabilities under P, and the mean of the finite losses."""
        finite = self.loss > -math.inf
        loss = self.loss[finite]
        log_p = self.log_weight[finite] + loss
        gone = float(np.sum(np.exp(self.log_weight[~finite])))
        with np.errstate(over="ignore"):
            rise = np.exp(self.log_weight[finite]) - np.exp(log_p) * (1.0 - loss)  # where e^-L may overflow
            small = np.abs(loss) < 30.0
            rise[small] = np.exp(log_p[small]) * exp_remainder(-loss[small])
        return loss, log_p, float(np.sum(rise, dtype=np.longdouble)) + gone - self.escaped

    def line(self, tilt: float, step: float, count: int) -> Complex:
        frequency = step * np.arange(count)
        loss, log_p, mean = self._finite()
        top = float(np.max(tilt * loss + log_p, initial=-math.inf))
        large = top > _LARGE_LOG_TERM or self.escaped > _LARGE_ESCAPE
        weight = np.exp(tilt * loss + log_p - top) if large else np.exp(log_p)
        if count * loss.size > _MOST_TERMS:
            raise ConvergenceError(f"a line of {count} points over {loss.size} losses takes too long.")
        result = np.empty(frequency.shape, dtype=np.complex128)
        start = 0
        while start < frequency.size:
            # In bands of frequencies and blocks of memory.
            high = max(8.0 * frequency[start], tilt, float(frequency[-1]) / 512.0)
            stop = min(int(np.searchsorted(frequency, high, side="right")), frequency.size)
            stop = min(stop, start + max(64, 5 * _TERMS_AT_ONCE // max(loss.size, 1)))
            width, begin = stop - start, complex(tilt, frequency[start])
            if large:
                sums = plain_power_sums(1j * begin.imag, step, width, loss, weight)
                result[start:stop] = top + np.log(sums)
            else:
                t: Complex = np.asarray(begin + 1j * step * np.arange(width), dtype=np.complex128)
                sums = phi_power_sums(begin, step, width, loss, weight)
                result[start:stop] = complex_log1p(np.asarray(sums + t * mean - self.escaped, dtype=np.complex128))
            start = stop
        return result
