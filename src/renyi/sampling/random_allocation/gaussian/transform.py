"""The transform of the privacy loss of one epoch of randomly allocated Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.transform import LossTransform
from renyi.numerics.rounding import TINY
from renyi.numerics.work import apart, spend
from renyi.sampling.random_allocation.gaussian.powers import MOST_LINE_WORK, MeanOfRatios

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class AllocatedGaussianTransform(LossTransform):
    """M(s) = E S^(1+s) removing, E S^(-s) ``adding``, with S the mean of ``steps`` ratios under Q (``MeanOfRatios``)."""

    noise: float
    steps: int
    adding: bool = False

    @property
    def mean(self) -> MeanOfRatios:
        return MeanOfRatios(self.noise, self.steps)

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        return self.mean.log_moments(-tilt if self.adding else 1.0 + tilt)

    def small_cumulants(self, tilt: Array) -> Array:
        """0, from above: at these tilts M is at most 1."""
        return np.zeros(tilt.shape)

    def line(self, tilt: float, step: float, count: int) -> Complex:
        values, _, work = _line(self, tilt, step, count)
        spend(work)  # each time, so that it does not matter whether the line was remembered
        return values

    def line_error(self, tilt: float, step: float, count: int) -> float:
        return _line(self, tilt, step, count)[1]

    @property
    def dearer_beyond(self) -> bool:
        return not self.adding

    def log_decay(self, tilt: float, frequency: float) -> float:
        """-w^2/(2 t sigma^2), for every w >= ``frequency``.

        The path of every x_i may be moved by iv: it turns all W_i, so also S, by the angle v/sigma, and S^(p + iw) falls by
        e^(-wv/sigma), while each of the t densities grows by e^(v^2/2). The best v is w/(t sigma). For one step this is
        the decay itself.
        """
        return -0.5 * frequency * (frequency / self.noise / self.noise / self.steps)


@lru_cache(maxsize=16)
def _line(transform: AllocatedGaussianTransform, tilt: float, step: float, count: int) -> tuple[Complex, float, float]:
    """log M on the line; the error of its values, for a sum in which smaller values of |M| count less; and the work.

    The moments have errors e(w) that are relative to M(tilt), not to themselves. A contour sums |M|^n/|s (s+1)| over the line,
    n the number of repetitions, and its error is the mean of n e/|M| with these weights. Let r be the largest e/|M| of all
    frequencies with an |M| as large or larger: its mean is largest for n = 1, since r falls as |M| rises.
    """
    power = -tilt if transform.adding else 1.0 + tilt
    peak = transform.cumulant(tilt)
    if not math.isfinite(peak):
        raise ConvergenceError(f"no moment at tilt {tilt:g}.")
    with apart(2.0 * MOST_LINE_WORK):
        values, error, work = transform.mean.line(power, peak, step, count)
    if not transform.adding:
        values = np.conj(values)
    size = np.abs(values)
    s = tilt + 1j * step * np.arange(count)
    weight = 1.0 / np.abs(s * (s + 1.0))
    weight[0] *= 0.5
    falling = np.argsort(-size)
    relative = np.maximum.accumulate(error[falling] / np.maximum(size[falling], TINY))
    counted = weight[falling] * size[falling]
    mean_error = float(np.sum(relative * counted) / np.sum(counted))
    result = np.asarray(np.log(np.where(size > 0.0, values, complex(TINY))) + peak, dtype=np.complex128)
    result.flags.writeable = False
    return result, mean_error, work
