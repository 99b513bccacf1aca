"""The general Poisson bound: the Renyi divergence of any mechanism on a Poisson sample, from its Renyi curve alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log_expm1
from renyi.numerics.rounding import TINY
from renyi.numerics.work import spend

Array = NDArray[np.float64]

LARGEST_ORDER = 16_384
"""Largest order of the sum, which has as many terms; beyond it only the caps of poisson.py are used."""

_TERMS_AT_ONCE = 100_000
"""Terms of several sums in one array: larger arrays only take more memory."""


def poisson_log_moment(order: int, *, rate: float, curve: Callable[[Array], Array]) -> float:
    """(alpha - 1) times the general bound on the divergence of integer order alpha >= 2, in either direction.

    Zhu & Wang (2019), PMLR 97, Theorem 6, as an upper bound for every mechanism by docs/poisson-general-bound.md:
    with eps(l) = ``curve`` bounding both directions of the unsampled mechanism, the logarithm of

        sum_{l=0..alpha} C(alpha,l) gamma^l (1-gamma)^(alpha-l) e^((l-1) eps(l))        (factor 1 at l = 0, 1)

    The binomial weights sum to one, so this is log1p of the sum over l >= 2 with e^(...) replaced by e^(...) - 1: positive
    terms, which keep their digits when the rate and the answer are tiny.
    """
    return float(_log_moments(np.array([float(order)]), rate, curve(np.arange(2.0, order + 1.0)))[0])


def _log_moments(order: Array, rate: float, values: Array) -> Array:
    """The log-moment of ``poisson_log_moment`` at ascending integer orders; ``values`` is the curve at 2, 3, and so on."""
    log_rise = log_expm1(np.arange(1.0, values.size + 1.0) * values)
    result = np.empty(order.shape)
    start = 0
    while start < order.size:
        # The sums of as many orders as fit, laid end to end in one array.
        size = order[start:].astype(np.int64) - 1
        stop = start + max(int(np.searchsorted(np.cumsum(size), _TERMS_AT_ONCE)), 1)
        size = size[: stop - start]
        spend(4.0 * float(np.sum(size)))
        first = np.concatenate([[0], np.cumsum(size)[:-1]])
        place = np.arange(int(np.sum(size))) - np.repeat(first, size)
        terms = log_binomial_weight(np.repeat(order[start:stop], size), place + 2.0, rate) + log_rise[place]
        peak = np.maximum.reduceat(terms, first)
        # Each sum is taken relative to its own largest term.
        anchor = np.where(np.isfinite(peak), peak, 0.0)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            log_excess = np.log(np.add.reduceat(np.exp(terms - np.repeat(anchor, size)), first)) + anchor
        result[start:stop] = np.maximum(np.logaddexp(0.0, log_excess), np.where(log_excess > -np.inf, TINY, 0.0))
        start = stop
    return result


class PoissonGeneralBound:
    """An upper bound at every finite real order up to LARGEST_ORDER (infinite beyond), for 0 < rate < 1.

    At integers it is the sum of ``poisson_log_moment``, which is proved for them alone. Between integers the log-moment
    (alpha - 1) D is convex in the order, so the chord lies above it; between 1 and 2 that chord is the constant D of order 2.
    Moments are kept, because a search asks for many orders between the same two integers.
    """

    def __init__(self, rate: float, curve: Callable[[Array], Array]) -> None:
        self.rate, self.curve = rate, curve
        self._values: Array = np.empty(0)  # the curve at 2, 3, ...
        self._moments = {1: 0.0}

    def __call__(self, order: Array) -> Array:
        """The bound at each order."""
        result = np.full(order.shape, np.inf)
        within = order <= LARGEST_ORDER
        if not within.any():
            return result
        asked = order[within]
        low = np.maximum(np.minimum(np.floor(asked), LARGEST_ORDER - 1.0), 1.0)
        self._learn(np.unique(np.concatenate([low, low + 1.0])))
        left, right = (np.array([self._moments[int(n)] for n in ends]) for ends in (low, low + 1.0))
        part = asked - low
        with np.errstate(invalid="ignore"):  # 0 times inf
            chord = np.where(part == 0.0, left, (1.0 - part) * left + part * right)
            result[within] = np.where(low == 1.0, right, chord / np.maximum(asked - 1.0, TINY))
        return result

    def _learn(self, integers: Array) -> None:
        """Compute the log-moments at those integer orders that are not known yet."""
        new = np.array([n for n in integers if int(n) not in self._moments])
        if new.size:
            if self._values.size < new[-1] - 1.0:
                # Half as many again as needed, so that growing orders do not evaluate the curve each time.
                self._values = self.curve(np.arange(2.0, max(1.5 * new[-1], 32.0)))
            found = _log_moments(new, self.rate, self._values)
            self._moments.update(zip(new.astype(np.int64).tolist(), found.tolist(), strict=True))
