"""The privacy loss of the Gaussian mechanism on a Poisson sample, and its cumulants at real tilts.

u is the output in units of the noise, standard normal without the record; notation and form, in which nothing cancels, are
those of ``transform``, which has the same at complex arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.ratio_law import log_mixed
from renyi.laws.transform import LossTransform
from renyi.numerics.logspace import log_sum_exp
from renyi.sampling.poisson.gaussian.renyi import SMALLEST_NOISE, sampled_gaussian_add, sampled_gaussian_remove

Array = NDArray[np.float64]

_DENSITY_REACH = 9.5
"""Standard deviations over which a normal density falls by e^-45, below any rounding of the result."""

LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
"""Minus the logarithm of the standard normal density at 0."""

FARTHEST_ON_ONE_LATTICE = 400.0
"""Distance of an integrand's peak from the bulk, in units of the noise, up to which one lattice covers both; beyond it the
integrals over separate islands (``renyi``) take less work."""

LARGE_CUMULANT = 30.0
"""log M above which M - 1 equals M to 13 digits, so that the form that keeps the digits of M - 1 is not needed."""

LOG_ALIASING = 37.0
"""Minus the log of the aliasing error that a trapezoidal rule may have, relative to the result: e^-37 = 9e-17."""


@dataclass(frozen=True, slots=True)
class SampledGaussianLaw(LossTransform):
    """The privacy loss of a sampled Gaussian; ``transform`` has its transform.

    Removing the record compares the mixture with Q; ``adding`` compares Q with the mixture.
    """

    rate: float
    noise: float
    adding: bool = False

    def log_ratio(self, u: Array) -> Array:
        """log r at u, with r = 1 - q + q exp(u/sigma - 1/(2 sigma^2)) the likelihood ratio of the mixture to Q."""
        return log_mixed((u - 0.5 / self.noise) / self.noise, self.rate)

    def farthest(self, tilt: float) -> float:
        """A bound on the distance from 0 of the peak of the integrand at this tilt.

        Adding, the peak solves -u = (tilt/sigma) s(u). s rises with u and the peak is not right of 0, so s(0) bounds it.
        """
        return tilt / self.noise * (self.share if self.adding else 1.0)

    def power(self, tilt: float) -> float:
        """The power of r whose mean under Q is the transform at a real tilt."""
        return -tilt if self.adding else tilt + 1.0

    @property
    def share(self) -> float:
        """s(0), the probability that the record was drawn if the output is 0."""
        drawn = self.rate * math.exp(-0.5 / (self.noise * self.noise))
        return drawn / (1.0 - self.rate + drawn)

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        """log M at several real tilts, to twelve digits: one rule for all where tilts are moderate, else by islands."""
        if self.noise < SMALLEST_NOISE:
            raise ConvergenceError(f"no contour below a noise of {SMALLEST_NOISE:g}.")
        largest = float(np.max(tilt))
        if self.farthest(largest) > FARTHEST_ON_ONE_LATTICE:
            divergence = sampled_gaussian_add if self.adding else sampled_gaussian_remove
            return tilt * divergence(1.0 + tilt, rate=self.rate, noise=self.noise)
        # Rounding the largest tilt up to a power of 4 lets neighbouring questions share a rule.
        rule = _real_lattice(self, 4.0 ** math.ceil(0.5 * math.log2(max(largest, 1.0))))
        z = tilt[:, None] * rule.loss
        # If no exponential overflows or underflows, one matrix product gives all tilts.
        if largest * rule.largest_loss < 600.0 and rule.no_underflow:
            return np.asarray(np.log1p(quick_phi(z) @ rule.weight + tilt * rule.mean))
        large = np.max(z + rule.log_weight, axis=1) > LARGE_CUMULANT
        result = np.empty(tilt.shape)
        result[large] = log_sum_exp(z[large] + rule.log_weight)
        rest = quick_phi(np.minimum(z[~large], 600.0)) @ rule.weight
        result[~large] = np.log1p(rest + tilt[~large] * rule.mean)
        return result


def real_step(law: SampledGaussianLaw, largest: float) -> float:
    """Distance between the points of a trapezoidal rule for real tilts up to ``largest``."""
    sigma, share = law.noise, min(law.share, 0.5)
    step = min(0.45 * sigma, 0.5)
    if not law.adding:
        return step
    # Moving the path by iv multiplies the integrand by at most e^(v^2 (1 + bend/sigma^2)/2). At the best v the aliasing error
    # of this step is e^-37. Removing, the power is positive and |r^p| only falls off the real line, so only the density grows.
    bend = share * (1.0 - share) * (1.0 + largest)
    return min(step, 2.0 * math.pi * sigma / math.sqrt(2.0 * LOG_ALIASING * (bend + sigma * sigma)))


def integration_range(law: SampledGaussianLaw, tilt: float) -> tuple[float, float]:
    """The lowest and highest u that matter for real tilts up to ``tilt``."""
    if law.adding:
        return -_DENSITY_REACH - law.farthest(tilt), _DENSITY_REACH + 2.0 / law.noise
    return -_DENSITY_REACH, _DENSITY_REACH + (tilt + 2.0) / law.noise


def multiples(step: float, low: float, high: float) -> Array:
    """The multiples of ``step`` from ``low`` to ``high``, rounded outwards."""
    return step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64)


def loss_rule(law: SampledGaussianLaw, u: Array, step: float) -> tuple[Array, Array]:
    """The losses at u, and the logs of their weights in a rule of this step."""
    x = law.log_ratio(u)
    log_normal = -0.5 * u * u + (math.log(step) - LOG_NORMAL)
    return (-x, log_normal) if law.adding else (x, log_normal + x)


def mean_loss(loss: Array, log_weight: Array, phi: Callable[[Array], Array]) -> float:
    """E[phi(-L)], which equals the mean of the loss because E e^(-L) = 1."""
    terms = np.exp(log_weight) * phi(-np.maximum(loss, -40.0))
    # Below -40 phi(-L) is e^-L to rounding; as one exponent, because the weight alone may underflow to 0.
    if loss[0] < -40.0 or loss[-1] < -40.0:
        terms = np.where(loss < -40.0, np.exp(log_weight - loss), terms)
    return math.fsum(terms)


class _Rule(NamedTuple):
    """A trapezoidal rule for real tilts: losses, their weights, and what tells whether exponentials overflow."""

    loss: Array
    log_weight: Array
    weight: Array
    mean: float
    largest_loss: float
    no_underflow: bool


# The searches for a tilt ask for cumulants below the same power of 4: a tenth to a fifth of an answer.
@lru_cache(maxsize=64)
def _real_lattice(law: SampledGaussianLaw, largest: float) -> _Rule:
    """The rule for real tilts up to ``largest``."""
    low, high = integration_range(law, largest)
    step = real_step(law, largest)
    loss, log_weight = loss_rule(law, multiples(step, low, high), step)
    weight = np.exp(log_weight)
    mean = mean_loss(loss, log_weight, quick_phi)
    return _Rule(loss, log_weight, weight, mean, float(np.max(loss)), float(np.min(log_weight)) > -700.0)


def quick_phi(z: Array) -> Array:
    """Return e^z - 1 - z to thirteen digits, with fewer terms than ``exp_remainder``."""
    # Below 0.01 five terms leave z^5/2520 < 4e-14 of the value; above it the difference loses less than three digits.
    series = z * z * (0.5 + z * (1.0 / 6.0 + z * (1.0 / 24.0 + z * (1.0 / 120.0 + z * (1.0 / 720.0)))))
    return np.where(np.abs(z) < 0.01, series, np.expm1(z) - z)
