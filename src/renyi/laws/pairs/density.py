"""A pair of densities on an interval: its profile and its Renyi curve by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.errors import InvalidInput, PrivacyError
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.ratio_law import RatioLaw
from renyi.numerics.densities.smooth_panels import NODES, log_integrals, smooth_edges, split_at_extremes
from renyi.numerics.logspace import log1mexp, log_expm1, log_sum_exp
from renyi.numerics.quadrature import gauss_legendre, on_panels
from renyi.numerics.rounding import raised
from renyi.numerics.work import spend

Array = NDArray[np.float64]
LogDensity = Callable[[Array], Array]

_PANELS = 1024
"""Panels of equal width with which the search for smooth ones begins."""

_MOST_ORDERS = 400
"""Orders that are computed one by one; of more, a ladder of as many, and chords between them."""

_LARGEST_ORDER = 1e4
"""Largest order at which divergences are offered; the search for a smaller one (``_largest_order``) begins here."""

_BISECTIONS = 34
"""Halvings of a panel in search of a crossing. What is integrated vanishes there, so half of the sixteen digits are enough."""

_CROSSINGS_AT_ONCE = 100_000
"""Crossings in one array: larger arrays only take more memory."""

_QUADRATURE_ERROR = 1e-11
"""Relative error of a profile that is integrated over smooth panels; every bound is moved by it."""

_LOSS_ERROR = 1e-14
"""Relative error of the losses, some tens of roundings: where losses are nearly constant the profile depends on it."""

_MASS_TOLERANCE = 1e-11
"""By how much the integral of a density may differ from 1 and still be taken for rounding; more counts as unseen mass."""

_INFINITE_LOSS = 1e300
"""A loss that counts as infinite: the profile there is the mass at infinite loss."""


class _Panels(NamedTuple):
    """Panels in the order of their smallest loss L, the largest first; ``log_q`` and ``log_above`` cumulate from the first on.

    With q the second law's density and Q its mass, the integral of p - e^epsilon q over the first k panels is the sum of the
    integrals of q (e^loss - e^L), plus that of Q_j (e^L_j - e^L_k), plus (e^L_k - e^epsilon) times that of Q_j: all positive.
    """

    left: Array
    right: Array
    least: Array
    most: Array
    log_q: Array
    log_above: Array
    log_infinite: float
    """Of the first law where the second has nothing."""


class _Masses(NamedTuple):
    """Logarithms of the integrals of both densities, and a bound on the probability that the interval does not show."""

    log_p: float
    log_q: float
    unseen: float


@dataclass(frozen=True, slots=True)
class DensityPair(DominatingPair):
    """Two densities on an interval; ``lower`` is the side on which its profile errs.

    What they lack of 1, or have too much, and, unless they are ``bounded``, what they have beyond the interval if they go on as
    they fall at its ends, counts as an infinite loss, or not at all. What is on the interval is normalised.
    """

    log_p: LogDensity
    log_q: LogDensity
    low: float
    high: float
    bounded: bool = False
    lower: bool = False

    @property
    def attained(self) -> bool:
        return True

    def below(self) -> DensityPair:
        return replace(self, lower=True)

    @property
    def max_loss(self) -> float:
        return math.inf  # a maximum over points that were looked at would be no bound

    @property
    def infinite_mass(self) -> float:
        return math.exp(float(self.log_profile(np.array([_INFINITE_LOSS]))[0]))

    def reversed(self) -> DensityPair:
        return replace(self, log_p=self.log_q, log_q=self.log_p)

    def masses(self) -> tuple[float, float]:
        """What the densities integrate to."""
        masses = _masses(self)
        return math.exp(masses.log_p), math.exp(masses.log_q)

    def renyi(self) -> RenyiCurve:
        return RenyiCurve(
            partial(_divergence_upper, self), max_order=self.largest_order, mass=min(_masses(self).unseen, 1.0)
        )

    def log_profile(self, epsilon: Array) -> Array:
        """The integral of (p - e^epsilon q)_+: whole panels, and those with a crossing from there on."""
        sign = -1.0 if self.lower else 1.0
        moved = epsilon - sign * _LOSS_ERROR * (1.0 + np.abs(epsilon))
        unseen = _masses(self).unseen
        with np.errstate(all="ignore"):
            value = np.exp(self._log_whole(moved)) + self._crossed(moved)
            if self.lower:
                # Either density may be off by as much as is unseen, besides what P has elsewhere.
                return np.log(np.maximum(value * (1.0 - _QUADRATURE_ERROR) - 3.0 * unseen, 0.0))
            return np.log(np.minimum(value * (1.0 + _QUADRATURE_ERROR) + unseen, 1.0))

    def _log_whole(self, epsilon: Array) -> Array:
        """log of the integral over panels on which all losses are above epsilon."""
        panels = _panels(self)
        count = np.searchsorted(-panels.least, -epsilon, side="right")
        last = np.maximum(count - 1, 0)
        gap = np.maximum(panels.least[last] - epsilon, 0.0)
        found = np.logaddexp(panels.log_above[last], panels.log_q[last] + epsilon + log_expm1(gap))
        return np.logaddexp(np.where(count > 0, found, -math.inf), panels.log_infinite)

    def _crossed(self, epsilon: Array) -> Array:
        """The integral over those parts of panels, on which the loss crosses epsilon, where it is above epsilon."""
        panels = _panels(self)
        order = np.argsort(epsilon, kind="stable")
        first = np.searchsorted(epsilon[order], panels.least, side="right")
        number = np.maximum(np.searchsorted(epsilon[order], panels.most, side="left") - first, 0)
        which = np.repeat(np.arange(first.size), number)
        place = order[np.arange(which.size) - np.repeat(np.cumsum(number) - number - first, number)]
        total = np.zeros(epsilon.shape)
        for start in range(0, which.size, _CROSSINGS_AT_ONCE):
            some, panel = place[start : start + _CROSSINGS_AT_ONCE], which[start : start + _CROSSINGS_AT_ONCE]
            values = self._from_crossing(panels.left[panel], panels.right[panel], epsilon[some])
            total += np.bincount(some, weights=values, minlength=epsilon.size)
        return total

    def _from_crossing(self, left: Array, right: Array, epsilon: Array) -> Array:
        """The integral over the part of each panel where the loss, which is monotone on it, is above epsilon."""
        rising = self.loss(right) > self.loss(left)
        near, far = np.where(rising, left, right), np.where(rising, right, left)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (near + far)
            above = self.loss(middle) > epsilon
            near, far = np.where(above, near, middle), np.where(above, middle, far)
        end = np.where(rising, right, left)
        node, weight = gauss_legendre(NODES)
        x = near[:, None] + (end - near)[:, None] * node
        flat = x.ravel()
        gap = (self.loss(flat).reshape(x.shape) - epsilon[:, None]).clip(min=0.0)
        density = np.exp(self.log_density(flat)).reshape(x.shape)
        return np.asarray(np.abs(end - near) * ((density * -np.expm1(-gap)) @ weight))

    @property
    def largest_order(self) -> float:
        return _largest_order(self)

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The fine rule, with eight times its difference from the coarse one as its error."""
        orders = np.array([min(1.5, max_order), max_order])
        law = _law(self, 1)
        return replace(law, error=float(np.max(_errors(self, orders, law.divergence(orders)))))

    def log_density(self, x: Array) -> Array:
        """log p, normalised on the interval."""
        return values_of(self.log_p, x) - _masses(self).log_p

    def loss(self, x: Array) -> Array:
        """log(p/q) at each point."""
        masses = _masses(self)
        with np.errstate(invalid="ignore"):
            loss = (values_of(self.log_p, x) - masses.log_p) - (values_of(self.log_q, x) - masses.log_q)
        if np.isnan(loss).any():
            raise InvalidInput("both densities are 0 at once somewhere on the interval; make it, or them, smaller.")
        return loss


