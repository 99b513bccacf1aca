"""The rare large losses of a sampled Gaussian, smoothly cut from the many small ones.

With few steps and a small rate, nearly all losses are concentrated so sharply near 0 that the transform M decays slowly with
the frequency. But small losses alone cannot add up to epsilon. So M is written as A + S, with S the part of large losses,
weighted by Phi((u - u0)/tau). Of the transform M^T of T steps only M^T - A^T matters, and that decays as fast as S does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import erfc, log_ndtr

from renyi.errors import ConvergenceError
from renyi.laws.transform import CutTransform
from renyi.numerics.contours.complex_remainder import log_remainder_bound
from renyi.numerics.contours.power_sums import complex_log1p, remainder_power_sums
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.rounding import ULP
from renyi.sampling.poisson.gaussian.ratio import SampledRatio

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
_DENSITY_REACH = 9.5
"""Standard deviations over which a normal density falls by e^-45, below any rounding of the result."""

_CUT_REACH = 12.0
"""Widths below the centre of the cut at which nothing of S is left: Phi(-12) = 2e-33."""

_LOG_DEPTH = 41.0
"""Terms below e^-41 = 2e-18 of S are left out."""

_MOST_POINTS = 20_000
"""Points of the rule for real tilts and of the bound on decay; what needs more is left to other methods."""

_LONGEST_TRANSFORM = 1_000_000
"""Points of the rule in the loss and of its Fourier transform; a line that needs more is left to other methods."""

_MOST_TERMS = 30_000_000
"""Points times frequencies of the rule below the cut; a line that needs more is left to other methods."""

_STRIP_FRACTIONS = np.array([0.05, 0.1, 0.2, 0.35, 0.6, 0.9])
"""Shifts of the path that are tried for the step of the rule below the cut, as fractions of the usable strip."""

_PATH_SHIFTS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.55, 0.8, 1.1, 1.4)
"""Constant shifts of the path that bound the decay of S, in units of the noise; each gives a bound, the least is used."""


@dataclass(frozen=True, slots=True)
class SampledGaussianCut(CutTransform):
    """The loss log r cut near ``level`` into a part A below and a part S above.

    ``adding``, the loss is -log r, and the cut only serves to split the quadrature.
    """

    ratio: SampledRatio
    adding: bool
    level: float

    @property
    def width(self) -> float:
        """The width tau of the cut, in units of the noise."""
        return min(self.ratio.noise, 1.0) / 6.0

    @property
    def centre(self) -> float:
        """u0: five widths below where the loss is ``level``."""
        rate, noise = self.ratio.rate, self.ratio.noise
        return noise * math.log1p(math.expm1(min(self.level, 600.0)) / rate) + 0.5 / noise - 5.0 * self.width

    def power(self, tilt: float) -> float:
        """The power p of r at a real tilt: M = E_Q r^p."""
        return -tilt if self.adding else tilt + 1.0

    def log_ratio(self, u: float) -> float:
        """log r at u."""
        return float(self.ratio.log_ratio(np.array([u]))[0])

    def below(self, tilt: Array) -> Array:
        """log A at real tilts."""
        x, log_weight = _below(self, float(np.max(tilt)))
        return log_sum_exp((tilt[:, None] + 1.0) * x + log_weight)

    def lines(self, tilt: float, step: float, count: int) -> tuple[Complex, Complex]:
        return _lines(self, tilt, step, count)

    def log_above_decay(self, tilt: float, frequency: float) -> float:
        """A bound on log |S(tilt + i w)| for every w >= ``frequency``: the least integral along paths moved up by constants."""
        noise, grid = self.ratio.noise, self._grid_above(tilt)
        best = math.inf
        for shift in _PATH_SHIFTS:
            v = shift * noise
            x = self.ratio.log_ratio_at(grid + 1j * v)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                log_cut = np.log(np.abs(0.5 * erfc(-(grid + 1j * v - self.centre) / (self.width * math.sqrt(2.0)))))
            exponent = -0.5 * grid * grid + 0.5 * v * v + self.power(tilt) * x.real - frequency * x.imag + log_cut
            exponent = np.nan_to_num(exponent, nan=-math.inf, posinf=1e300, neginf=-math.inf)
            step = float(grid[1] - grid[0])
            bound = float(log_sum_exp(exponent)) + math.log(step)
            # Left of the grid the integrand falls ever faster, because the cut does: a geometric tail bounds it.
            rise = float(exponent[1] - exponent[0]) / step
            left = float(exponent[0]) - math.log(rise) if rise > 0.0 else math.inf
            best = min(best, float(np.logaddexp(bound, left)) - _LOG_NORMAL)
        return best

    def above_error(self, tilt: float) -> float:
        """The relative error of S: large exponents of both signs are rounded before they are added and exponentiated."""
        grid = self._grid_above(tilt)
        gain = self.power(tilt) * self.ratio.log_ratio(grid)
        peak = int(np.argmax(gain - 0.5 * grid * grid))
        return 8.0 * ULP * (4.0 + 0.5 * float(grid[peak]) ** 2 + abs(float(gain[peak])))

    def _grid_above(self, tilt: float) -> Array:
        """Points from below the cut to beyond everything that matters at a tilt, a quarter of the cut's width apart."""
        end = max(self.centre + 40.0 * self.width, (max(self.power(tilt), 1.0) + 1.0) / self.ratio.noise + 10.0)
        start = self.centre - 11.0 * self.width
        if not end - start < 0.25 * self.width * _MOST_POINTS:
            raise ConvergenceError("the bound on the decay above the cut needs too many points.")
        return np.linspace(start, end, max(200, math.ceil((end - start) / (0.25 * self.width))))


