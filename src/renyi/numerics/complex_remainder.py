"""r^p - 1 - p (r - 1) for complex p and r = e^x, without cancellation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Complex = NDArray[np.complex128]

_SMALL = 0.35  # below it the series of e^z - 1 - z is used; above it the difference loses less than four bits


def complex_remainder(power: Complex, x: Complex) -> Complex:
    """e^(p x) - 1 - p (e^x - 1), written as phi(p x) - p phi(x)."""
    return phi(power * x) - power * phi(x)


def phi(z: Complex) -> Complex:
    """e^z - 1 - z."""
    result = np.exp(z)
    result -= 1.0
    result -= z
    small = np.abs(z.real) + np.abs(z.imag) < _SMALL
    if small.any():
        near = z[small]
        series = np.full(near.shape, 1.0 / 15.0, dtype=np.complex128)
        for divisor in (14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0):
            series = (1.0 + series * near) / divisor
        result[small] = 0.5 * near * near * (1.0 + series * near)
    return result