def values_of(function: LogDensity, x: Array) -> Array:
    """What a user's function gives at an array of points, or an error that says what it should."""
    spend(4.0 * x.size + 200.0)
    try:
        with np.errstate(divide="ignore"):  # the logarithm of a density that is 0
            given = np.asarray(function(x))
        real = given.dtype.kind in "biufO"  # objects are what mpmath gives, for example
        values = given.astype(np.float64) if real else np.full(x.shape, math.nan)
    except PrivacyError:  # a density made of ours: its errors teach by themselves
        raise
    except Exception as error:
        raise InvalidInput(
            f"a log-density, asked at an array of {x.size} points, raised {type(error).__name__}: {error}. It must return an "
            "array of as many numbers, so write it with NumPy: np.where instead of if, np.exp instead of math.exp."
        ) from error
    if not real:
        raise InvalidInput(f"a log-density must return real numbers; got an array of type {given.dtype}.")
    if values.shape != x.shape:
        raise InvalidInput(
            f"a log-density must return one number for every point; given {x.size} points it returned shape {values.shape}."
        )
    if np.isnan(values).any() or np.isposinf(values).any():
        raise InvalidInput(
            "a log-density gave NaN or infinity; return -inf where a density is 0, and finite numbers else."
        )
    return values


def _edges(pair: DensityPair) -> Array:
    """Ends of panels on each of which both densities are smooth."""
    return smooth_edges((partial(values_of, pair.log_p), partial(values_of, pair.log_q)), pair.low, pair.high, _PANELS)


# These caches are keyed by pairs because a pair is made anew by every question, relation and exchange of its laws, while
# asking a user's densities is dear: without them an answer takes up to twice as long.


@lru_cache(maxsize=64)
def _masses(pair: DensityPair) -> _Masses:
    edges = _edges(pair)
    logs = [
        float(log_sum_exp(log_integrals(partial(values_of, one), edges[:-1], edges[1:])))
        for one in (pair.log_p, pair.log_q)
    ]
    off = max(abs(math.expm1(min(log, 700.0))) for log in logs)
    unseen = off if off > _MASS_TOLERANCE else 0.0
    if not pair.bounded:
        unseen += max(_mass_beyond(one, pair.low, pair.high) for one in (pair.log_p, pair.log_q))
    return _Masses(logs[0], logs[1], unseen)


