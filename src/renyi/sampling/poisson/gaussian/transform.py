"""The transform of the privacy loss of the Gaussian mechanism on a Poisson sample, on vertical lines in the complex plane.

In units of the noise, with u standard normal under Q, R(u) = exp(u/sigma - 1/(2 sigma^2)) and r = 1 - q + q R, the loss L is
log r under r Q (removing) or -log r under Q (adding). Since E e^(-L) = 1, with phi(z) = e^z - 1 - z,

    M(t) = E e^(tL) = 1 + t E[phi(-L)] + E[phi(tL)],

which for real t is a sum of positive terms: nothing cancels, however small the losses are.

r has no zero for |Im u| < pi sigma, so the path of integration may be moved up or down by less than that. This is used twice.
Moved to the side where |r^p| grows, the integral G bounds the error of the trapezoidal rule (aliasing: 2 G/(e^(2 pi v/h) - 1)
for a shift v and a step h). Moved to the other side, by an amount that may depend on u, it bounds |M| at every higher
frequency: |r^(c + iw)| = |r|^c e^(-w arg r) falls with w wherever arg r > 0. With theta = v/sigma and s = q R/r, the
probability that the record was drawn given u, r(u + iv) = r(u) (1 - s + s e^(i theta)).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.transform import CountedTransform
from renyi.numerics.contours.power_sums import complex_log1p, phi_power_sums, plain_power_sums
from renyi.numerics.remainder import exp_remainder
from renyi.sampling.poisson.gaussian.family import families
from renyi.sampling.poisson.gaussian.lattice import (
    LOG_DEPTH,
    LOG_SLIGHT_MASS,
    MOST_POINTS,
    MOST_TERMS,
    PATH_SHAPES,
    STRIP_FRACTIONS,
    Cells,
    Path,
    drawn_at,
    lattice,
    log_decays,
    path_gains,
    path_heights,
    shifted_sizes,
    step_for,
)
from renyi.sampling.poisson.gaussian.law import (
    LARGE_CUMULANT,
    SampledGaussianLaw,
    integration_range,
    loss_rule,
    mean_loss,
    multiples,
)

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class SampledGaussianTransform(SampledGaussianLaw):
    """The transform M for 0 < ``rate`` < 1; removing compares the mixture with Q, ``adding`` compares Q with the mixture."""

    def line(self, tilt: float, step: float, count: int) -> Complex:
        return _line(self, tilt, step, count)[0]

    def line_error(self, tilt: float, step: float, count: int) -> float:
        return _line(self, tilt, step, count)[1]

    @property
    def known_between_poles(self) -> bool:
        return True

    def log_decay(self, tilt: float, frequency: float) -> float:
        if math.isinf(frequency):
            return -math.inf  # the loss has a density
        return _log_decay(self, tilt, frequency)

    @staticmethod
    def together(members: Sequence[CountedTransform]) -> Iterable[CountedTransform]:
        return families([(one, count) for one, count in members if isinstance(one, SampledGaussianTransform)])

    def decay_along(self, tilt: float, frequency: float) -> float:
        """The bound of ``log_decay``: the least of a few integrals, each along a path u + i v(u) made for this frequency.

        For a small loss q (R - 1) the best path is v = w q g', with g the solution of N g = R - 1 and N the number operator of
        the normal law; with it the bound is as sharp as the variance of the loss allows. The paths follow it and bend away
        smoothly from the zeros of r.
        """
        path = _path(self, tilt)
        gain = path_gains(path, self.noise, self.power(tilt), frequency, PATH_SHAPES[:, :1], PATH_SHAPES[:, 1:])
        return float(log_decays(np.expm1(np.minimum(gain, 700.0)) @ path.mass))


@lru_cache(maxsize=64)  # choosing a line and bounding what it leaves out ask for the same decay
def _log_decay(transform: SampledGaussianTransform, tilt: float, frequency: float) -> float:
    return transform.decay_along(tilt, frequency)


# Its values and their error are asked for apart, and several deltas share a line: a quarter of an answer.
@lru_cache(maxsize=16)
def _line(transform: SampledGaussianTransform, tilt: float, step: float, count: int) -> tuple[Complex, float]:
    """log M on the line, and the absolute error of its values."""
    log_m = _log_expm1(transform.cumulant(tilt))
    rule = _lattice(transform, tilt, step * (count - 1), log_m)
    if rule is None or (log_m < LARGE_CUMULANT and count * rule[0].size > MOST_TERMS):
        raise ConvergenceError(f"the transform of {transform} at tilt {tilt:g} needs too many points.")
    u, width = rule
    loss, log_weight = loss_rule(transform, u, width)
    weight = np.exp(log_weight)
    mean = mean_loss(loss, log_weight, exp_remainder)
    top = float(np.max(tilt * loss + log_weight))
    result = np.empty(count, dtype=np.complex128)
    rows = max(64, 1_000_000 // u.size)  # frequencies in one array: limits its memory
    for row in range(0, count, rows):
        part = slice(row, min(row + rows, count))
        size = part.stop - row
        first = complex(tilt, step * row)
        # M - 1 needs its remainders only where it is small; a large M is summed directly, with its largest term taken out.
        if log_m > LARGE_CUMULANT:
            tilted = np.exp(tilt * loss + log_weight - top)
            result[part] = top + np.log(plain_power_sums(1j * first.imag, step, size, loss, tilted))
        else:
            power = first + 1j * step * np.arange(size)
            result[part] = complex_log1p(phi_power_sums(first, step, size, loss, weight) + power * mean)
    result.flags.writeable = False
    return result, abs(float(result[0].real)) * transform.relative_error


def _log_expm1(value: float) -> float:
    """log |M - 1| from log M, or log M itself where that is large."""
    return value if value > LARGE_CUMULANT else math.log(abs(math.expm1(value)))


@lru_cache(maxsize=64)  # the decay along a line and the rule on it ask for the same points
def _cells(transform: SampledGaussianTransform, tilt: float) -> Cells:
    """Coarse points that cover what matters at a tilt; they only measure sizes, so a quarter of the scale is fine enough."""
    sigma, rate = transform.noise, transform.rate
    low, high = integration_range(transform, tilt)
    step = min(0.25, 0.25 * sigma)
    if not (high - low) / step < 2 * MOST_POINTS:
        raise ConvergenceError(f"the transform of {transform} at tilt {tilt:g} needs too many points.")
    u = multiples(step, low, high)
    return Cells(step, u, *drawn_at(u, rate, sigma))


@lru_cache(maxsize=64)  # a search for noise asks for the decay of one line at two frequencies
def _path(transform: SampledGaussianTransform, tilt: float) -> Path:
    """The points and masses of the tilted law, with the ingredients of the paths above them."""
    sigma, rate = transform.noise, transform.rate
    cells = _cells(transform, tilt)
    log_mass = -0.5 * cells.u * cells.u + transform.power(tilt) * cells.log_ratio
    log_mass -= np.max(log_mass)
    keep = log_mass > LOG_SLIGHT_MASS
    mass = np.exp(log_mass[keep])
    return Path(cells.drawn[keep], cells.spread[keep], mass / np.sum(mass), *path_heights(cells.u[keep], rate, sigma))


def _lattice(
    transform: SampledGaussianTransform, tilt: float, frequency: float, log_m: float
) -> tuple[Array, float] | None:
    """The points and the step of a trapezoidal rule that is exact to rounding up to a frequency; None if it is too long."""
    cells = _cells(transform, tilt)
    shifts = STRIP_FRACTIONS[:, None] * min(math.pi * transform.noise, 9.0)
    power = complex(transform.power(tilt), -frequency)
    exponent = shifted_sizes(cells, transform.noise, power, shifts, large=log_m > LARGE_CUMULANT)
    step = float(np.max(step_for(exponent, shifts, cells.step, log_m)))
    return lattice(cells, exponent[0] > log_m - LOG_DEPTH, step)