@lru_cache(maxsize=16)
def _below(cut: SampledGaussianCut, largest: float) -> tuple[Array, Array]:
    """Losses below the cut and the logs of their weights, for real tilts up to ``largest``."""
    # The tilt moves the falling edge of A to the right, by tilt width^2/noise at most.
    high = cut.centre + 12.0 * cut.width + largest * cut.width**2 / cut.ratio.noise
    step = 0.4 * cut.width
    if not high / step < _MOST_POINTS:
        raise ConvergenceError("the rule below the cut needs too many points.")
    u = np.arange(min(-9.5, high - 19.0), high, step)
    x = cut.ratio.log_ratio(u)
    return x, -0.5 * u * u + log_ndtr((cut.centre - u) / cut.width) + (math.log(step) - _LOG_NORMAL)


@lru_cache(maxsize=4)
def _lines(cut: SampledGaussianCut, tilt: float, step: float, count: int) -> tuple[Complex, Complex]:
    """log A and S on the line. Adding, p = -t runs down the line, so both are computed for the conjugate powers."""
    scale = _log_scale(cut, tilt)
    below, above = _below_line(cut, tilt, step, count, scale), _above_line(cut, tilt, step, count)
    return (below.conj(), above.conj()) if cut.adding else (below, above)


def _log_scale(cut: SampledGaussianCut, tilt: float) -> float:
    """Roughly the log of A - 1 + S at a tilt: errors on the line must be small relative to it."""
    u, step = _coarse(cut)
    x = cut.ratio.log_ratio(u)
    log_terms = log_remainder_bound(complex(cut.power(tilt)), x, np.zeros(x.shape)) - 0.5 * u * u
    below = log_sum_exp(log_terms + log_ndtr((cut.centre - u) / cut.width)) + math.log(step) - _LOG_NORMAL
    return float(np.logaddexp(below, cut.log_above_decay(tilt, 0.0)))


def _coarse(cut: SampledGaussianCut) -> tuple[Array, float]:
    """Points below the cut, close enough to measure the size of an integrand, and their distance."""
    step = 0.25 * min(cut.width, 1.0)
    return np.arange(-_DENSITY_REACH, cut.centre + 9.0 * cut.width, step), step


