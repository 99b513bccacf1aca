"""The sum over all integers x of e^(-(x - u)^2/(2 scale^2)), theta(u), beside its value at u = 0.

It has period 1. By Poisson summation it is proportional to 1 + 2 sum over k >= 1 of e^(-2 (pi scale k)^2) cos(2 pi k u).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.contours.power_sums import complex_log1p
from renyi.numerics.logspace import log_sum_exp

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

SMALLEST_SMOOTH_SCALE = 0.5
"""Scale above which the series over k is used, and below which the sum over x: both converge fast at it."""

_WAVES = np.arange(1.0, 8.0)
"""Terms of the series over k: what follows is less than e^-100 of what is summed."""

_INTEGERS = np.arange(1.0, 12.0)
"""Terms of the sum over x, on either side."""

_ONE_WAVE = 2.0
"""Scale above which one wave is left of the series at a complex u, and next to nothing at a real one: e^-79."""


def log_theta_zero(scale: float) -> float:
    """log theta(0)."""
    if scale > SMALLEST_SMOOTH_SCALE:
        return math.log(scale * math.sqrt(2.0 * math.pi)) + math.log1p(float(np.sum(_weights(scale))))
    return math.log1p(2.0 * float(np.sum(np.exp(-0.5 * (_INTEGERS / scale) ** 2))))


def log_theta_ratio(offset: Array, scale: float) -> Array:
    """log(theta(u)/theta(0)) at real u, |u| <= 1/2, without cancellation at small u."""
    if scale > SMALLEST_SMOOTH_SCALE:
        weight = _weights(scale)
        drop = np.sum(weight * 2.0 * np.sin(math.pi * _WAVES * offset[..., None]) ** 2, axis=-1)
        return np.log1p(-drop / (1.0 + np.sum(weight)))
    # Directly, theta(u) e^(u^2/(2 sigma^2)) = theta(0) + sum over x >= 1 of 4 e^(-x^2/(2 sigma^2)) sinh^2(x u/(2 sigma^2))
    y = _INTEGERS * np.abs(offset[..., None]) / (2.0 * scale * scale)
    with np.errstate(divide="ignore"):
        terms = -0.5 * (_INTEGERS / scale) ** 2 + 2.0 * (y + np.log(-np.expm1(-2.0 * y)))
    growth = log_sum_exp(terms) - log_theta_zero(scale)
    return np.logaddexp(0.0, growth) - 0.5 * (offset / scale) ** 2


def complex_log_theta_ratio(offset: float, height: Array, scale: float) -> Complex:
    """log(theta(u)/theta(0)) at u = offset + i height, |height| <= pi scale^2, for smooth scales."""
    if scale > _ONE_WAVE:
        # Of the cosine one exponential is left: at a large height the other one is nothing beside it, at a small one both are.
        angle = -2.0 * math.pi * offset * np.sign(height)
        wave = np.exp(2.0 * math.pi * (np.abs(height) - math.pi * scale * scale) + 1j * angle)
        return complex_log1p(np.asarray(wave, dtype=np.complex128))
    weight = _weights(scale)
    u = offset + 1j * height
    drop = np.sum(weight * 2.0 * np.sin(math.pi * _WAVES * u[..., None]) ** 2, axis=-1)
    return complex_log1p(np.asarray(-drop / (1.0 + np.sum(weight)), dtype=np.complex128))


def _weights(scale: float) -> Array:
    return 2.0 * np.exp(-2.0 * (math.pi * scale * _WAVES) ** 2)
