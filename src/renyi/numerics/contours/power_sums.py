"""Weighted sums of powers e^(p x) and of their remainders, for complex powers p equally spaced on a vertical line.

A remainder such as e^(p x) - 1 - p x cancels for small p x. There it is summed as a power series, whose moments of x serve all
powers at once; elsewhere the sums of the three terms are subtracted, those without p in extended precision.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.work import spend

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_SERIES_BELOW = 1.0
"""|p x| below which the exponential series is summed; at 1 the direct difference loses one to two bits."""

_SERIES_DIVISORS = np.arange(3.0, 20.0)
"""Term n of the series is term n - 1 times p x/n, n = 3, ..., 19; what follows is less than 1e-17 of the first term."""


def plain_power_sums(first: complex, step: float, count: int, x: Array, weight: Array) -> Complex:
    """The sums of weight e^(p x) for p = first + i step j, j < count.

    With j = a B + b the phases factor, e^(i step j x) = e^(i step B a x) e^(i step b x), so that a matrix product replaces most
    of the exponentials.
    """
    block = max(1, math.isqrt(count))
    spend(x.size * (6.0 * block + 0.15 * count))
    left = _phases(step * block * x, -(-count // block)) * (weight * np.exp(first * x))
    return (left @ _phases(step * x, block).T).ravel()[:count]


def phi_power_sums(first: complex, step: float, count: int, x: Array, weight: Array) -> Complex:
    """The sums of weight (e^(p x) - 1 - p x), with an error relative to the sum of the absolute values."""
    power = _powers(first, step, count)
    small, reach, moments = _moments(power, x, weight)
    total = _series(moments, power / reach)
    if not small.all():
        far, share = x[~small], weight[~small]
        total += plain_power_sums(first, step, count, far, share)
        total -= _total(share) + power * _total(share * far)
    return total


def many_phi_power_sums(first: complex, step: float, count: int, x: Array, weight: Array) -> Complex:
    """``phi_power_sums`` of every row of x and weight."""
    power = _powers(first, step, count)
    spend(x.size * (30.0 + 6.0 * math.isqrt(count) + 0.15 * count))
    reach = max(abs(power[0]), abs(power[-1]))
    scaled = reach * x
    small = np.abs(scaled) < _SERIES_BELOW
    near = np.where(small, scaled, 0.0)
    term = 0.5 * weight * near * near
    moments = np.empty((x.shape[0], _SERIES_DIVISORS.size + 1))
    moments[:, 0] = term.sum(axis=1)
    for n, divisor in enumerate(_SERIES_DIVISORS, 1):
        term *= near / divisor
        moments[:, n] = term.sum(axis=1)
    total = _many_series(moments, power / reach)
    # Columns that are small in every row are done; in the others, small entries get weight 0.
    somewhere = ~small.all(axis=0)
    if somewhere.any():
        far = x[:, somewhere]
        share = np.where(small[:, somewhere], 0.0, weight[:, somewhere])
        block = max(1, math.isqrt(count))
        coarse = 1j * step * block * np.arange(-(-count // block))[:, None]
        left = np.exp((first + coarse) * far[:, None, :]) * share[:, None, :]
        right = np.exp((1j * step * np.arange(block))[:, None] * far[:, None, :])
        total += (left @ right.transpose(0, 2, 1)).reshape(x.shape[0], -1)[:, :count]
        plain, mean = (np.sum(t, axis=1, dtype=np.longdouble, keepdims=True) for t in (share, share * far))
        total -= plain.astype(np.float64) + power * mean.astype(np.float64)
    return total


def _total(terms: Array) -> float:
    """Sum in extended precision (where the platform has it), because a number nearly as large is subtracted afterwards."""
    return float(np.sum(terms, dtype=np.longdouble))


def _powers(first: complex, step: float, count: int) -> Complex:
    return np.asarray(first + 1j * step * np.arange(count), dtype=np.complex128)


def _phases(angle: Array, count: int) -> Complex:
    """Rows e^(i k angle) for k < count, as products of about two square roots of ``count`` exponentials."""
    inner = math.isqrt(count)
    fine = np.exp(1j * np.outer(np.arange(inner), angle))
    coarse = np.exp(1j * np.outer(inner * np.arange(-(-count // inner)), angle))
    return np.asarray((coarse[:, None] * fine).reshape(-1, angle.size)[:count], dtype=np.complex128)


def _moments(power: Complex, x: Array, weight: Array) -> tuple[NDArray[np.bool_], float, Array]:
    """Which x are small for all powers; the largest |p|; and the weighted sums of (|p| x)^n/n!, n >= 2, over the small x."""
    reach = max(abs(power[0]), abs(power[-1]))
    scaled = reach * x
    small = np.abs(scaled) < _SERIES_BELOW
    near = scaled[small]
    terms = np.empty((_SERIES_DIVISORS.size + 1, near.size))
    terms[0] = 0.5 * weight[small] * near * near
    terms[1:] = near / _SERIES_DIVISORS[:, None]
    return small, reach, np.multiply.accumulate(terms, axis=0).sum(axis=1)


def _series(moments: Array, ratio: Complex) -> Complex:
    """The sum over n >= 2 of moment n times ratio^n, by Horner's scheme: a table of powers would leave the cache."""
    total = np.full(ratio.shape, moments[-1], dtype=np.complex128)
    for moment in moments[-2::-1].tolist():
        total *= ratio
        total += moment
    return total * (ratio * ratio)


def _many_series(moments: Array, ratio: Complex) -> Complex:
    """The same for every row of moments, which share the powers."""
    powers = np.empty((moments.shape[1], ratio.size), dtype=np.complex128)
    powers[0] = ratio * ratio
    for n in range(1, powers.shape[0]):
        np.multiply(powers[n - 1], ratio, out=powers[n])
    return np.asarray(moments @ powers, dtype=np.complex128)


def complex_log1p(z: Complex) -> Complex:
    """log(1 + z) with an error relative to |z|: the real part is log1p(|1 + z|^2 - 1)/2, without forming 1 + z."""
    square = z.real * (2.0 + z.real) + z.imag * z.imag
    with np.errstate(divide="ignore", invalid="ignore"):
        real = np.where(square > -0.5, 0.5 * np.log1p(np.maximum(square, -0.5)), np.log(np.abs(1.0 + z)))
    return real + 1j * np.arctan2(z.imag, 1.0 + z.real)
