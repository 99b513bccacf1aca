"""Renyi curves of a search for the best of a random number of runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from renyi.errors import TooLarge
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pairs.curve_pair import CurvePair
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import share

Array = NDArray[np.float64]

_ORDERS = 1.0 + np.geomspace(1e-2, 1e4, 120)
"""Orders among which the best is sought: neighbours differ by 12 %, which alone leaves a bound 7e-4 above its least."""

_SMALL_ORDER, _FEWER = 64.0, 4
"""The largest order, and the distance on the ladder, of those that are asked where curves take long: neighbours 60 % apart."""

_ZOOMS, _PLACES = 2, 33
"""Rounds of refinement about the best order so far, and orders in each: the last are 0.05 % apart, good to eight digits."""

_EVALUATION_ERROR = 1e-13
"""Relative error of the formulas, some hundred roundings; of gamma, the caller gives one that is rounded down."""


def tuned_curve(curve: RenyiCurve, opposite: RenyiCurve, mean: float, shape: float, gamma: float) -> RenyiCurve:
    """The curve of releasing the best of K runs, each with ``curve`` and ``opposite`` for the two directions; both are covered.

    Papernot & Steinke (2022), arXiv:2110.03620v2. K truncated negative binomial of ``shape`` eta > -1 and ``gamma``
    (Theorem 2), with eps the larger direction:

        eps'(alpha) = eps(alpha) + log E[K]/(alpha-1)
                      + (1 + eta) min over beta > 1 of { (1 - 1/beta) eps(beta) + log(1/gamma)/beta }.

    K Poisson of mean mu, ``shape`` infinite (Theorem 6, with the case of no run at all, K = 0, which adds its probability to
    the moment), for one run that is (log(1 + 1/(alpha-1)), delta)-DP:

        e^((alpha-1) eps'(alpha)) = e^-mu + mu e^((alpha-1) (eps(alpha) + mu delta)).
    """
    if max(curve.mass, opposite.mass) > 0.0:
        return RenyiCurve.infinite()  # the theorems are about runs that cannot fail outright; profiles cover the others
    limit = max(curve.limit, opposite.limit)
    pair = CurvePair(curve, opposite)
    if math.isinf(shape):
        most = limit + mean * float(_delta(pair, np.zeros(1))[0])  # log(mu + ...)/(alpha-1) tends to 0
    else:
        most = limit + (1.0 + shape) * limit
    return RenyiCurve(
        _Tuned(pair, mean, shape, gamma),
        limit=raised(most, 8 * ULP),
        max_order=min(curve.max_order, opposite.max_order),
        covers_opposite=True,
        kinked=True,
    )


def _larger(pair: CurvePair, order: Array) -> Array:
    return np.maximum(pair.curve(order), pair.opposite(order))


def _delta(pair: CurvePair, epsilon: Array) -> Array:
    """A delta that one run keeps at each epsilon, in both directions: 1, if another takes too much work."""
    try:
        with share(0.25):
            return np.exp(np.maximum(pair.log_profile(epsilon), pair.reversed().log_profile(epsilon)))
    except TooLarge:
        return np.ones(epsilon.shape)


class _Tuned:
    """The bound, no larger than at any larger order of a ladder: a divergence never falls, while log E[K]/(alpha-1) does."""

    def __init__(self, pair: CurvePair, mean: float, shape: float, gamma: float) -> None:
        self._pair, self._mean, self._shape, self._gamma = pair, mean, shape, gamma
        most = min(pair.curve.max_order, pair.opposite.max_order)
        self._orders = _ORDERS[most >= _ORDERS]
        if 1.0 < most < math.inf:
            self._orders = np.unique(np.append(self._orders, most))
        self._extra: float | None = None
        self._later: Array | None = None

    def __call__(self, order: Array) -> Array:
        if self._later is None:
            larger = self._divergences()
            if math.isinf(self._shape):
                self._extra = 0.0
            else:
                larger = self._refined(larger, self._extras)
                last = max(self._pair.curve.limit, self._pair.opposite.limit)  # infinite order is one of them
                self._extra = float(np.min(self._extras(self._orders, larger), initial=last))
            larger = self._refined(larger, self._bound)
            bound = self._bound(self._orders, larger)
            self._later = np.append(np.minimum.accumulate(bound[::-1])[::-1], math.inf)
        later = self._later[np.searchsorted(self._orders, order)]
        return np.minimum(self._bound(order, _larger(self._pair, order)), later)

    def _divergences(self) -> Array:
        """Those at the orders of the ladder; where they take too much work, at few and small ones."""
        try:
            with share(0.5):
                return _larger(self._pair, self._orders)
        except TooLarge:  # every order holds by itself
            self._orders = self._orders[self._orders <= _SMALL_ORDER][::_FEWER]
            return _larger(self._pair, self._orders)

    def _refined(self, larger: Array, formula: Callable[[Array, Array], Array]) -> Array:
        """Add orders about the one at which a formula is least, and return the divergences at all of them."""
        for _ in range(_ZOOMS if self._orders.size > 1 else 0):
            best = int(np.argmin(formula(self._orders, larger)))
            low, high = self._orders[max(best - 1, 0)], self._orders[min(best + 1, self._orders.size - 1)]
            more = np.setdiff1d(1.0 + np.geomspace(low - 1.0, high - 1.0, _PLACES)[1:-1], self._orders)
            try:
                with share(0.5):
                    at_more = _larger(self._pair, more)
            except TooLarge:  # every order holds, so those that were found do
                break
            place = np.searchsorted(self._orders, more)
            self._orders, larger = np.insert(self._orders, place, more), np.insert(larger, place, at_more)
        return larger

    def _extras(self, orders: Array, larger: Array) -> Array:
        """What Theorem 2 takes the least of, at each beta."""
        return (1.0 - 1.0 / orders) * larger + math.log(1.0 / self._gamma) / orders

    def _bound(self, orders: Array, larger: Array) -> Array:
        s = orders - 1.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if math.isinf(self._shape):
                moment = s * (larger + self._mean * _delta(self._pair, np.log1p(1.0 / s)))
                value = np.logaddexp(-self._mean, math.log(self._mean) + moment) / s
            else:
                assert self._extra is not None
                value = larger + (1.0 + self._shape) * self._extra + math.log(self._mean) / s
            value = np.where(s > 0.0, raised(value, _EVALUATION_ERROR), math.inf)
        return np.where(np.isnan(value), math.inf, value)
