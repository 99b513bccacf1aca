"""Gauss-Legendre quadrature on [0, 1] and on panels."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@lru_cache(maxsize=16)
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """Nodes and weights of the rule with ``count`` nodes on [0, 1]; read-only, because they are cached."""
    node, weight = np.polynomial.legendre.leggauss(count)
    node, weight = 0.5 * (node + 1.0), 0.5 * weight
    node.flags.writeable = weight.flags.writeable = False
    return node, weight


def on_panels(edges: Array, count: int) -> tuple[Array, Array]:
    """Nodes and weights of the composite rule: ``count`` nodes on every panel between neighbouring edges."""
    node, weight = gauss_legendre(count)
    width = np.diff(edges)
    return (edges[:-1, None] + width[:, None] * node).ravel(), (width[:, None] * weight).ravel()


def graded_edges(width: float, finest: float) -> Array:
    """Edges of panels on [0, 1], no wider than ``width``, halving towards both ends down to ``finest``."""
    uniform = np.linspace(0.0, 1.0, max(2, int(np.ceil(1.0 / width)) + 1))
    levels = max(1, int(np.ceil(np.log2(1.0 / finest))))
    dyadic = 0.5 ** np.arange(1, levels + 1)
    return np.unique(np.concatenate([uniform, dyadic, 1.0 - dyadic]))
