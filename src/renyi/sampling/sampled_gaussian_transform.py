"""The loss transform of the Gaussian mechanism on a Poisson sample, on vertical lines in the complex plane.

In units of the noise, with u standard normal under Q, R(u) = exp(u/sigma - 1/(2 sigma^2)) and r = 1 - q + q R,

    M(t) = E[r(u)^p] = 1 + E[r^p - 1 - p (r - 1)],     p = t + 1 removing, p = -t adding.

r has no zero for |Im u| < pi sigma, so the path of integration may be moved up or down by less than that. This serves twice.
Moved to the side where |r^p| grows, the integral bounds the error of the trapezoidal rule (aliasing: 2 G/(e^(2 pi v/h) - 1)
for a shift v and a step h). Moved to the other side, by an amount that may depend on u, it bounds |M| at every higher
frequency: |r^(c + iw)| = |r|^c e^(-w arg r) falls with w wherever arg r > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from renyi.errors import ConvergenceError
from renyi.numerics.complex_remainder import complex_remainder
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.power_sums import complex_log1p, plain_power_sums, remainder_power_sums
from renyi.numerics.remainder import exp_remainder
from renyi.privacy.transform import CutTransform, LossTransform
from renyi.sampling.sampled_gaussian import SMALLEST_NOISE, sampled_gaussian_add, sampled_gaussian_remove
from renyi.sampling.sampled_gaussian_cut import SampledGaussianCut
from renyi.sampling.sampled_ratio import SampledRatio

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_REACH = 9.5
_DEPTH = 41.0  # terms below e^-41 of the result are left out
_MOST_POINTS = 60_000
_MUCH_WORK = 2_000_000  # terms of all sums on one line from which on it is better to cut the integral in two
_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
_SHIFTS = np.array([0.15, 0.35, 0.6, 0.85])  # of the strip
_PATHS = np.array([[0.6, 0.7], [1.0, 0.7], [0.6, 1.6], [1.0, 1.6]])  # scale and greatest height of paths
_MODERATE = 400.0  # tilt/noise up to which one lattice from the bulk to the far island is affordable
_LARGE = 30.0  # log M above which the remainder form is not needed


@dataclass(frozen=True, slots=True)
class SampledGaussianTransform(LossTransform):
    """For 0 < ``rate`` < 1; ``adding`` is the direction in which the mixture comes second."""

    rate: float
    noise: float
    adding: bool = False

    @property
    def ratio(self) -> SampledRatio:
        """r."""
        return SampledRatio(self.rate, self.noise)

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        """log M at several real tilts; a rule of many tilts at once where they are moderate, else by islands."""
        if self.noise < SMALLEST_NOISE:
            raise ConvergenceError(f"no contour below a noise of {SMALLEST_NOISE:g}.")
        largest = float(np.max(tilt))
        if self._farthest(largest) > _MODERATE:
            divergence = sampled_gaussian_add if self.adding else sampled_gaussian_remove
            return tilt * divergence(1.0 + tilt, rate=self.rate, noise=self.noise)
        x, rise, log_weight = _real_lattice(self, 2.0 ** math.ceil(math.log2(max(largest, 1.0))))
        p = (-tilt if self.adding else tilt + 1.0)[:, None]
        z = p * x
        top = np.max(z + log_weight, axis=1)
        result = np.empty(tilt.shape)
        large = (top > _LARGE) | (np.max(z, axis=1) > 600.0)
        if large.any():
            result[large] = log_sum_exp(z[large] + log_weight)
        if not large.all():
            rest = exp_remainder(z[~large]) - p[~large] * rise
            result[~large] = np.log1p(rest @ np.exp(log_weight))
        return result

    def _farthest(self, tilt: float) -> float:
        """How far from 0 an integrand with this tilt may have its peak.

        Adding, the peak solves -u = (tilt/sigma) share(u), share the probability that the record was drawn given u, which
        rises with u: so it lies no further than share(0) says.
        """
        return tilt / self.noise * (self._share if self.adding else 1.0)

    @property
    def _share(self) -> float:
        drawn = self.rate * math.exp(-0.5 / (self.noise * self.noise))
        return drawn / (1.0 - self.rate + drawn)

    def cut(self, level: float) -> CutTransform | None:
        return None if self.adding else SampledGaussianCut(self.ratio, False, level)

    def line(self, tilt: float, step: float, count: int) -> Complex:
        return _line(self, tilt, step, count)[0]

    def line_error(self, tilt: float, step: float, count: int) -> float:
        return _line(self, tilt, step, count)[1]

    def log_decay(self, tilt: float, frequency: float) -> float:
        return _log_decay(self, tilt, frequency)

    def decay_along(self, tilt: float, frequency: float) -> float:
        """See ``log_decay``: the least of a few bounds, each an integral along a path u + i v(u) made for this frequency.

        For a small loss q (R - 1) the best path is v = w q times the derivative of the solution of (N) g = R - 1, N the
        number operator of the normal law: that makes the bound as sharp as the variance allows. It is smoothly
        kept away from the zeros of r.
        """
        u, log_mass = _mass(self, tilt)
        sign = -1.0 if self.adding else 1.0
        p = -tilt if self.adding else tilt + 1.0
        # Integral over x in (0, 1) of exp(x u/sigma - x^2/(2 sigma^2)), and its derivative.
        log_potential = math.log(self.noise) + 0.5 * u * u + _LOG_NORMAL + _log_normal_mass(u - 1.0 / self.noise, u)
        odds = self.rate * np.exp(np.minimum(log_potential, 300.0))
        share = odds / (1.0 + odds)
        with np.errstate(over="ignore"):
            ratio = np.exp(np.minimum((u - 0.5 / self.noise) / self.noise, 300.0))
        slope = self.rate * (u * odds / self.rate + self.noise * (1.0 - ratio)) / (1.0 + odds) ** 2
        plain = self.ratio.log_ratio(u)
        pace = _PATHS[:, :1] * frequency / (self.noise**2 * _PATHS[:, 1:])
        bend = np.tanh(pace * share)
        v = self.noise * _PATHS[:, 1:] * bend
        turn = self.noise * _PATHS[:, 1:] * (1.0 - bend * bend) * pace * slope
        moved = self.ratio.log_ratio_at(u + 1j * sign * v)
        gain = 0.5 * v * v + 0.5 * np.log1p(turn * turn) + p * (moved.real - plain) - frequency * sign * moved.imag
        change = np.expm1(np.minimum(gain, 700.0)) @ np.exp(log_mass)
        useful = change[(change > -1.0) & (change < 0.0)]
        return math.log1p(float(np.min(useful))) if useful.size else 0.0


@lru_cache(maxsize=64)
def _log_decay(transform: SampledGaussianTransform, tilt: float, frequency: float) -> float:
    return transform.decay_along(tilt, frequency)


@lru_cache(maxsize=16)
def _line(transform: SampledGaussianTransform, tilt: float, step: float, count: int) -> tuple[Complex, float]:
    """The line, and the absolute error of its values."""
    frequency = step * np.arange(count)
    first = -tilt if transform.adding else tilt + 1.0
    log_m = _log_expm1(transform.cumulant(tilt))
    result = np.empty(count, dtype=np.complex128)
    start = 0
    while start < count:
        # In bands, each with a rule and a series made for its highest frequency.
        high = max(8.0 * frequency[start], abs(first), float(frequency[-1]) / 512.0)
        stop = min(int(np.searchsorted(frequency, high, side="right")), count)
        u, width = _lattice(transform, tilt, _rounded_up(float(frequency[stop - 1])), log_m)
        x = transform.ratio.log_ratio(u)
        log_weight = -0.5 * u * u + (math.log(width) - _LOG_NORMAL)
        rows = max(64, 4_000_000 // u.size)
        if (stop - start) * u.size > _MUCH_WORK and log_m < _LARGE:
            result, error = _line_in_two(transform, tilt, step, count)
            result.flags.writeable = False
            return result, error
        for row in range(start, stop, rows):
            part = slice(row, min(row + rows, stop))
            size = part.stop - row
            if log_m > _LARGE:
                top = float(np.max(first * x + log_weight))
                weight = np.exp(first * x + log_weight - top)
                result[part] = top + np.log(plain_power_sums(1j * frequency[row], step, size, x, weight))
            else:
                begin = complex(first, frequency[row])
                result[part] = complex_log1p(remainder_power_sums(begin, step, size, x, np.exp(log_weight)))
        start = stop
    # Adding, the powers are -t: their transform is the conjugate's.
    result = result.conj() if transform.adding else result
    result.flags.writeable = False
    return result, abs(float(result[0].real)) * transform.relative_error


def _line_in_two(transform: SampledGaussianTransform, tilt: float, step: float, count: int) -> tuple[Complex, float]:
    """The line from the parts below and above a level, small ratios by few points in u, large ones by a rule in log r."""
    cut = SampledGaussianCut(transform.ratio, transform.adding, 30.0 / (step * count))
    log_below, above = cut.lines(tilt, step, count)
    # Rounding of the transform above is relative to its largest value, below to what A differs from 1 by.
    error = 1e-14 * (abs(above[0]) + abs(log_below[0]))
    return log_below + complex_log1p(above * np.exp(-log_below)), float(error)


def _log_expm1(value: float) -> float:
    """log(M - 1) from log M, or log M itself where that is large."""
    return value if value > _LARGE else math.log(math.expm1(value))


def _rounded_up(frequency: float) -> float:
    """To the next of a few values, so that lines of nearly equal length share a lattice."""
    return 1.25 ** math.ceil(math.log(max(frequency, 1e-12)) / math.log(1.25))


def _cells(transform: SampledGaussianTransform, tilt: float) -> tuple[Array, float]:
    """Coarse points that cover everything that may matter at this tilt."""
    sigma = transform.noise
    low = -_REACH - (transform._farthest(tilt) if transform.adding else 0.0)
    high = _REACH + (2.0 / sigma if transform.adding else (tilt + 2.0) / sigma)
    step = min(0.5, 0.5 * sigma)
    if not (high - low) / step < _MOST_POINTS:
        raise ConvergenceError(f"the transform of {transform} at tilt {tilt:g} needs too many points.")
    return step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64), step


@lru_cache(maxsize=64)
def _real_lattice(transform: SampledGaussianTransform, largest: float) -> tuple[Array, Array, Array]:
    """Points for real tilts up to ``largest``: x, e^x - 1 - x and the logarithmic weights."""
    sigma = transform.noise
    low = -_REACH - (transform._farthest(largest) if transform.adding else 0.0)
    high = _REACH + (2.0 / sigma if transform.adding else (largest + 2.0) / sigma)
    step = min(0.45 * sigma, 0.5)
    if transform.adding:
        bend = min(transform._share, 0.5) * (1.0 - min(transform._share, 0.5)) * (1.0 + largest)
        step = min(step, 2.0 * math.pi * sigma / math.sqrt(74.0 * (bend + sigma * sigma)))
    u = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64)
    x = transform.ratio.log_ratio(u)
    return x, exp_remainder(x), -0.5 * u * u + (math.log(step) - _LOG_NORMAL)


@lru_cache(maxsize=64)
def _mass(transform: SampledGaussianTransform, tilt: float) -> tuple[Array, Array]:
    """Points and logarithmic probabilities of u under the tilted law."""
    u, step = _cells(transform, tilt)
    u = np.concatenate([u, u + 0.5 * step])
    log_mass = -0.5 * u * u + (-tilt if transform.adding else tilt + 1.0) * transform.ratio.log_ratio(u)
    keep = log_mass > np.max(log_mass) - 38.0
    return u[keep], log_mass[keep] - log_sum_exp(log_mass[keep])


@lru_cache(maxsize=64)
def _lattice(transform: SampledGaussianTransform, tilt: float, frequency: float, log_m: float) -> tuple[Array, float]:
    """The points of a trapezoidal rule that is exact to rounding up to a frequency, and their distance."""
    sigma = transform.noise
    p = (-tilt if transform.adding else tilt + 1.0) - 1j * frequency  # with an upward shift, the growing side
    coarse, width = _cells(transform, tilt)
    height = _log_size(p, transform.ratio.log_ratio(coarse).astype(np.complex128), log_m) - 0.5 * coarse * coarse
    keep = height > log_m - _DEPTH
    keep[1:] |= keep[:-1].copy()
    keep[:-1] |= keep[1:].copy()
    kept = coarse[keep]
    shifts = _SHIFTS * min(math.pi * sigma, 9.0)
    moved = _log_size(p, transform.ratio.log_ratio_at(kept + 1j * shifts[:, None]), log_m) - 0.5 * kept * kept
    # Sums with the coarse step are off by less than a factor of two, for which the logarithm of two stands below.
    log_growth = log_sum_exp(moved) + 0.5 * shifts * shifts + math.log(2.0 * width)
    steps = 2.0 * math.pi * shifts / np.maximum(log_growth - log_m + 37.0 + math.log(2.0), 37.0)
    step = float(np.max(steps))
    if not (kept.size * width / step) < _MOST_POINTS:
        raise ConvergenceError(f"the transform of {transform} at frequency {frequency:g} needs too many points.")
    edges = np.flatnonzero(np.diff(np.flatnonzero(keep)) > 1)
    starts = kept[np.concatenate([[0], edges + 1])]
    ends = kept[np.concatenate([edges, [kept.size - 1]])]
    pieces = [
        step * np.arange(math.floor((a - 0.5 * width) / step) + 1, math.floor((b + 0.5 * width) / step) + 1)
        for a, b in zip(starts, ends, strict=True)
    ]
    return np.concatenate(pieces), step


def _log_size(p: complex, x: Complex, log_m: float) -> Array:
    """log |r^p - 1 - p (r - 1)|, or of r^p alone where M is large."""
    if log_m > _LARGE:
        return (p * x).real
    with np.errstate(over="ignore", divide="ignore"):
        capped = np.where((p * x).real > 600.0, 0.0, x)
        near = np.log(np.abs(complex_remainder(np.asarray(p), capped)))
    return np.where((p * x).real > 600.0, (p * x).real, near)


def _log_normal_mass(low: Array, high: Array) -> Array:
    """log(Phi(high) - Phi(low))."""
    flip = low > 0.0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    top = log_ndtr(b)
    return top + np.log1p(-np.exp(np.minimum(log_ndtr(a) - top, -1e-16)))