def _mass_beyond(log_density: LogDensity, low: float, high: float) -> float:
    """A density's mass outside of the interval if it falls on at least half as fast as at the ends.

    One that does not fall is taken to be as wide beyond an end as before it; that it lacks something will be seen, too.
    """
    width = (high - low) / _PANELS
    total = 0.0
    for end, inside in ((low, low + width), (high, high - width)):
        at_end, before = values_of(log_density, np.array([end, inside])).tolist()
        if at_end > -math.inf:
            fall = (before - at_end) / width
            total += 2.0 * math.exp(min(at_end, 700.0)) * (1.0 / fall if fall > 0.0 else high - low)
    return min(total, 1.0)


@lru_cache(maxsize=32)
def _panels(pair: DensityPair) -> _Panels:
    edges = split_at_extremes(pair.loss, _edges(pair))
    left, right = edges[:-1], edges[1:]
    ends = np.stack([pair.loss(left), pair.loss(right)])
    least, most = ends.min(axis=0), ends.max(axis=0)
    order = np.argsort(-least, kind="stable")
    infinite = least[order] == math.inf
    log_p = log_integrals(pair.log_density, left, right)[order]
    kept = order[~infinite]
    least, most, left, right = (column[kept] for column in (least, most, left, right))
    log_q = log_integrals(pair.reversed().log_density, left, right)
    node, weight = gauss_legendre(NODES)
    x = left[:, None] + (right - left)[:, None] * node
    with np.errstate(all="ignore"):
        rise = (pair.loss(x.ravel()).reshape(x.shape) - least[:, None]).clip(min=0.0)
        rise = np.where(np.isnan(rise), 0.0, rise)  # both are -inf
        log_rise = log_sum_exp(
            pair.log_density(x.ravel()).reshape(x.shape) + log1mexp(rise) + np.log((right - left)[:, None] * weight)
        )
        log_q = np.logaddexp.accumulate(log_q)
        log_steps = log_q[:-1] + least[1:] + log_expm1(np.maximum(least[:-1] - least[1:], 0.0))
        log_steps = np.where(np.isnan(log_steps), -math.inf, log_steps)
        log_above = np.logaddexp.accumulate(np.logaddexp(log_rise, np.concatenate([[-math.inf], log_steps])))
    return _Panels(
        left, right, least, most, log_q, log_above, float(log_sum_exp(np.append(log_p[infinite], -math.inf)))
    )


def _divergence_upper(pair: DensityPair, order: Array) -> Array:
    """The quadrature raised by its error; of very many orders a ladder, and chords of the convex (order - 1) D between."""
    if order.size <= _MOST_ORDERS or float(np.min(order)) < 2.0:
        fine = _law(pair, 1).divergence(order)
        return raised(fine, _errors(pair, order, fine))
    knots = np.geomspace(np.min(order), np.max(order), _MOST_ORDERS)
    knots[[0, -1]] = np.min(order), np.max(order)
    return np.asarray(np.interp(order, knots, (knots - 1.0) * _divergence_upper(pair, knots)) / (order - 1.0))


def _errors(pair: DensityPair, order: Array, fine: Array) -> Array:
    """Eight times the relative difference between two rules, the fine one's divergences given, at each order."""
    coarse = _law(pair, 2).divergence(order)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where((fine > 0.0) & (fine < math.inf), 8.0 * np.abs(fine - coarse) / fine, 0.0) + 1e-9
    return np.where(error > 1e-2, math.inf, error)  # an order at which two rules disagree is not answered


@lru_cache(maxsize=32)
def _law(pair: DensityPair, stride: int) -> RatioLaw:
    """The likelihood-ratio law by Gauss-Legendre on the panels, or on fewer: each ``stride`` of them as one."""
    edges = _edges(pair)
    x, weight = on_panels(np.unique(np.append(edges[::stride], edges[-1])), NODES)
    x = np.clip(x, pair.low, pair.high)
    loss, log_p, log_q = pair.loss(x), pair.log_density(x), pair.reversed().log_density(x)
    infinite = loss == math.inf
    missing = float(np.sum(weight[infinite] * np.exp(log_p[infinite])))
    return RatioLaw(loss[~infinite], np.log(weight[~infinite]) + log_q[~infinite], missing)


@lru_cache(maxsize=64)
def _largest_order(pair: DensityPair) -> float:
    """The largest order whose integrand p^order q^(1 - order) has died out at both ends of the interval."""
    x = np.linspace(pair.low, pair.high, 4097)
    log_p, log_q = values_of(pair.log_p, x), values_of(pair.log_q, x)

    def dies_out(order: float) -> bool:
        with np.errstate(invalid="ignore"):
            height = order * log_p + (1.0 - order) * log_q
        height = np.where(np.isnan(height), -np.inf, height)
        return bool(max(height[0], height[-1]) < np.max(height) - 36.0)

    if pair.bounded or dies_out(_LARGEST_ORDER):
        return _LARGEST_ORDER
    low, high = 1.0, _LARGEST_ORDER
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if dies_out(middle) else (low, middle)
    return low
