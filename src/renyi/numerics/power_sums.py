"""Weighted sums of r^p - 1 - p (r - 1) over points r = e^x, for complex powers p that are equally spaced on a vertical line."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_SMALL = 0.35  # |p x| below which the exponential series is summed, by moments of x
_TERMS = 14


def plain_power_sums(first: complex, step: float, count: int, x: Array, weight: Array) -> Complex:
    """The sums of weight e^(p x) for p = first + i step j, j < count.

    The phases of j = a B + b factor, so that a matrix product takes the place of most exponentials.
    """
    block = max(1, math.isqrt(count))
    outer = -(-count // block)
    left = np.exp(1j * np.outer(step * block * np.arange(outer), x)) * (weight * np.exp(first * x))
    right = np.exp(1j * np.outer(x, step * np.arange(block)))
    return (left @ right).ravel()[:count]


def remainder_power_sums(first: complex, step: float, count: int, x: Array, weight: Array) -> Complex:
    """The sums of weight (e^(p x) - 1 - p (e^x - 1)), accurate relative to themselves if powers differ by a factor of ten."""
    power = first + 1j * step * np.arange(count)
    small = np.abs(power[-1] if abs(power[-1]) > abs(power[0]) else power[0]) * np.abs(x) < _SMALL
    total = np.zeros(count, dtype=np.complex128)
    if small.any():
        # phi(p x) - p phi(x), phi(z) = e^z - 1 - z, term by term.
        near, share = x[small], weight[small]
        moments = []
        scaled = share * near
        for n in range(2, _TERMS + 1):
            scaled = scaled * near / n
            moments.append(float(np.sum(scaled)))
        series: Complex = np.zeros(count, dtype=np.complex128)
        for moment in reversed(moments):
            series = np.asarray(series * power + moment, dtype=np.complex128)
        total += power * (power * series - math.fsum(moments))
    if not small.all():
        far, share = x[~small], weight[~small]
        rise = np.expm1(far)
        total += plain_power_sums(first, step, count, far, share)
        total -= math.fsum(share) + power * math.fsum(share * rise)
    return total


def complex_expm1(z: Complex) -> Complex:
    """e^z - 1 with an error relative to itself."""
    half = np.sin(0.5 * z.imag)
    grow = np.expm1(z.real)
    return grow * np.cos(z.imag) - 2.0 * half * half + 1j * (grow + 1.0) * np.sin(z.imag)


def complex_log1p(z: Complex) -> Complex:
    """log(1 + z) with an error relative to |z|, where NumPy's own rounds 1 + z first."""
    square = z.real * (2.0 + z.real) + z.imag * z.imag
    with np.errstate(divide="ignore", invalid="ignore"):
        real = np.where(square > -0.5, 0.5 * np.log1p(np.maximum(square, -0.5)), np.log(np.abs(1.0 + z)))
    return real + 1j * np.arctan2(z.imag, 1.0 + z.real)
