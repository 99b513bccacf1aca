"""Logarithms of integrals of the normal density times 1 - e^(-k d), or e^(k d) - 1, d the distance from a threshold t.

Each is a difference of two normal tails, which nearly cancel when k is small; the tails underflow when t is far out. So
differences are taken only where they keep their digits, integrals of positive terms are used elsewhere, and left of
``SCALED_BELOW`` the factor e^(-t^2/2) is kept apart.
"""

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
SCALED_BELOW = 0.5
"""Threshold t below which the factor e^(-t^2/2) is taken out of the integral: the integral itself underflows for very negative
t, what remains does not. Around this value both forms keep their digits."""

_DENSITY_REACH = 9.5
"""Standard deviations beyond which the normal density is negligible: its tail there is 1e-21."""

_ROWS_AT_ONCE = 2048
"""Integrals computed in one array: limits memory, and is long enough for vectorised calls to pay."""


def log_gap_below(t: Array, k: Array) -> Array:
    """log of the integral over u < t of phi(u) (1 - e^(-k (t - u))), phi the standard normal density, k > 0.

    It is Phi(t) - e^(k^2/2 - k t) Phi(t - k). Left of 1/2 the factor e^(-t^2/2) is taken out, and what remains is a difference
    of two values of erfcx. It is taken directly where they differ by a fifth or more, so that a digit is lost at most, and as
    an integral of positive terms where they are closer.
    """
    t = np.asarray(t, dtype=np.float64)
    return log_scaled_gap_below(t, k) - np.where(t < SCALED_BELOW, 0.5 * t * t, 0.0)


def log_scaled_gap_below(t: Array, k: Array) -> Array:
    """Return ``log_gap_below``, but without the factor e^(-t^2/2) where t < ``SCALED_BELOW``."""
    t, k = np.broadcast_arrays(np.asarray(t, dtype=np.float64), np.asarray(k, dtype=np.float64))
    shape, t, k = t.shape, t.ravel(), k.ravel()
    result = np.empty(t.shape)
    left = t < SCALED_BELOW
    # erfcx falls like 1/x, so a k of 0.3 times its argument changes it by a fifth; near 0 its slope is about -1.
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
        for start in range(0, places.size, _ROWS_AT_ONCE):
            place = places[start : start + _ROWS_AT_ONCE]
            result[place] = _log_quadrature(t[place], k[place])
    return result.reshape(shape)


def log_gap_above(t: Array, k: Array) -> Array:
    """log of the integral over u > t of phi(u) (e^(k (u - t)) - 1), k > 0.

    Completing the square turns it into e^(k^2/2 - k t) times the integral of ``log_gap_below`` at k - t.
    """
    t, k = np.asarray(t, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return k * (0.5 * k - t) + log_gap_below(k - t, k)


def _log_quadrature(t: Array, k: Array) -> Array:
    """Return the log of the integral by Gauss-Legendre, where the two tails are too close to subtract.

    With r = t - u it is phi(t) times the integral over r > 0 of e^(t r - r^2/2) (1 - e^(-k r)); the terms are all positive. For
    t < 1/2 the factor e^(-t^2/2) is left out.
    """
    spend(150.0 * t.size, calls=20)
    node, weight = gauss_legendre(96)
    left = t < SCALED_BELOW
    # For t < 1/2 the integrand decays like e^(-|t| r), for others it is a normal density about r = t.
    first = np.where(left, 0.0, np.maximum(t - _DENSITY_REACH, 0.0))
    last = np.where(left, np.minimum(40.0 / np.maximum(1.0 - t, 1.0), 12.0), t + _DENSITY_REACH)
    r = first[:, None] + (last - first)[:, None] * node
    peak = np.where(left, 0.0, 0.5 * t * t)
    exponent = t[:, None] * r - 0.5 * r * r - peak[:, None]
    total = np.sum(weight * np.exp(exponent) * -np.expm1(-k[:, None] * r), axis=-1) * (last - first)
    return np.asarray(np.log(total) + peak - np.where(left, 0.0, 0.5 * t * t) - _HALF_LOG_2PI)
