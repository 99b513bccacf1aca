"""The law of a sum of independent lattice variables by the fast Fourier transform, tilted so that a far tail keeps its digits.

A law with masses m_k at the points x_k is tilted to m_k e^(c x_k)/M(c). The sum of tilted variables is the tilted sum, so
rounding noise, which is relative to the largest tilted mass, becomes relative to the masses near the point that the tilt c
was chosen for, however small they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_FFT_ERROR_PER_BIT = 1e-15
"""Error of a transform in the Euclidean norm, relative and per binary digit of its length: Higham (2002), Theorem 24.2,
gives about 7 units of 1.1e-16 for radix 2."""

_LOG_NEGLIGIBLE = -70.0
"""Log of a transform's value below which a frequency is left out: e^-70 = 4e-31 is added to the noise instead."""

_NO_WEIGHT = 1e-18
"""Tilted mass below which a point does not count towards the rounding error of the weights."""


def fast_length(least: int) -> int:
    """The smallest number from ``least`` on whose only prime factors are 2, 3 and 5: such transforms are fast.

    SciPy has it too, in a module that takes longer to load than all of ours that a question needs.
    """
    best = 1 << (least - 1).bit_length()
    five = 1
    while five < best:
        product = five
        while product < best:
            # The smallest power of two that lifts the product of threes and fives to the least length.
            best = min(best, product << max((-(-least // product) - 1).bit_length(), 0))
            product *= 3
        five *= 5
    return best


@dataclass(frozen=True, slots=True)
class LatticeLaw:
    """Masses e^``log_mass`` at the points ``x``, which are an offset plus ``index`` times a common step; ``count`` copies."""

    x: Array
    log_mass: Array
    index: NDArray[np.int64]
    count: int

    def kept(self, mask: NDArray[np.bool_]) -> LatticeLaw:
        """The part of the law at the points that ``mask`` selects; the masses are not renormalised."""
        return LatticeLaw(self.x[mask], self.log_mass[mask], self.index[mask], self.count)


@dataclass(frozen=True, slots=True)
class Moments:
    """log of the moment generating function of a sum, at one tilt, with its first two derivatives."""

    log: float
    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class TiltedSum:
    """Tilted masses at ``origin + step * (first + j)``, each known up to ``noise`` plus a ``relative`` error.

    The transform is cyclic: mass that falls outside of these points is wrapped around into them. The untilted mass at x is
    ``mass * exp(log_moment - tilt * x)``. The origin is near the mean of the tilted sum; ``centre`` is its index, in the sum of
    the laws' own indices.
    """

    origin: float
    centre: int
    step: float
    first: int
    mass: Array
    tilt: float
    log_moment: float
    noise: float
    relative: float

    def x(self, start: int, stop: int) -> Array:
        """The points at places ``start`` to ``stop``, the latter excluded."""
        return self.origin + self.step * np.arange(self.first + start, self.first + stop, dtype=np.float64)

    def place(self, x: float) -> int:
        """The first place at or right of the point x, cut to the range of places held."""
        return min(max(math.ceil((x - self.origin) / self.step) - self.first, 0), self.mass.size)


def moments(laws: Sequence[LatticeLaw], tilt: float) -> Moments:
    """Moments of the sum of all copies of all laws under one tilt."""
    log = mean = variance = 0.0
    for law in laws:
        spend(4.0 * law.x.size, calls=10)
        exponent = law.log_mass + tilt * law.x
        peak = float(np.max(exponent, initial=-math.inf))
        if peak == -math.inf:
            return Moments(-math.inf, 0.0, 0.0)
        weight = np.exp(exponent - peak)
        total = float(np.sum(weight))
        centre = float(np.sum(weight * law.x)) / total
        log += law.count * (peak + math.log(total))
        mean += law.count * centre
        variance += law.count * float(np.sum(weight * (law.x - centre) ** 2)) / total
    return Moments(log, mean, variance)


def log_moments(laws: Sequence[LatticeLaw], tilts: Array) -> Array:
    """log of the moment generating function of the sum at many tilts."""
    total = np.zeros(tilts.shape)
    for law in laws:
        spend(2.0 * law.x.size * tilts.size)
        for place, tilt in enumerate(tilts):
            exponent = law.log_mass + tilt * law.x
            peak = float(np.max(exponent))
            exponent -= peak
            total[place] += law.count * (peak + math.log(float(np.sum(np.exp(exponent, out=exponent)))))
    return total


def tail_points(laws: Sequence[LatticeLaw], tilt: float, log_tail: float) -> tuple[float, float]:
    """Two points such that the tilted sum lies below the first, and above the second, with log-probability <= ``log_tail``.

    Chernoff: P[X >= t] <= e^(K(c+s) - K(c) - s t) for every s > 0, so t = (K(c+s) - K(c) - log_tail)/s will do, with
    K the log of the moment generating function; the smallest over a ladder of s is taken. The left side is its mirror image.
    """
    here = moments(laws, tilt)
    spread = math.sqrt(max(here.variance, 1e-300))
    widest = sum(law.count * float(law.x[-1] - law.x[0]) for law in laws)
    # For a normal sum the best s is sqrt(-2 log_tail)/spread; the ladder spans a factor of 32 below it and 4 above.
    s = np.sqrt(-2.0 * log_tail) / max(spread, 1e-12 * widest, 1e-290) * 2.0 ** np.arange(-5.0, 3.0)
    with np.errstate(over="ignore", invalid="ignore"):
        right = (log_moments(laws, tilt + s) - here.log - log_tail) / s
        left = (log_moments(laws, tilt - s) - here.log - log_tail) / s
    top = sum(law.count * float(law.x[-1]) for law in laws)
    bottom = sum(law.count * float(law.x[0]) for law in laws)
    high = min(top, float(np.min(right[np.isfinite(right)], initial=math.inf)))
    low = max(bottom, float(np.max(-left[np.isfinite(left)], initial=-math.inf)))
    return low, max(high, low)


def tilted_sum(laws: Sequence[LatticeLaw], step: float, tilt: float, low: float, length: int) -> TiltedSum:
    """The tilted law of the sum at ``length`` points from ``low`` on, with a bound on its error.

    Each transform F is raised to its count T as e^(T log F), with each law centred at its mean so that phases stay small. With
    A = |F| + (largest error of F), an error dF moves F^T by at most T A^(T-1) |dF|. The sum over frequencies of that times the
    other factors is bounded by the Cauchy-Schwarz inequality from the Euclidean norm of dF; ``squares`` gathers its other side
    law by law. Only frequencies at which the product so far is not negligible are carried along.
    """
    norm = _FFT_ERROR_PER_BIT * math.log2(max(length, 2))
    half = length // 2 + 1
    kept: NDArray[np.intp] | None = None
    log_product: NDArray[np.complex128] | complex = 0.0
    log_bound: Array | float = 0.0
    squares: Array | float = 0.0
    log_moment, base, relative, copies, centre = 0.0, [], 0.0, 0, 0
    for law in laws:
        spend(6.0 * length, calls=40)
        exponent = law.log_mass + tilt * law.x
        peak = float(np.max(exponent))
        weight = np.exp(exponent - peak)
        total = float(np.sum(weight))
        weight /= total
        one = peak + math.log(total)
        mean = round(float(np.sum(weight * law.index)))
        transform = np.fft.rfft(np.bincount((law.index - mean) % length, weights=weight, minlength=length))
        if kept is not None:
            transform = transform[kept]
        scale = norm * math.sqrt(length) * math.sqrt(float(np.sum(weight * weight)))
        grown = np.abs(transform)
        grown += scale
        # A factor that is negligible by itself needs no logarithm.
        seen = np.flatnonzero(grown > math.exp(_LOG_NEGLIGIBLE / law.count))
        if seen.size < grown.size:
            grown, transform = grown[seen], transform[seen]
            log_product, log_bound, squares = (_taken(value, seen) for value in (log_product, log_bound, squares))
            kept = seen if kept is None else kept[seen]
        log_grown = np.log(grown, out=grown)
        power = (law.count - 1) * log_grown
        with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
            # Product rule: this law's error times the others' bounds, plus the others' errors times this law's bound.
            moved = np.exp(2.0 * (math.log(law.count * scale) + log_bound + power))
            power += log_grown
            if isinstance(squares, np.ndarray):
                moved += squares * np.exp(2.0 * power)
            squares = moved
            log_bound = np.add(power, log_bound, out=power)
            np.log(transform, out=transform)
            transform *= law.count
            log_product = np.add(transform, log_product, out=transform)
        del grown, log_grown, power, moved, transform
        log_moment += law.count * one
        # The point x of index ``mean``, from the nearest point that the law has, so that step * difference rounds little.
        near = int(np.argmin(np.abs(law.index - mean)))
        base.append(law.count * (float(law.x[near]) - step * float(law.index[near] - mean)))
        centre += law.count * mean
        heavy = weight > _NO_WEIGHT
        extent = float(np.max(np.abs(tilt * law.x[heavy]) + np.abs(law.log_mass[heavy]), initial=0.0))
        relative += law.count * ULP * (32.0 + 4.0 * extent)
        copies += law.count
    origin = math.fsum(base)
    # Multiplying by e^(i w first) shifts the cyclic result so that it starts at ``low``.
    first = math.floor((low - origin) / step)
    frequency = np.arange(half) if kept is None else kept
    found = np.asarray(log_product, dtype=np.complex128)
    found.imag += (2.0 * math.pi / length) * (frequency * (first % length) % length)
    with np.errstate(under="ignore", invalid="ignore"):
        found[~np.isfinite(found)] = -1000.0  # the log of a transform that is exactly 0; its exponential is 0 again
        np.exp(found, out=found)
    size = np.abs(found)
    del log_product, log_bound, frequency
    # A frequency and its mirror image both count, hence the factors 2. In turn: errors of the laws' transforms, rounding of
    # logarithms and exponentials (each of the ``copies`` phases by a few units), the inverse transform, frequencies left out.
    noise = (
        math.sqrt(len(laws) * 2.0 * float(np.sum(squares))) / length
        + 16.0 * ULP * (copies + 1) * 2.0 * float(np.sum(size)) / length
        + norm * math.sqrt(2.0 * float(np.sum(size * size)) / length)
        + (len(laws) + 1) * math.exp(_LOG_NEGLIGIBLE)
    )
    del size, squares
    product = found
    if kept is not None:
        product = np.zeros(half, dtype=np.complex128)
        product[kept] = found
    mass = np.fft.irfft(product, length)
    relative += 4.0 * ULP * (abs(log_moment) + length)
    return TiltedSum(origin, centre, step, first, mass, tilt, log_moment, noise, relative)


def _taken(value: Any, places: NDArray[np.intp]) -> Any:
    """Select places of an array; before the first law, the running values are still plain numbers."""
    return value[places] if isinstance(value, np.ndarray) else value
