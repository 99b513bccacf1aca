"""Logarithms of sums, over a fine lattice, of the normal density times 1 - e^(-k d), d the distance from a starting point.

These are the integrals of ``normal_gaps`` with the integral replaced by a sum over points a small step h apart. Three forms
cover all cases. Where the summand varies little from point to point, the Euler-Maclaurin formula turns the sum into the
integral plus a few derivatives at the first point. Where the density falls fast the sum has few terms. Where only the
exponential falls fast, the sum is split: the density alone by Euler-Maclaurin, the density times the exponential term by term.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from renyi.numerics.normal_gaps import SCALED_BELOW, log_scaled_gap_below
from renyi.numerics.quadrature import gauss_legendre
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_ROOT_2PI = math.sqrt(2.0 * math.pi)
_SMOOTH_CHANGE = 0.1
"""Largest change of the summand's logarithm between neighbouring points at which Euler-Maclaurin is used: its four derivatives
then leave a relative error of 1e-14."""

_EULER_MACLAURIN = {1: -1.0 / 12.0, 3: 1.0 / 720.0, 5: -1.0 / 30_240.0, 7: 1.0 / 1_209_600.0}
"""Factors of the n-th derivatives at the first point: -B_(n+1)/(n+1)!, with Bernoulli's numbers."""

_ROWS_AT_ONCE = 2048
"""Sums computed in one array: limits memory to a few megabytes, and is long enough for vectorised calls to pay."""

_DIRECT_TERMS = math.ceil(45.0 / _SMOOTH_CHANGE)
"""Terms of a direct sum. Each is smaller than the last by a factor e^-0.1 or less, so the rest is below e^-45 of the first."""


def log_lattice_gap(start: Array, offset: Array, k: float, step: float) -> Array:
    """log of h times the sum over j >= 0 of phi(v_j) (1 - e^(-k (v_j - v))), v_j = v + (offset + j) h.

    ``start`` is v, 0 < ``offset`` <= 1, k > 0, and ``step`` is h, at most 1e-3.
    """
    # The logarithm of phi falls by about h v from one point to the next, that of e^(-k d) by k h.
    steep = step * start > _SMOOTH_CHANGE
    result = np.empty(start.shape)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        smooth = _euler_maclaurin if k * step <= _SMOOTH_CHANGE else _split_sum
        for way, here in ((_term_by_term, steep), (smooth, ~steep)):
            places = np.flatnonzero(here)
            for first in range(0, places.size, _ROWS_AT_ONCE):
                place = places[first : first + _ROWS_AT_ONCE]
                result[place] = way(start[place], offset[place], k, step)
    return result


def _term_by_term(v: Array, offset: Array, k: float, step: float) -> Array:
    """Sum directly: so far out the density falls by a factor e^-0.1 or less from each point to the next."""
    spend(4.0 * _DIRECT_TERMS * v.size, calls=15)
    d = step * (offset[:, None] + np.arange(_DIRECT_TERMS))
    terms = _density_ratio(v[:, None], d) * -np.expm1(-k * d)
    return np.log(step / _ROOT_2PI * np.sum(terms, axis=-1)) - 0.5 * v * v


def _euler_maclaurin(v: Array, offset: Array, k: float, step: float) -> Array:
    """Return the integral from v on, less the part before the first point, corrected by the derivatives at that point."""
    spend(100.0 * v.size, calls=100)
    d = offset * step
    node, weight = gauss_legendre(12)
    inner = node * d[:, None]
    # The interval before the first point is shorter than h, so the integrand is smooth there and twelve nodes are exact.
    before = d * np.sum(weight * _density_ratio(v[:, None], inner) * -np.expm1(-k * inner), axis=-1)
    first = _density_ratio(v, d)
    change = -0.5 * step * first * np.expm1(-k * d) - before
    change += step * first * (_derivatives(v + d, step) - np.exp(-k * d) * _derivatives(v + d + k, step))
    return _log_corrected(v, log_scaled_gap_below(-v, np.full(v.shape, k)), change)


def _split_sum(v: Array, offset: Array, k: float, step: float) -> Array:
    """Sum phi by Euler-Maclaurin, and subtract phi times e^(-k d), which falls fast, term by term."""
    spend(4.0 * _DIRECT_TERMS * v.size, calls=70)
    d = offset * step
    first = _density_ratio(v, d)
    left, near = -v < SCALED_BELOW, (v + d) / math.sqrt(2.0)
    log_whole = np.where(left, np.log(0.5 * erfcx(np.where(left, near, 0.0)) * first), log_ndtr(-(v + d)))
    each = step * (offset[:, None] + np.arange(_DIRECT_TERMS))
    change = step * first * (0.5 + _derivatives(v + d, step))
    change -= step * np.sum(_density_ratio(v[:, None], each) * np.exp(-k * each), axis=-1)
    return _log_corrected(v, log_whole, change)


def _derivatives(x: Array, step: float) -> Array:
    """Return the sum of the Euler-Maclaurin derivative terms of the density at x, divided by the density and by h.

    The n-th derivative of phi is (-1)^n He_n phi; h^n He_n(x) has a recurrence in which nothing overflows.
    """
    before, here, total = np.ones(x.shape), step * x, np.zeros(x.shape)
    for degree in range(1, 8):
        total -= _EULER_MACLAURIN.get(degree, 0.0) * here
        before, here = here, step * x * here - degree * step * step * before
    return total


def _density_ratio(v: Array, d: Array) -> Array:
    """Return phi(v + d)/phi(v)."""
    return np.exp(-d * (v + 0.5 * d))


def _log_corrected(v: Array, log_whole: Array, change: Array) -> Array:
    """Return the log of an integral plus ``change`` times phi(v), undoing the scaling that ``log_scaled_gap_below`` leaves."""
    left = -v < SCALED_BELOW
    density = np.where(left, 1.0, np.exp(-0.5 * v * v)) / _ROOT_2PI
    return log_whole + np.log1p(change * density * np.exp(-log_whole)) - np.where(left, 0.5 * v * v, 0.0)
