"""The loss transform of the Gaussian mechanism on a Poisson sample, on vertical lines in the complex plane.

In units of the noise, with u standard normal under Q, R(u) = exp(u/sigma - 1/(2 sigma^2)) and r = 1 - q + q R, the loss L is
log r under r Q removing, -log r under Q adding. Since E e^(-L) = 1, with phi(z) = e^z - 1 - z,

    M(t) = E e^(tL) = 1 + t E[phi(-L)] + E[phi(tL)],

for real t a sum of positive terms: nothing cancels, however small the losses are.

r has no zero for |Im u| < pi sigma, so the path of integration may be moved up or down by less than that. This serves twice.
Moved to the side where |r^p| grows, the integral bounds the error of the trapezoidal rule (aliasing: 2 G/(e^(2 pi v/h) - 1)
for a shift v and a step h). Moved to the other side, by an amount that may depend on u, it bounds |M| at every higher
frequency: |r^(c + iw)| = |r|^c e^(-w arg r) falls with w wherever arg r > 0. With theta = v/sigma and s = q R/r, the chance
that the record was drawn given u, r(u + iv) = r(u) (1 - s + s e^(i theta)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from renyi.errors import ConvergenceError
from renyi.numerics.complex_remainder import log_remainder_bound
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.power_sums import complex_log1p, phi_power_sums, plain_power_sums
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
_MUCH_WORK = 5_000_000  # terms of all sums on one line from which on it is better to cut the integral in two
_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
_SHIFTS = np.array([0.0, 0.15, 0.35, 0.6, 0.85])  # of the strip, after none
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
        """log M at several real tilts, to twelve digits; one rule for all of them where they are moderate, else by islands."""
        if self.noise < SMALLEST_NOISE:
            raise ConvergenceError(f"no contour below a noise of {SMALLEST_NOISE:g}.")
        largest = float(np.max(tilt))
        if self._farthest(largest) > _MODERATE:
            divergence = sampled_gaussian_add if self.adding else sampled_gaussian_remove
            return tilt * divergence(1.0 + tilt, rate=self.rate, noise=self.noise)
        rule = _real_lattice(self, 4.0 ** math.ceil(0.5 * math.log2(max(largest, 1.0))))
        z = tilt[:, None] * rule.loss
        if largest * rule.largest_loss < 600.0 and rule.no_underflow:
            return np.asarray(np.log1p(_quick_phi(z) @ rule.weight + tilt * rule.mean))
        large = np.max(z + rule.log_weight, axis=1) > _LARGE
        result = np.empty(tilt.shape)
        result[large] = log_sum_exp(z[large] + rule.log_weight)
        rest = _quick_phi(np.minimum(z[~large], 600.0)) @ rule.weight
        result[~large] = np.log1p(rest + tilt[~large] * rule.mean)
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
        path = _path(self, tilt)
        power = -tilt if self.adding else tilt + 1.0
        pace = _PATHS[:, :1] * frequency / (self.noise**2 * _PATHS[:, 1:])
        bend = np.tanh(pace * path.share)
        angle = _PATHS[:, 1:] * bend
        turn = (self.noise * _PATHS[:, 1:] * pace) * (1.0 - bend * bend) * path.slope
        half = np.sin(0.5 * angle) ** 2
        gain = 0.5 * (
            (self.noise * angle) ** 2 + np.log1p(turn * turn) + power * np.log1p(-4.0 * path.spread * half)
        ) - frequency * np.arctan2(path.drawn * np.sin(angle), 1.0 - 2.0 * path.drawn * half)
        change = np.expm1(np.minimum(gain, 700.0)) @ path.mass
        useful = change[(change > -1.0) & (change < 0.0)]
        return math.log1p(float(np.min(useful))) if useful.size else 0.0


@lru_cache(maxsize=64)
def _log_decay(transform: SampledGaussianTransform, tilt: float, frequency: float) -> float:
    return transform.decay_along(tilt, frequency)


@lru_cache(maxsize=16)
def _line(transform: SampledGaussianTransform, tilt: float, step: float, count: int) -> tuple[Complex, float]:
    """The line, and the absolute error of its values."""
    log_m = _log_expm1(transform.cumulant(tilt))
    rule = _lattice(transform, tilt, step * (count - 1), log_m)
    if log_m < _LARGE and (rule is None or count * rule[0].size > _MUCH_WORK):
        result, error = _line_in_two(transform, tilt, step, count)
        result.flags.writeable = False
        return result, error
    if rule is None:
        raise ConvergenceError(f"the transform of {transform} at tilt {tilt:g} needs too many points.")
    u, width = rule
    loss, log_weight = _law(transform, u, width)
    weight = np.exp(log_weight)
    mean = _mean(loss, log_weight, exp_remainder)
    top = float(np.max(tilt * loss + log_weight))
    result = np.empty(count, dtype=np.complex128)
    rows = max(64, 1_000_000 // u.size)
    for row in range(0, count, rows):
        part = slice(row, min(row + rows, count))
        size = part.stop - row
        first = complex(tilt, step * row)
        if log_m > _LARGE:
            tilted = np.exp(tilt * loss + log_weight - top)
            result[part] = top + np.log(plain_power_sums(1j * first.imag, step, size, loss, tilted))
        else:
            power = first + 1j * step * np.arange(size)
            result[part] = complex_log1p(phi_power_sums(first, step, size, loss, weight) + power * mean)
    result.flags.writeable = False
    return result, abs(float(result[0].real)) * transform.relative_error


def _line_in_two(transform: SampledGaussianTransform, tilt: float, step: float, count: int) -> tuple[Complex, float]:
    """The line from the parts below and above a level, small ratios by few points in u, large ones by a rule in log r."""
    cut = SampledGaussianCut(transform.ratio, transform.adding, 30.0 / (step * count))
    log_below, above = cut.lines(tilt, step, count)
    # Rounding of the transform above is relative to its largest value, below to what A differs from 1 by.
    error = 2e-14 * (abs(above[0]) + abs(log_below[0]))
    return log_below + complex_log1p(above * np.exp(-log_below)), float(error)


def _log_expm1(value: float) -> float:
    """log(M - 1) from log M, or log M itself where that is large."""
    return value if value > _LARGE else math.log(math.expm1(value))


def _law(transform: SampledGaussianTransform, u: Array, step: float) -> tuple[Array, Array]:
    """The losses at u, and their logarithmic probabilities by a rule of this step."""
    x = transform.ratio.log_ratio(u)
    log_normal = -0.5 * u * u + (math.log(step) - _LOG_NORMAL)
    return (-x, log_normal) if transform.adding else (x, log_normal + x)


def _mean(loss: Array, log_weight: Array, phi: Callable[[Array], Array]) -> float:
    """E[phi(-L)], which is the mean of the loss."""
    terms = np.exp(log_weight) * phi(-np.maximum(loss, -40.0))
    if loss[0] < -40.0 or loss[-1] < -40.0:  # there it is e^-L to rounding, and the weight may have become 0
        terms = np.where(loss < -40.0, np.exp(log_weight - loss), terms)
    return math.fsum(terms)


class _Rule(NamedTuple):
    """A quadrature for real tilts."""

    loss: Array
    log_weight: Array
    weight: Array
    mean: float
    largest_loss: float
    no_underflow: bool


@lru_cache(maxsize=64)
def _real_lattice(transform: SampledGaussianTransform, largest: float) -> _Rule:
    """Points for real tilts up to ``largest``."""
    sigma = transform.noise
    low, high = _ends(transform, largest)
    step = min(0.45 * sigma, 0.5)
    if transform.adding:
        bend = min(transform._share, 0.5) * (1.0 - min(transform._share, 0.5)) * (1.0 + largest)
        step = min(step, 2.0 * math.pi * sigma / math.sqrt(74.0 * (bend + sigma * sigma)))
    loss, log_weight = _law(transform, _multiples(step, low, high), step)
    weight = np.exp(log_weight)
    mean = _mean(loss, log_weight, _quick_phi)
    return _Rule(loss, log_weight, weight, mean, float(np.max(loss)), float(np.min(log_weight)) > -700.0)


def _ends(transform: SampledGaussianTransform, tilt: float) -> tuple[float, float]:
    """Between which u everything lies that matters up to a tilt."""
    if transform.adding:
        return -_REACH - transform._farthest(tilt), _REACH + 2.0 / transform.noise
    return -_REACH, _REACH + (tilt + 2.0) / transform.noise


def _multiples(step: float, low: float, high: float) -> Array:
    return step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64)


class _Cells(NamedTuple):
    """Coarse points that cover everything that may matter at a tilt; ``drawn`` is s, ``spread`` s (1 - s)."""

    step: float
    u: Array
    log_ratio: Array
    drawn: Array
    spread: Array


@lru_cache(maxsize=64)
def _cells(transform: SampledGaussianTransform, tilt: float) -> _Cells:
    sigma, rate = transform.noise, transform.rate
    low, high = _ends(transform, tilt)
    step = min(0.25, 0.25 * sigma)
    if not (high - low) / step < 2 * _MOST_POINTS:
        raise ConvergenceError(f"the transform of {transform} at tilt {tilt:g} needs too many points.")
    u = _multiples(step, low, high)
    x = transform.ratio.log_ratio(u)
    drawn = rate * np.exp((u - 0.5 / sigma) / sigma - x)
    return _Cells(step, u, x, drawn, (1.0 - rate) * drawn * np.exp(-x))


class _Path(NamedTuple):
    """What the bounds of ``decay_along`` are made of, where the tilted law has mass.

    The path is made of the integral over x in (0, 1) of exp(x u/sigma - x^2/(2 sigma^2)): times the rate these are odds,
    ``share`` is their probability and ``slope`` its derivative.
    """

    drawn: Array
    spread: Array
    mass: Array
    share: Array
    slope: Array


@lru_cache(maxsize=64)
def _path(transform: SampledGaussianTransform, tilt: float) -> _Path:
    sigma, rate = transform.noise, transform.rate
    cells = _cells(transform, tilt)
    log_mass = -0.5 * cells.u * cells.u + (-tilt if transform.adding else tilt + 1.0) * cells.log_ratio
    log_mass -= np.max(log_mass)
    keep = log_mass > -38.0
    u, mass = cells.u[keep], np.exp(log_mass[keep])
    log_potential = math.log(sigma) + 0.5 * u * u + _LOG_NORMAL + _log_normal_mass(u - 1.0 / sigma, u)
    odds = rate * np.exp(np.minimum(log_potential, 300.0))
    ratio = np.exp(np.minimum((u - 0.5 / sigma) / sigma, 300.0))
    slope = (u * odds + rate * sigma * (1.0 - ratio)) / (1.0 + odds) ** 2
    return _Path(cells.drawn[keep], cells.spread[keep], mass / np.sum(mass), odds / (1.0 + odds), slope)


def _lattice(
    transform: SampledGaussianTransform, tilt: float, frequency: float, log_m: float
) -> tuple[Array, float] | None:
    """The points of a trapezoidal rule that is exact to rounding up to a frequency, and their distance; None if too many."""
    power = -tilt if transform.adding else tilt + 1.0
    cells = _cells(transform, tilt)
    coarse, width = cells.u[::2], 2.0 * cells.step
    shifts = _SHIFTS[:, None] * min(math.pi * transform.noise, 9.0)
    half = np.sin(0.5 / transform.noise * shifts) ** 2
    log_r = cells.log_ratio[::2] + 0.5 * np.log1p(-4.0 * cells.spread[::2] * half)
    turned = np.arctan2(cells.drawn[::2] * np.sin(shifts / transform.noise), 1.0 - 2.0 * cells.drawn[::2] * half)
    # On the side where |r^p| grows.
    if log_m > _LARGE:
        exponent = power * log_r + frequency * turned
    else:
        exponent = log_remainder_bound(complex(power, -frequency), log_r, turned)
    exponent -= 0.5 * coarse * coarse
    keep = exponent[0] > log_m - _DEPTH
    keep[1:] |= keep[:-1].copy()
    keep[:-1] |= keep[1:].copy()
    kept = coarse[keep]
    v = shifts[1:, 0]
    # Sums with the coarse step are off by less than a factor of two, for which the logarithm of two stands below.
    log_growth = log_sum_exp(exponent[1:]) + 0.5 * v * v + math.log(2.0 * width)
    step = float(np.max(2.0 * math.pi * v / np.maximum(log_growth - log_m + 37.0 + math.log(2.0), 37.0)))
    if not (kept.size * width / step) < _MOST_POINTS:
        return None
    edges = np.flatnonzero(np.diff(kept) > 1.5 * width)
    starts = kept[np.concatenate([[0], edges + 1])]
    ends = kept[np.concatenate([edges, [kept.size - 1]])]
    pieces = [
        step * np.arange(math.floor((a - 0.5 * width) / step) + 1, math.floor((b + 0.5 * width) / step) + 1)
        for a, b in zip(starts, ends, strict=True)
    ]
    return np.concatenate(pieces), step


def _quick_phi(z: Array) -> Array:
    """``exp_remainder`` to thirteen digits."""
    series = z * z * (0.5 + z * (1.0 / 6.0 + z * (1.0 / 24.0 + z * (1.0 / 120.0 + z * (1.0 / 720.0)))))
    return np.where(np.abs(z) < 0.01, series, np.expm1(z) - z)


def _log_normal_mass(low: Array, high: Array) -> Array:
    """log(Phi(high) - Phi(low))."""
    flip = low > 0.0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    top = log_ndtr(b)
    return top + np.log1p(-np.exp(np.minimum(log_ndtr(a) - top, -1e-16)))
