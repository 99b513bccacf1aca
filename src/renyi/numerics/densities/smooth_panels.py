"""Panels on which functions are smooth, found by halving wherever two quadrature rules disagree.

A user's density may have kinks and jumps anywhere. Gauss-Legendre converges geometrically on a panel without one, and the
panels around one shrink until their mass no longer counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.quadrature import gauss_legendre

Array = NDArray[np.float64]
LogFunction = Callable[[Array], Array]

NODES = 10
"""Gauss-Legendre nodes on every panel."""

_LOG_NEGLIGIBLE = -740.0
"""Log of an integral that no longer counts: the smallest positive float is e^-744.4."""

_MOST_HALVINGS = 46
"""After these a jump or kink is left in a panel of 2^-46 = 1.4e-14 of its first width, too narrow to count."""

_MOST_GROWTH = 16
"""Factor by which the number of panels may grow before a density is called too rough; more would only take longer."""

_GOLDEN_STEPS = 60
"""Golden-section steps that locate a turning point: 0.618^60 = 3e-13 of a distance between nodes."""


def smooth_edges(functions: Sequence[LogFunction], low: float, high: float, panels: int) -> Array:
    """Edges of panels on which each e^function is integrated to a relative 1e-12, except next to jumps and kinks.

    A panel is kept if the rule on it agrees with the rule on its halves and with a Gauss-Lobatto rule, whose nodes include the
    ends: a kink next to an end hides from Gauss-Legendre nodes. Panels on which all functions are negligible are kept as well.

    Raises ``ConvergenceError`` if the panels multiply beyond ``_MOST_GROWTH``.
    """
    edges = np.linspace(low, high, panels + 1)
    left, right = edges[:-1], edges[1:]
    found = [edges]
    for _ in range(_MOST_HALVINGS):
        middle = 0.5 * (left + right)
        rough = np.zeros(left.shape, dtype=bool)
        heavy = np.zeros(left.shape, dtype=bool)
        for function in functions:
            whole = log_integrals(function, left, right)
            halves = np.logaddexp(log_integrals(function, left, middle), log_integrals(function, middle, right))
            ended = _log_integrals(function, left, right, *_lobatto())
            # The second term is the rounding of a logarithm of that size.
            slack = 1e-12 + 1e-15 * np.abs(halves)
            for other in (halves, ended):
                with np.errstate(invalid="ignore"):
                    rough |= np.abs(other - whole) > slack  # False where both are -inf, which agree
            heavy |= np.maximum(np.maximum(whole, halves), ended) > _LOG_NEGLIGIBLE
        rough &= heavy
        if not rough.any():
            break
        left, middle, right = left[rough], middle[rough], right[rough]
        found.append(middle)
        if sum(some.size for some in found) > _MOST_GROWTH * panels:
            raise ConvergenceError(
                "a density is too rough to integrate: it has hundreds of kinks or jumps, or is noisy beyond the twelfth digit. "
                "Compute log-densities in double precision, split the output into smooth parts, or give the Renyi curve "
                "with FromRenyi."
            )
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return np.unique(np.concatenate(found))


def log_integrals(function: LogFunction, left: Array, right: Array) -> Array:
    """log of the integral of e^function over each panel."""
    return _log_integrals(function, left, right, *gauss_legendre(NODES))


def _log_integrals(function: LogFunction, left: Array, right: Array, node: Array, weight: Array) -> Array:
    x = left[:, None] + (right - left)[:, None] * node
    x[:, -1] = np.minimum(x[:, -1], right)  # rounding must not leave the panel
    with np.errstate(divide="ignore"):  # panels as narrow as a float
        return log_sum_exp(function(x.ravel()).reshape(x.shape) + np.log((right - left)[:, None] * weight))


@lru_cache(maxsize=1)
def _lobatto() -> tuple[Array, Array]:
    """The Gauss-Lobatto rule with eleven nodes on [0, 1]: the ends and the extrema of the Legendre polynomial of degree ten."""
    order = NODES
    polynomial = np.polynomial.legendre.Legendre.basis(order)
    inner = polynomial.deriv().roots()
    node = np.concatenate([[-1.0], np.sort(inner.real), [1.0]])
    weight = 2.0 / (order * (order + 1) * polynomial(node) ** 2)
    return 0.5 * (node + 1.0), 0.5 * weight


def split_at_extremes(function: LogFunction, edges: Array) -> Array:
    """Add an edge wherever the function has a local extremum beyond rounding, so that it is monotone on every panel."""
    node, _ = gauss_legendre(NODES)
    inside = edges[:-1, None] + np.diff(edges)[:, None] * node
    x = np.unique(np.concatenate([edges, inside.ravel()]))
    value = function(x)
    with np.errstate(invalid="ignore"):
        rise = np.diff(value)
        rise = np.sign(np.where(np.abs(rise) > 1e-12 * (1.0 + np.abs(value[1:])), rise, 0.0))
    turns = np.flatnonzero(rise[:-1] * rise[1:] < 0.0)
    low, high, sign = x[turns], x[turns + 2], rise[turns]
    for _ in range(_GOLDEN_STEPS):
        first, second = low + 0.382 * (high - low), low + 0.618 * (high - low)
        with np.errstate(invalid="ignore"):
            up = sign * (function(first) - function(second)) < 0.0
        low, high = np.where(up, first, low), np.where(up, high, second)
    return np.unique(np.concatenate([edges, 0.5 * (low + high)]))
