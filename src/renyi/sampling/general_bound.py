"""Any mechanism on a Poisson sample, from its Renyi curve alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log_expm1, log_sum_exp
from renyi.numerics.rounding import TINY

Array = NDArray[np.float64]

LARGEST_ORDER = 16_384
"""The sum has as many terms as the order; beyond this order only the caps of poisson.py are used."""


def poisson_log_moment(order: int, *, rate: float, curve: Callable[[Array], Array]) -> float:
    """(alpha - 1) times the general bound on the divergence of order alpha, in either direction.

    Zhu & Wang (2019), PMLR 97, Theorem 6, as an upper bound for every mechanism by docs/poisson-general-bound.md:
    with eps(l) = ``curve`` bounding both directions of the unsampled mechanism, the logarithm of

        sum_{l=0..alpha} C(alpha,l) gamma^l (1-gamma)^(alpha-l) e^((l-1) eps(l))        (factor 1 at l = 0, 1)

    The binomial weights sum to one, so it is log1p of the same sum over l >= 2 with e^(...) - 1 for e^(...).
    """
    ell = np.arange(2.0, order + 1.0)
    log_weight = log_binomial_weight(order, ell, rate)
    log_excess = log_sum_exp(log_weight + log_expm1((ell - 1.0) * curve(ell)))
    return max(float(np.logaddexp(0.0, log_excess)), TINY if log_excess > -np.inf else 0.0)


def poisson_general_bound(order: Array, *, rate: float, curve: Callable[[Array], Array]) -> Array:
    """The general bound at every finite real order up to LARGEST_ORDER (infinite beyond), for 0 < rate < 1.

    Between integers the log-moment (alpha - 1) D is convex in the order, so the chord lies above it; between 1 and 2
    that chord is the constant D of order 2.
    """
    result = np.full(order.shape, np.inf)
    within = order <= LARGEST_ORDER
    if not within.any():
        return result
    low = np.maximum(np.minimum(np.floor(order), LARGEST_ORDER - 1.0), 1.0)
    integers = np.unique(np.concatenate([low[within], low[within] + 1.0]))
    known = curve(np.arange(2.0, integers[-1] + 1.0))  # once, for all of them
    moment = {1: 0.0}
    for n in integers[integers > 1.0]:
        moment[int(n)] = poisson_log_moment(int(n), rate=rate, curve=lambda ell: known[: ell.size])
    for index in np.flatnonzero(within):
        n, part = int(low[index]), float(order[index] - low[index])
        if n == 1:
            result[index] = moment[2]
        else:
            chord = moment[n] if part == 0.0 else (1.0 - part) * moment[n] + part * moment[n + 1]
            result[index] = chord / (order[index] - 1.0)
    return result
