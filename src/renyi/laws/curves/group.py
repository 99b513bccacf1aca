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

_SMALL = 16  # records
_LADDER = 1.0 + np.geomspace(0.02, 30.0, 40)


def group_curve(curve: RenyiCurve, size: int) -> RenyiCurve:
    """The curve of ``size`` records at once, for anything that has ``curve`` for each of them.

    By the weak triangle inequality (Mironov 2017, arXiv:1702.07476v3, Proposition 11, with p = q = 2) along a chain of
    neighbours that is halved again and again, each half compared the same way round:

        D_k(alpha) <= (alpha - 1/2)/(alpha - 1) D_ceil(k/2)(2 alpha) + D_floor(k/2)(2 alpha - 1),     alpha > 1.

    There are as many orders as records, so in large groups the larger half at 2 alpha stands for both. Losses add along the
    chain, so k times the largest one bounds every order.
    """
    if curve.mass > 0.0:
        raise UnsupportedError(
            "a group has no theorem here where the event may fail outright (an approximate guarantee): describe it by its "
            "Renyi curve or its pair, or state the guarantee of the group itself."
        )
    if size == 1:
        return curve
    depth = math.ceil(math.log2(size))
    return RenyiCurve(
        _Group(curve, size),
        limit=raised(curve.limit * size, ULP),
        max_order=math.inf if math.isinf(curve.max_order) else max(curve.max_order / 2.0**depth, 1.0),
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
    """The bound, no larger than at any larger order of a ladder: a divergence never falls, while the bound is infinite at 1."""

    def __init__(self, curve: RenyiCurve, size: int) -> None:
        self._curve, self._size = curve, size
        self._ladder: Array | None = None  # what the orders of _LADDER from each on give at best

    def __call__(self, order: Array) -> Array:
        if self._ladder is None:
            try:
                with share(0.5):
                    self._ladder = np.minimum.accumulate(_chain(self._curve, self._size, _LADDER)[::-1])[::-1]
            except TooLarge:  # the order that is asked for may still be found
                self._ladder = np.full(_LADDER.shape, math.inf)
        place = np.searchsorted(_LADDER, order)
        later = np.append(self._ladder, math.inf)[place]
        return np.minimum(_chain(self._curve, self._size, order), later)


def _chain(curve: RenyiCurve, size: int, order: Array) -> Array:
    """Halves of halves; of a large group both halves are taken for the larger, one at a time, however many there are."""
    if size == 1:
        return curve(order)
    sizes = [size]
    while sizes[-1] > _SMALL:
        sizes.append((sizes[-1] + 1) // 2)
    spend((20.0 * order.size + 1000.0) * len(sizes))
    if len(sizes) == 1:
        half, rest = (size + 1) // 2, size // 2
        return _joined(
            order, _chain(curve, half, 2.0 * order), _chain(curve, rest, 2.0 * order - 1.0), curve.limit * size
        )
    with np.errstate(over="ignore"):
        orders = [order * 2.0**depth for depth in range(len(sizes))]
    value = _chain(curve, sizes[-1], orders[-1])
    for larger, one in zip(sizes[-2::-1], orders[-2::-1], strict=True):
        value = _joined(one, value, value, curve.limit * larger)
    return value


def _joined(order: Array, first: Array, second: Array, most: float) -> Array:
    """Two halves of a chain, each by its own divergence at a larger order."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(order > 1.0, (order - 0.5) / (order - 1.0), math.inf)
        value = np.where(np.isinf(order), 1.0, factor) * first + second
    return raised(np.minimum(np.where(np.isnan(value), 0.0, value), most), 4 * ULP)
