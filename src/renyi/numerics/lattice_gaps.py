"""Sums over a fine lattice of a normal density against what an exponential lacks to one, as logarithms.

The integrals of ``normal_gaps``, summed at points a small step h apart instead. Where everything varies little from point to
point, the Euler-Maclaurin formula turns the sum into the integral and a few derivatives at the first point; elsewhere the sum
has few terms, or one half of it has.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from renyi.numerics.normal_gaps import LEFT, log_scaled_gap_below
from renyi.numerics.quadrature import gauss_legendre
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_ROOT_2PI = math.sqrt(2.0 * math.pi)
_SMOOTH = 0.1  # change of a logarithm from one point to the next; the terms below then leave an error of 1e-14
_FACTORS = {1: -1.0 / 12.0, 3: 1.0 / 720.0, 5: -1.0 / 30_240.0, 7: 1.0 / 1_209_600.0}
"""Of the derivatives at the first point: -B_(n+1)/(n+1)!, Bernoulli's numbers."""
_ROWS = 2048  # sums at a time
_MOST_TERMS = math.ceil(45.0 / _SMOOTH)  # of a direct sum, down to e^-45


def log_lattice_gap(start: Array, offset: Array, k: float, step: float) -> Array:
    """log of h times the sum over j >= 0 of phi(v_j) (1 - e^(-k (v_j - v))), v_j = v + (offset + j) h.

    ``start`` is v, 0 < ``offset`` <= 1, k > 0, and ``step`` is h, at most 1e-3.
    """
    steep = step * start > _SMOOTH
    result = np.empty(start.shape)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        smooth = _smooth if k * step <= _SMOOTH else _halved
        for way, here in ((_few, steep), (smooth, ~steep)):
            places = np.flatnonzero(here)
            for first in range(0, places.size, _ROWS):
                place = places[first : first + _ROWS]
                result[place] = way(start[place], offset[place], k, step)
    return result


def _few(v: Array, offset: Array, k: float, step: float) -> Array:
    """So far out that the density falls by a tenth and more from point to point: term by term."""
    spend(4.0 * _MOST_TERMS * v.size, calls=15)
    d = step * (offset[:, None] + np.arange(_MOST_TERMS))
    terms = _relative(v[:, None], d) * -np.expm1(-k * d)
    return np.log(step / _ROOT_2PI * np.sum(terms, axis=-1)) - 0.5 * v * v


def _smooth(v: Array, offset: Array, k: float, step: float) -> Array:
    """The integral from v on, less what lies before the first point, and the derivatives there."""
    spend(100.0 * v.size, calls=100)
    d = offset * step
    node, weight = gauss_legendre(12)
    inner = node * d[:, None]
    before = d * np.sum(weight * _relative(v[:, None], inner) * -np.expm1(-k * inner), axis=-1)
    first = _relative(v, d)
    change = -0.5 * step * first * np.expm1(-k * d) - before
    change += step * first * (_derivatives(v + d, step) - np.exp(-k * d) * _derivatives(v + d + k, step))
    return _changed(v, log_scaled_gap_below(-v, np.full(v.shape, k)), change)


def _halved(v: Array, offset: Array, k: float, step: float) -> Array:
    """The density alone as above, and the exponential, which falls by a tenth from point to point, term by term."""
    spend(4.0 * _MOST_TERMS * v.size, calls=70)
    d = offset * step
    first = _relative(v, d)
    left, near = -v < LEFT, (v + d) / math.sqrt(2.0)
    log_whole = np.where(left, np.log(0.5 * erfcx(np.where(left, near, 0.0)) * first), log_ndtr(-(v + d)))
    each = step * (offset[:, None] + np.arange(_MOST_TERMS))
    change = step * first * (0.5 + _derivatives(v + d, step))
    change -= step * np.sum(_relative(v[:, None], each) * np.exp(-k * each), axis=-1)
    return _changed(v, log_whole, change)


def _derivatives(x: Array, step: float) -> Array:
    """The Euler-Maclaurin formula's derivatives of the density at x, divided by the density and by h.

    The n-th derivative of phi is (-1)^n He_n phi; h^n He_n(x) has a recurrence in which nothing overflows.
    """
    before, here, total = np.ones(x.shape), step * x, np.zeros(x.shape)
    for degree in range(1, 8):
        total -= _FACTORS.get(degree, 0.0) * here
        before, here = here, step * x * here - degree * step * step * before
    return total


def _relative(v: Array, d: Array) -> Array:
    """phi(v + d)/phi(v)."""
    return np.exp(-d * (v + 0.5 * d))


def _changed(v: Array, log_whole: Array, change: Array) -> Array:
    """A sum that differs from a scaled integral by what is given in units of phi(v), both with their density again."""
    left = -v < LEFT
    density = np.where(left, 1.0, np.exp(-0.5 * v * v)) / _ROOT_2PI
    return log_whole + np.log1p(change * density * np.exp(-log_whole)) - np.where(left, 0.5 * v * v, 0.0)
