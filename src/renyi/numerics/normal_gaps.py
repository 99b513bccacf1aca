"""Integrals of a normal density against what an exponential lacks to one, as logarithms and without cancellation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from renyi.numerics.logspace import log1mexp
from renyi.numerics.quadrature import gauss_legendre
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
LEFT = 0.5  # where the density is taken out of what is integrated
_FAR = 9.5  # standard deviations, beyond which a normal density is nothing
_ROWS = 2048  # integrals at a time


def log_gap_below(t: Array, k: Array) -> Array:
    """log of the integral over u < t of phi(u) (1 - e^(-k (t - u))), phi the standard normal density, k > 0.

    It is Phi(t) - e^(k^2/2 - k t) Phi(t - k). Left of 1/2 the density is taken out, and what remains is a difference of two
    values of erfcx, taken directly where they differ by a fifth and as an integral of positive terms where they are close.
    """
    t = np.asarray(t, dtype=np.float64)
    return log_scaled_gap_below(t, k) - np.where(t < LEFT, 0.5 * t * t, 0.0)


def log_scaled_gap_below(t: Array, k: Array) -> Array:
    """The same without the factor e^(-t^2/2) where t < ``LEFT``."""
    t, k = np.broadcast_arrays(np.asarray(t, dtype=np.float64), np.asarray(k, dtype=np.float64))
    shape, t, k = t.shape, t.ravel(), k.ravel()
    result = np.empty(t.shape)
    left = t < LEFT
    direct = np.where(left, k >= 0.3 * np.maximum(np.abs(t), 1.0), k >= 0.3)
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        here = left & direct
        x = -t[here] * _ROOT_HALF
        result[here] = np.log(erfcx(x) - erfcx(x + k[here] * _ROOT_HALF)) - math.log(2.0)
        here = ~left & direct
        whole = log_ndtr(t[here])
        part = k[here] * (0.5 * k[here] - t[here]) + log_ndtr(t[here] - k[here])
        result[here] = whole + log1mexp(np.maximum(whole - part, 0.0))
        places = np.flatnonzero(~direct)
        for start in range(0, places.size, _ROWS):
            place = places[start : start + _ROWS]
            result[place] = _log_close(t[place], k[place])
    return result.reshape(shape)


def log_gap_above(t: Array, k: Array) -> Array:
    """log of the integral over u > t of phi(u) (e^(k (u - t)) - 1), k > 0: the same integral, completed to a square."""
    t, k = np.asarray(t, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return k * (0.5 * k - t) + log_gap_below(k - t, k)


def _log_close(t: Array, k: Array) -> Array:
    """By Gauss-Legendre over r = t - u: e^(t r - r^2/2) (1 - e^(-k r)), with phi(t) taken out where t < 1/2."""
    spend(150.0 * t.size, calls=20)
    node, weight = gauss_legendre(96)
    left = t < LEFT
    first = np.where(left, 0.0, np.maximum(t - _FAR, 0.0))
    last = np.where(left, np.minimum(40.0 / np.maximum(1.0 - t, 1.0), 12.0), t + _FAR)
    r = first[:, None] + (last - first)[:, None] * node
    peak = np.where(left, 0.0, 0.5 * t * t)
    exponent = t[:, None] * r - 0.5 * r * r - peak[:, None]
    total = np.sum(weight * np.exp(exponent) * -np.expm1(-k[:, None] * r), axis=-1) * (last - first)
    return np.asarray(np.log(total) + peak - np.where(left, 0.0, 0.5 * t * t) - _HALF_LOG_2PI)
