"""Panels on which functions are smooth: halved where a rule on the whole and on its halves disagree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.quadrature import gauss_legendre

Array = NDArray[np.float64]
LogFunction = Callable[[Array], Array]

NODES = 10
_FAINT = -740.0  # log of an integral that a float can just hold
_HALVINGS = 46  # after which a jump or a kink is left in a panel that is too narrow to count


def smooth_edges(functions: Sequence[LogFunction], low: float, high: float, panels: int) -> Array:
    """Edges such that each e^function is integrated to about 1e-12 of itself on every panel, but next to jumps and kinks."""
    edges = np.linspace(low, high, panels + 1)
    left, right = edges[:-1], edges[1:]
    found = [edges]
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        rough = np.zeros(left.shape, dtype=bool)
        for function in functions:
            whole = log_integrals(function, left, right)
            halves = np.logaddexp(log_integrals(function, left, middle), log_integrals(function, middle, right))
            with np.errstate(invalid="ignore"):
                apart = np.abs(halves - whole)  # NaN where both are -inf, which agree
            rough |= (apart > 1e-12 + 1e-15 * np.abs(halves)) & (np.maximum(whole, halves) > _FAINT)
        if not rough.any():
            break
        left, middle, right = left[rough], middle[rough], right[rough]
        found.append(middle)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return np.unique(np.concatenate(found))


def log_integrals(function: LogFunction, left: Array, right: Array) -> Array:
    """log of the integral of e^function over each panel."""
    node, weight = gauss_legendre(NODES)
    x = left[:, None] + (right - left)[:, None] * node
    values = np.asarray(function(x.ravel()), dtype=np.float64).reshape(x.shape)
    with np.errstate(divide="ignore"):  # panels as narrow as a float
        return log_sum_exp(values + np.log((right - left)[:, None] * weight))


def split_at_extremes(function: LogFunction, edges: Array) -> Array:
    """More edges: wherever the function turns between two of them, by more than rounding, so that it is monotone on panels."""
    node, _ = gauss_legendre(NODES)
    inside = edges[:-1, None] + np.diff(edges)[:, None] * node
    x = np.unique(np.concatenate([edges, inside.ravel()]))
    value = np.asarray(function(x), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        rise = np.diff(value)
        rise = np.sign(np.where(np.abs(rise) > 1e-12 * (1.0 + np.abs(value[1:])), rise, 0.0))
    turns = np.flatnonzero(rise[:-1] * rise[1:] < 0.0)
    low, high, sign = x[turns], x[turns + 2], rise[turns]
    for _ in range(60):
        first, second = low + 0.382 * (high - low), low + 0.618 * (high - low)
        up = sign * (np.asarray(function(first)) - np.asarray(function(second))) < 0.0
        low, high = np.where(up, first, low), np.where(up, high, second)
    return np.unique(np.concatenate([edges, 0.5 * (low + high)]))
