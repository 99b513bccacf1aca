"""Renyi curves of groups, from the curve of one record."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from renyi.errors import TooLarge, UnsupportedError
from renyi.laws.curves.curve import RenyiCurve
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import share, spend

Array = NDArray[np.float64]

_MOST_TERMS = 32
"""Terms of the sum that are computed one by one; in larger groups each of as many terms stands for several."""

_LARGER_ORDERS = 1.0 + np.geomspace(0.02, 30.0, 40)
"""Orders whose bound serves smaller orders too, where it is less: near order 1 the inequality gives an infinite bound."""


def group_curve(curve: RenyiCurve, size: int) -> RenyiCurve:
    """The curve of ``size`` records at once, for anything that has ``curve`` for each of them.

    Along a chain of neighbours M_0, ..., M_k, each compared with the next the same way round,

        D_alpha(M_0 || M_k) <= sum over i = 0, ..., k-1 of k alpha/(k alpha - i) D(k alpha - i),     alpha >= 1.

    The step is the triangle-like inequality of Bun & Steinke (2016), arXiv:1605.02065v1, section 5:

        D_alpha(M_0 || M_k) <= k alpha/(k alpha - 1) D_beta(M_0 || M_(k-1)) + D_(k alpha)(M_(k-1) || M_k)

    with (k-1) beta = k alpha - 1, which is Mironov (2017), arXiv:1702.07476v3, Proposition 11, with p = beta/alpha. Let b_j
    be j times the order at which the first j links are compared: b_(j-1) = b_j - 1, so that b runs through k alpha,
    k alpha - 1, ..., and the factors b_j/(b_j - 1) multiply to b_k/b_j. For zCDP, D(a) = xi + rho a, this is k^2 rho alpha
    plus xi times the sum of k alpha/(k alpha - i), at most k (1 + 1/2 + ... + 1/k): their group privacy. Losses add along the
    chain, so k times the largest one bounds every order.
    """
    if curve.mass > 0.0:
        raise UnsupportedError(
            "a group has no theorem here where the event may fail outright (an approximate guarantee): describe it by its "
            "Renyi curve or its pair, or state the guarantee of the group itself."
        )
    if size == 1:
        return curve
    return RenyiCurve(
        _Group(curve, size),
        limit=raised(curve.limit * size, ULP),
        max_order=max(curve.max_order / size, 1.0),
        covers_opposite=curve.covers_opposite,
        kinked=True,
    )


def least_curve(*curves: RenyiCurve) -> RenyiCurve:
    """The least of several curves that bound the same thing, none with a failure mass."""
    return RenyiCurve(
        partial(_least, curves),
        limit=min(curve.limit for curve in curves),
        max_order=max(curve.max_order for curve in curves),
        covers_opposite=all(curve.covers_opposite for curve in curves),
        kinked=any(curve.kinked for curve in curves),
    )


def _least(curves: tuple[RenyiCurve, ...], order: Array) -> Array:
    return np.asarray(np.min([curve(order) for curve in curves], axis=0))


class _Group:
    """The bound, no larger than at any larger order of a ladder: a divergence never falls, while the factors do."""

    def __init__(self, curve: RenyiCurve, size: int) -> None:
        self._curve, self._size = curve, size
        self._ladder: Array | None = None  # what the orders of _LARGER_ORDERS from each on give at best

    def __call__(self, order: Array) -> Array:
        if self._ladder is None:
            try:
                with share(0.5):
                    self._ladder = np.minimum.accumulate(_chain(self._curve, self._size, _LARGER_ORDERS)[::-1])[::-1]
            except TooLarge:  # the order that is asked for may still be found
                self._ladder = np.full(_LARGER_ORDERS.shape, math.inf)
        place = np.searchsorted(_LARGER_ORDERS, order)
        later = np.append(self._ladder, math.inf)[place]
        return np.minimum(_chain(self._curve, self._size, order), later)


def _chain(curve: RenyiCurve, size: int, order: Array) -> Array:
    """The sum over a chain of neighbours; terms that stand for several take the divergence of the largest order among them."""
    terms = min(size, _MOST_TERMS)
    first = np.floor(np.arange(terms + 1) * (size / terms))  # of each term, its first i
    first[-1] = size
    start, last = first[:-1], first[1:] - 1.0
    spend(20.0 * order.size * terms, calls=terms)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        top = size * order[:, None]
        rest = np.maximum(
            top * (1.0 - 4.0 * ULP) - last, 0.0
        )  # in groups of 1e15 and more the difference has no digits
        # The sum of 1/(k alpha - i) over a term: the last of them, and an integral above the others.
        inverses = 1.0 / rest + np.log1p((last - start) / rest)
        divergence = curve((top - start).ravel()).reshape(top.size, terms)
        value = np.sum(np.where(divergence > 0.0, top * inverses * divergence, 0.0), axis=1)
    return raised(np.minimum(np.where(np.isnan(value), math.inf, value), curve.limit * size), (terms + 8) * ULP)
