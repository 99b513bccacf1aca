"""Points at which a sampled Gaussian is integrated, and paths along which its transform is bounded.

The formulas take one rate and one noise, or columns of them; then the rows of every array are theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from renyi.laws.ratio_law import log_mixed
from renyi.laws.transform import LossTransform
from renyi.numerics.contours.complex_remainder import log_remainder_bound
from renyi.numerics.logspace import log_sum_exp
from renyi.sampling.poisson.gaussian.ratio import SampledRatio

Array = NDArray[np.float64]

_REACH = 9.5
DEPTH = 41.0  # terms below e^-41 of the result are left out
MOST_POINTS = 60_000
LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
SHIFTS = np.array([0.0, 0.15, 0.35, 0.6, 0.85])  # of the strip, after none
MUCH_WORK = 100_000_000  # terms of all sums on one line: half a second of work, from which on other methods are faster
PATHS = np.array([[0.6, 0.7], [1.0, 0.7], [0.6, 1.6], [1.0, 1.6]])  # scale and greatest height of paths
MODERATE = 400.0  # tilt/noise up to which one lattice from the bulk to the far island is affordable
LARGE = 30.0  # log M above which the remainder form is not needed
_ROUNDED = 1e-12  # of sums of masses
SLIGHT = -38.0  # log of a mass that no path needs to know


@dataclass(frozen=True, slots=True)
class SampledGaussianLaw(LossTransform):
    """The loss of a sampled Gaussian, whose transform ``transform`` computes.

    ``adding`` is the direction in which the mixture comes second.
    """

    rate: float
    noise: float
    adding: bool = False

    @property
    def ratio(self) -> SampledRatio:
        """r."""
        return SampledRatio(self.rate, self.noise)

    def farthest(self, tilt: float) -> float:
        """How far from 0 an integrand with this tilt may have its peak.

        Adding, the peak solves -u = (tilt/sigma) share(u), share the probability that the record was drawn given u, which
        rises with u: so it lies no further than share(0) says.
        """
        return tilt / self.noise * (self.share if self.adding else 1.0)

    def power(self, tilt: float) -> float:
        """Of r, under Q, at a tilt."""
        return -tilt if self.adding else tilt + 1.0

    @property
    def share(self) -> float:
        drawn = self.rate * math.exp(-0.5 / (self.noise * self.noise))
        return drawn / (1.0 - self.rate + drawn)


def real_step(law: SampledGaussianLaw, largest: float) -> float:
    """How far apart they are."""
    sigma, share = law.noise, min(law.share, 0.5)
    step = min(0.45 * sigma, 0.5)
    if not law.adding:
        return step
    bend = share * (1.0 - share) * (1.0 + largest)
    return min(step, 2.0 * math.pi * sigma / math.sqrt(74.0 * (bend + sigma * sigma)))


def ends_at(law: SampledGaussianLaw, tilt: float) -> tuple[float, float]:
    """Between which u everything lies that matters up to a tilt."""
    if law.adding:
        return -_REACH - law.farthest(tilt), _REACH + 2.0 / law.noise
    return -_REACH, _REACH + (tilt + 2.0) / law.noise


def multiples(step: float, low: float, high: float) -> Array:
    """Those between two ends, and one beyond."""
    return step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64)


class Cells(NamedTuple):
    """Coarse points that cover everything that may matter at a tilt; ``drawn`` is s, ``spread`` s (1 - s)."""

    step: float
    u: Array
    log_ratio: Array
    drawn: Array
    spread: Array


def drawn_at(u: Array, rate: float | Array, noise: float | Array) -> tuple[Array, Array, Array]:
    """log r, s and s (1 - s) at u."""
    x = log_mixed((u - 0.5 / noise) / noise, rate)
    drawn = rate * np.exp((u - 0.5 / noise) / noise - x)
    return x, drawn, (1.0 - rate) * drawn * np.exp(-x)


class Path(NamedTuple):
    """What the bounds of ``decay_along`` are made of, where the tilted law has mass.

    The path is made of the integral over x in (0, 1) of exp(x u/sigma - x^2/(2 sigma^2)): times the rate these are odds,
    ``share`` is their probability and ``slope`` its derivative.
    """

    drawn: Array
    spread: Array
    mass: Array
    share: Array
    slope: Array


def path_heights(u: Array, rate: float | Array, noise: float | Array) -> tuple[Array, Array]:
    """``share`` and ``slope`` of a path."""
    log_potential = np.log(noise) + 0.5 * u * u + LOG_NORMAL + _log_normal_mass(u - 1.0 / noise, u)
    odds = rate * np.exp(np.minimum(log_potential, 300.0))
    ratio = np.exp(np.minimum((u - 0.5 / noise) / noise, 300.0))
    return odds / (1.0 + odds), (u * odds + rate * noise * (1.0 - ratio)) / (1.0 + odds) ** 2


def path_gains(path: Path, noise: float | Array, power: float, frequency: float, scale: Array, height: Array) -> Array:
    """log of what the integrand along each path, of this scale and greatest height, is of the one on the real line."""
    pace = scale * frequency / (noise**2 * height)
    bend = np.tanh(pace * path.share)
    angle = height * bend
    turn = (noise * height * pace) * (1.0 - bend * bend) * path.slope
    half = np.sin(0.5 * angle) ** 2
    size = (noise * angle) ** 2 + np.log1p(turn * turn) + power * np.log1p(-4.0 * path.spread * half)
    return np.asarray(0.5 * size - frequency * np.arctan2(path.drawn * np.sin(angle), 1.0 - 2.0 * path.drawn * half))


def log_decays(change: Array) -> Array:
    """log of the least of several bounds 1 + change, one for each path, down to what rounding leaves of them."""
    return np.asarray(np.log1p(np.min(np.clip(change, -1.0 + _ROUNDED, 0.0), axis=0)))


def shifted_sizes(cells: Cells, noise: float | Array, power: complex, shifts: Array, *, large: bool) -> Array:
    """log of the integrand's size at every other cell, its path moved by ``shifts`` to the side where |r^p| grows."""
    half = np.sin(0.5 / noise * shifts) ** 2
    drawn = cells.drawn[..., ::2]
    log_r = cells.log_ratio[..., ::2] + 0.5 * np.log1p(-4.0 * cells.spread[..., ::2] * half)
    turned = np.arctan2(drawn * np.sin(shifts / noise), 1.0 - 2.0 * drawn * half)
    exponent = power.real * log_r - power.imag * turned if large else log_remainder_bound(power, log_r, turned)
    return np.asarray(exponent - 0.5 * cells.u[::2] ** 2)


