"""Renyi curves of replacing one record of a sample: two mixtures (1-q) C + q A and (1-q) C + q B with a common part."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair, law_error
from renyi.laws.pairs.banded import banded_divergence
from renyi.numerics.rounding import TINY, ULP, raised
from renyi.numerics.work import spend
from renyi.sampling.replacing.without_replacement_bound import wang_balle_kasiviswanathan

Array = NDArray[np.float64]

LARGEST_ORDER = 2048
"""The sum of Wang, Balle & Kasiviswanathan has as many terms as the order; beyond this order only joint convexity is used."""


class TernaryBound:
    """The bound of Wang, Balle & Kasiviswanathan at every real order up to LARGEST_ORDER (infinite beyond), cached.

    It is proved for any three laws (with the record, with its replacement, with neither) of which each two are within ``curve``
    of each other, so it holds for fixed-size and for Poisson samples. Between integers the log-moment lies below its chord.
    """

    def __init__(self, rate: float, curve: Callable[[Array], Array], limit: float) -> None:
        self.rate, self.limit = rate, limit
        self._curve = curve
        self._values: Array = np.empty(0)  # the curve at 2, 3, ...
        self._moments = {1: 0.0}

    def __call__(self, order: Array) -> Array:
        """The bound at each order."""
        return np.array([self._at(float(alpha)) for alpha in order])

    def _at(self, order: float) -> float:
        if order > LARGEST_ORDER:
            return math.inf
        low = min(max(math.floor(order), 1), LARGEST_ORDER - 1)
        right = self._moment(low + 1)
        if low == 1:
            return right
        left, part = self._moment(low), order - low
        return ((1.0 - part) * left + part * right) / (order - 1.0) if part > 0.0 else left / (order - 1.0)

    def _moment(self, order: int) -> float:
        if order not in self._moments:
            if self._values.size < order - 1:
                self._values = self._curve(np.arange(2.0, max(1.5 * order, 64.0)))
            bound = wang_balle_kasiviswanathan(order, rate=self.rate, curve=self._known, limit=self.limit)
            self._moments[order] = (order - 1.0) * bound
        return self._moments[order]

    def _known(self, order: Array) -> Array:
        return self._values[: order.size]


def ternary_curve(rate: float, replace: RenyiCurve, widest: RenyiCurve, pair: DominatingPair | None) -> RenyiCurve:
    """The curve of (1-q) C + q A against (1-q) C + q B, 0 < q < 1, from the best of three bounds.

    ``replace`` bounds A against B and gives, by joint convexity, e^((alpha-1) D) <= 1 - q + q e^((alpha-1) eps(alpha));
    ``widest`` bounds each two of the three laws, in both directions; ``pair`` dominates the mixtures. Where the pair has
    divergences of its own they replace the general bound, which has not been seen below them.
    """
    general = TernaryBound(rate, widest, widest.limit)
    # A search treats a smooth curve as having one minimum; this one changes its bound, with a kink, at largest_order.
    exact = pair is not None and pair.attained and pair.largest_order > 100.0
    limit = min(_convex(rate, replace.limit), pair.max_loss if pair is not None else math.inf)
    return RenyiCurve(
        partial(_least, rate, replace, widest.max_order, general, pair),
        limit=max(raised(limit, 16 * ULP), TINY) if limit > 0.0 else 0.0,
        max_order=math.inf,
        covers_opposite=True,
        kinked=not exact,
    )


def widest_curve(*curves: RenyiCurve) -> RenyiCurve:
    """The pointwise largest of these curves."""
    return RenyiCurve(
        partial(_largest, curves),
        limit=max(curve.limit for curve in curves),
        max_order=min(curve.max_order for curve in curves),
        covers_opposite=True,
        kinked=True,
    )


def _largest(curves: tuple[RenyiCurve, ...], order: Array) -> Array:
    return np.asarray(np.max([curve(order) for curve in curves], axis=0))


def _least(
    rate: float,
    replace: RenyiCurve,
    largest: float,
    general: TernaryBound,
    pair: DominatingPair | None,
    order: Array,
) -> Array:
    """The least of the bounds: joint convexity everywhere, the pair's own divergence where it has one, else the general one."""
    spend(20.0 * order.size, calls=25)
    s, unsampled = order - 1.0, replace(order)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moment = s * unsampled
        near = np.log1p(rate * np.expm1(np.minimum(moment, 600.0)))
        far = moment + (math.log(rate) + 1e-12)
        convex = np.where(s > 0.0, np.where(moment < 600.0, near, far) / s, rate * unsampled)
    # Rounding is covered upwards; a divergence that is positive does not become 0.
    value = np.where(unsampled > 0.0, np.maximum(raised(convex, 16 * ULP), TINY), 0.0)
    value = np.minimum(value, unsampled)
    known = np.zeros(order.shape, dtype=bool)
    if pair is not None:
        known = order <= pair.largest_order
        if known.any():
            value[known] = np.minimum(value[known], banded_divergence(pair, order[known]))
    rest = ~known & (order <= min(largest, LARGEST_ORDER))
    if rest.any():
        value[rest] = np.minimum(value[rest], raised(general(order[rest]), law_error(order[rest])))
    return value


def _convex(rate: float, limit: float) -> float:
    """Joint convexity at infinite order, log(1 + q (e^limit - 1)), without overflow and not below it."""
    return math.log1p(rate * math.expm1(limit)) if limit < 600.0 else limit + math.log(rate) + 1e-12
