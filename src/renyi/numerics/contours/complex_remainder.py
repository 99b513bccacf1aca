"""The remainders e^z - 1 - z and r^p - 1 - p (r - 1) of complex numbers, without cancellation near z = 0 and r = 1."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Numbers = TypeVar("Numbers", Array, Complex)

_SERIES_BELOW = 0.35
"""|Re z| + |Im z| below which e^z - 1 - z is summed as a series; above it the difference loses four to five bits."""


def phi(z: Complex) -> Complex:
    """Return e^z - 1 - z, to nearly full relative accuracy."""
    result = np.exp(z)
    result -= 1.0
    result -= z
    small = np.abs(z.real) + np.abs(z.imag) < _SERIES_BELOW
    if small.any():
        near = z[small]
        series = np.full(near.shape, 1.0 / 15.0, dtype=np.complex128)
        for divisor in (14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0):
            series = (1.0 + series * near) / divisor
        result[small] = 0.5 * near * near * (1.0 + series * near)
    return result


def log_remainder_bound(power: complex, log_size: Array, angle: Array) -> Array:
    """log of a bound on |r^p - 1 - p (r - 1)| = |phi(p x) - p phi(x)|, x = log r = ``log_size`` + i ``angle``."""
    size, length = np.hypot(log_size, angle), abs(power)
    first = _log_phi_bound(power.real * log_size - power.imag * angle, length * size)
    return np.logaddexp(first, math.log(length) + _log_phi_bound(log_size, size))


def _log_phi_bound(real: Array, size: Array) -> Array:
    """Bound log |phi(z)| by the smaller of |z|^2/2 e^max(Re z, 0) and e^(Re z) + 1 + |z|, given Re z and |z|."""
    near = 2.0 * np.log(np.maximum(size, 1e-300)) + np.maximum(real, 0.0) - math.log(2.0)
    return np.minimum(near, np.logaddexp(real, np.log1p(size)))


def sinh_remainder(z: Numbers) -> Numbers:
    """sinh(z) - z for real or complex z, to a few units in the last place."""
    result = np.sinh(z) - z
    small = np.abs(z) < 1.0
    near = z[small]
    square = near * near
    series = np.ones_like(near)
    for n in range(18, 2, -2):  # z^3/6 (1 + z^2/(4 5) (1 + z^2/(6 7) (...)))
        series = 1.0 + series * square / (n * (n + 1.0))
    result[small] = near * square / 6.0 * series
    return result
