"""The second-order remainder: every Renyi divergence in this library is an expectation of it.

With s = alpha - 1 and x the logarithm of a likelihood ratio P/Q,

    kappa(s, x) = (e^(s x) - 1)/s + e^(-x) - 1      (s = 0: x + e^(-x) - 1)
                = phi(s x)/s + phi(-x),             phi(y) = e^y - 1 - y >= 0,

and, because E_Q[P/Q] = 1,

    E_Q[(P/Q)^alpha] - 1     = s E_Q[e^x kappa(s, x)],        D_alpha(P || Q),
    E_Q[(P/Q)^(1-alpha)] - 1 = s E_Q[kappa(s, -x)],           D_alpha(Q || P).

So a divergence is log1p(s E)/s with E a sum of nonnegative terms: nothing cancels, whether the
divergence is 1e-30 or 1e+10, whether alpha is 1 or a million.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi.numerics.rounding import TINY
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_SERIES_BELOW = 0.2
"""|y| below which e^y - 1 - y is summed as a series; at this value the difference loses three to four bits."""

_LARGEST_EXPONENT = 600.0
"""Exponents below which e^x is safely finite (it overflows at 709), with room for products of it."""

_ONLY_EXPONENTIAL = 40.0
"""Exponent y above which e^y - 1 - y is written as e^y times a factor near 1: the correction is below 1e-15 there."""


def exp_remainder(y: ArrayLike) -> Array:
    """phi(y) = e^y - 1 - y, to a few units in the last place; inf where e^y overflows."""
    y = np.asarray(y, dtype=np.float64)
    with np.errstate(over="ignore"):
        result = np.expm1(y) - y
    small = np.abs(y) < _SERIES_BELOW
    if small.any():
        near = y[small]
        # y^2/2 (1 + y/3 (1 + y/4 (...))), in place: these arrays are the inner loop of every divergence.
        series = np.ones_like(near)
        for n in range(13, 2, -1):
            series *= near * (1.0 / n)
            series += 1.0
        near *= near
        series *= 0.5 * near
        result = np.asarray(result)
        result[small] = series
    return result


def log_remainder(s: ArrayLike, x: ArrayLike, phi_minus_x: Array | None = None) -> Array:
    """log kappa(s, x), for s >= 0 and real x, broadcast against each other; -inf at x = 0 alone.

    A caller that needs many s at the same x may pass ``exp_remainder(-x)`` as ``phi_minus_x``.
    """
    s, x = np.asarray(s, dtype=np.float64), np.asarray(x, dtype=np.float64)
    y = s * x
    moderate = max(np.max(y, initial=0.0), np.max(-x, initial=0.0)) < _LARGEST_EXPONENT
    spend((5.0 if moderate else 12.0) * y.size, calls=40)
    positive = np.where(s > 0.0, s, 1.0)
    with np.errstate(divide="ignore"):
        # kappa of a tiny x underflows to 0 although it is positive; it is rounded up, which keeps a bound from above.
        if moderate:
            value = exp_remainder(y) / positive + (exp_remainder(-x) if phi_minus_x is None else phi_minus_x)
            return np.asarray(np.log(np.where(x != 0.0, np.maximum(value, TINY), value)))
        return np.logaddexp(_log_exp_remainder(y) - np.log(positive), _log_exp_remainder(-x))


def log_scaled_remainder(s: ArrayLike, x: ArrayLike) -> Array:
    """log(kappa(s, x) e^(-s x)) for s > 0; for a large s x, subtracting it from log kappa(s, x) would lose digits."""
    s, x = np.asarray(s, dtype=np.float64), np.asarray(x, dtype=np.float64)
    y = s * x
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        large = np.log1p(-(1.0 - s * np.expm1(-x)) * np.exp(-y)) - np.log(s)
        return np.where(y > _ONLY_EXPONENTIAL, large, log_remainder(s, np.where(y > _ONLY_EXPONENTIAL, 1.0, x)) - y)


def log_one_plus(s: Array, log_mean: Array) -> Array:
    """log1p(s E)/s, given log E; its limit E at s = 0. A positive value never underflows to 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        value = np.logaddexp(0.0, np.log(s) + log_mean) / s
        value = np.where(s > 0.0, value, np.exp(log_mean))
        return np.where(log_mean > -np.inf, np.maximum(value, TINY), value)


def _log_exp_remainder(y: Array) -> Array:
    """log phi(y), also where e^y overflows."""
    large = np.maximum(y, _ONLY_EXPONENTIAL)
    return np.where(
        y > _ONLY_EXPONENTIAL,
        large + np.log1p(-(1.0 + large) * np.exp(-large)),
        np.log(exp_remainder(np.minimum(y, _ONLY_EXPONENTIAL))),
    )