def _below_line(cut: SampledGaussianCut, tilt: float, step: float, count: int, scale: float) -> Complex:
    """log A on the line.

    With the cut's weight w of losses below, A = E[w r^p] = 1 - E[1 - w] - p E[(1 - w) (r - 1)] + E[w (r^p - 1 - p (r - 1))],
    because E r = 1. The losses in the last term are small, so few points resolve their powers; the other two expectations do
    not depend on the frequency.
    """
    u, width = _below_lattice(cut, tilt, step * count, scale)
    if u.size * count > _MOST_TERMS:
        raise ConvergenceError("the rule below the cut needs too many points.")
    x = cut.ratio.log_ratio(u)
    log_weight = -0.5 * u * u + (math.log(width) - _LOG_NORMAL)
    weight = np.exp(log_weight + log_ndtr((cut.centre - u) / cut.width))
    v, apart = _above_lattice(cut)
    above = np.exp(-0.5 * v * v + log_ndtr((v - cut.centre) / cut.width) + (math.log(apart) - _LOG_NORMAL))
    mass, rise = math.fsum(above), math.fsum(above * np.expm1(cut.ratio.log_ratio(v)))
    power = cut.power(tilt) + 1j * step * np.arange(count)
    sums = np.empty(count, dtype=np.complex128)
    start = 0
    while start < count:
        # Blocks of powers within a factor of eight: the remainders lose digits when powers of very different size share one.
        stop = min(count, max(8 * start, 64), start + max(64, 1_000_000 // u.size))
        sums[start:stop] = remainder_power_sums(complex(power[start]), step, stop - start, x, weight)
        start = stop
    return complex_log1p(sums - mass - power * rise)


def _above_line(cut: SampledGaussianCut, tilt: float, step: float, count: int) -> Complex:
    """S on the line, by a trapezoidal rule in the loss itself: its sums at equally spaced frequencies are one FFT."""
    ratio = cut.ratio
    low = cut.log_ratio(cut.centre - _CUT_REACH * cut.width)
    high = cut.log_ratio(max(cut.centre + 9.0 * cut.width, max(cut.power(tilt), 1.0) / ratio.noise + 9.5))
    # The rule is periodic in the frequency: S must have decayed before what lies beyond the line folds back onto it. The decay
    # is measured against S itself, which may be much smaller than A - 1, because S alone is left in the end.
    scale = cut.log_above_decay(tilt, 0.0)
    # Multiply by 8 until it has decayed, then go back in halves of that factor, in logs.
    decayed = 8.0 / max(high - low, 1e-9)
    while cut.log_above_decay(tilt, decayed) > scale - _LOG_DEPTH:
        decayed *= 8.0
        if decayed > 1e12:
            raise ConvergenceError("the transform decays too slowly for a rule in the loss.")
    for factor in (8.0**-0.5, 8.0**-0.25, 8.0**-0.125):
        decayed *= factor if cut.log_above_decay(tilt, decayed * factor) <= scale - _LOG_DEPTH else 1.0
    length = scipy.fft.next_fast_len(math.ceil(max(count + decayed / step, 64)))
    distance = 2.0 * math.pi / (step * length)
    if max(length, (high - low) / distance) > _LONGEST_TRANSFORM:
        raise ConvergenceError("the rule in the loss needs too many points.")
    loss = low + distance * np.arange(math.ceil((high - low) / distance) + 1)
    change = np.expm1(loss) / ratio.rate
    log_change = np.log1p(change)
    u = ratio.noise * log_change + 0.5 / ratio.noise
    # Change of variables from u to the loss L, with dL/du = q R/(r sigma).
    log_density = (
        -0.5 * u * u
        - _LOG_NORMAL
        + log_ndtr((u - cut.centre) / cut.width)
        + math.log(ratio.noise / ratio.rate)
        + loss
        - log_change
    )
    terms = np.exp(log_density + cut.power(tilt) * loss + math.log(distance))
    # More losses than frequencies: equal phases, a period apart, are added before the transform.
    if loss.size > length:
        folded = np.zeros(length)
        for start in range(0, loss.size, length):
            part = terms[start : start + length]
            folded[: part.size] += part
        terms = folded
    spectrum = scipy.fft.ifft(terms, length)[:count] * length
    return spectrum * np.exp(1j * (step * low) * np.arange(count))


def _below_lattice(cut: SampledGaussianCut, tilt: float, frequency: float, scale: float) -> tuple[Array, float]:
    """Points and step of a trapezoidal rule for the losses below the cut, exact to rounding up to a frequency."""
    ratio = cut.ratio
    coarse, width = _coarse(cut)
    p = complex(cut.power(tilt), -frequency)
    # The wider the shift, the coarser the step that a given growth allows, but the more the integrand grows: the best is used.
    best = 0.0
    for v in _STRIP_FRACTIONS * min(math.pi * ratio.noise, 9.0 * cut.width):
        x = ratio.log_ratio_at(coarse + 1j * v)
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(0.5 * erfc((coarse + 1j * v - cut.centre) / (cut.width * math.sqrt(2.0)))))
        remainder = log_remainder_bound(p, x.real, x.imag)
        growth = float(log_sum_exp(remainder + size - 0.5 * coarse * coarse)) + 0.5 * v * v + math.log(width)
        best = max(best, 2.0 * math.pi * v / (max(growth - scale, 0.0) + _LOG_DEPTH))
    return best * np.arange(math.floor(-_DENSITY_REACH / best), math.ceil((coarse[-1] + width) / best) + 1), best


def _above_lattice(cut: SampledGaussianCut) -> tuple[Array, float]:
    """Points that resolve the cut and the density above it, and their distance."""
    step = 0.5 * cut.width
    end = max(cut.centre + 9.0 * cut.width, 1.0 / cut.ratio.noise + 9.5)
    return np.arange(cut.centre - _CUT_REACH * cut.width, end, step), step