def step_for(exponent: Array, shifts: Array, cell: float, log_m: float | Array) -> Array:
    """The step that each shift allows, by the aliasing bound."""
    v = shifts[1:, ..., 0]
    # Sums with the coarse step are off by less than a factor of two, for which the logarithm of two stands below.
    log_growth = log_sum_exp(exponent[1:]) + 0.5 * v * v + math.log(4.0 * cell)
    return np.asarray(2.0 * math.pi * v / np.maximum(log_growth - log_m + 37.0 + math.log(2.0), 37.0))


def lattice(cells: Cells, keep: NDArray[np.bool_], step: float) -> tuple[Array, float] | None:
    """Multiples of a step where there is something to keep, or next to it; None if there are too many."""
    coarse, width = cells.u[::2], 2.0 * cells.step
    keep[1:] |= keep[:-1].copy()
    keep[:-1] |= keep[1:].copy()
    kept = coarse[keep]
    if not (kept.size * width / step) < MOST_POINTS:
        return None
    edges = np.flatnonzero(np.diff(kept) > 1.5 * width)
    starts = kept[np.concatenate([[0], edges + 1])]
    ends = kept[np.concatenate([edges, [kept.size - 1]])]
    pieces = [
        step * np.arange(math.floor((a - 0.5 * width) / step) + 1, math.floor((b + 0.5 * width) / step) + 1)
        for a, b in zip(starts, ends, strict=True)
    ]
    return np.concatenate(pieces), step


def quick_phi(z: Array) -> Array:
    """``exp_remainder`` to thirteen digits."""
    series = z * z * (0.5 + z * (1.0 / 6.0 + z * (1.0 / 24.0 + z * (1.0 / 120.0 + z * (1.0 / 720.0)))))
    return np.where(np.abs(z) < 0.01, series, np.expm1(z) - z)


def _log_normal_mass(low: Array, high: Array) -> Array:
    """log(Phi(high) - Phi(low))."""
    flip = low > 0.0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    top = log_ndtr(b)
    return top + np.log1p(-np.exp(np.minimum(log_ndtr(a) - top, -1e-16)))
