"""A pair of densities on an interval: its profile and its Renyi curve by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError, InvalidInput
from renyi.numerics.logspace import log1mexp
from renyi.numerics.quadrature import gauss_legendre, on_panels
from renyi.numerics.rounding import raised
from renyi.numerics.smooth_panels import NODES, log_integrals, smooth_edges, split_at_extremes
from renyi.privacy.curve import RenyiCurve
from renyi.privacy.pair import DominatingPair
from renyi.privacy.ratio_law import RatioLaw

Array = NDArray[np.float64]
LogDensity = Callable[[Array], Array]

_PANELS = 1024
_MANY = 400  # orders at once from which on not all are computed
_LARGEST_ORDER = 1e4
_BISECTIONS = 34  # what is integrated vanishes at the crossing, so that half as many digits of it are enough
_BLOCK = 100_000  # crossings at a time
_QUADRATURE = 1e-11  # relative error of a profile
_LOSSES = 1e-14  # and of its losses: next to a plateau the profile is a matter of them
_NORMALISED = 1e-11  # what a density may integrate to besides 1


class _Panels(NamedTuple):
    """Panels by falling least loss: their ends, losses, and the logarithms of what the laws have on them and before."""

    left: Array
    right: Array
    least: Array
    most: Array
    log_p: Array
    log_q: Array


class _End(NamedTuple):
    """An end of the interval: the loss there, and the mass of P beyond it if the density goes on as it falls there."""

    loss: float
    beyond: float


@dataclass(frozen=True, slots=True)
class DensityPair(DominatingPair):
    """Two densities on an interval; ``lower`` is the side on which its profile errs.

    What they lack of 1, or have too much, counts as an infinite loss, or not at all.
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
        return 0.0 if self.lower else _lacking(self)

    def reversed(self) -> DensityPair:
        return replace(self, log_p=self.log_q, log_q=self.log_p)

    def masses(self) -> tuple[float, float]:
        """What the densities integrate to."""
        panels = _panels(self)
        return math.exp(panels.log_p[-1]), math.exp(panels.log_q[-1])

    def renyi(self) -> RenyiCurve:
        return RenyiCurve(partial(_divergence_upper, self), max_order=self.largest_order)

    def log_profile(self, epsilon: Array) -> Array:
        """The integral of (p - e^epsilon q)_+: whole panels, and those with a crossing from there on.

        Beyond the ends of the interval, unless the densities are ``bounded``, an exponential tail of that loss is added.
        """
        sign = -1.0 if self.lower else 1.0
        moved = epsilon - sign * _LOSSES * (1.0 + np.abs(epsilon))
        with np.errstate(all="ignore"):
            value = np.exp(self._log_whole(moved)) + self._crossed(moved)
            if self.lower:
                return np.log(np.maximum(value * (1.0 - _QUADRATURE) - _lacking(self), 0.0))
            for end in _ends(self):
                value += end.beyond * -np.expm1(np.minimum(moved - end.loss, 0.0))
            return np.log(value * (1.0 + _QUADRATURE) + _lacking(self))

    def _log_whole(self, epsilon: Array) -> Array:
        """Of the panels that lie beyond epsilon wholly."""
        panels = _panels(self)
        count = np.searchsorted(-panels.least, -epsilon, side="right")
        log_p, log_q = (np.concatenate([[-math.inf], logs])[count] for logs in (panels.log_p, panels.log_q))
        gap = np.where(log_p > -math.inf, log_p - log_q - epsilon, 0.0)
        return np.asarray(log_p + log1mexp(np.maximum(gap, 0.0)))

    def _crossed(self, epsilon: Array) -> Array:
        """Of the panels on which the loss crosses epsilon, where it is above."""
        panels = _panels(self)
        order = np.argsort(epsilon, kind="stable")
        first = np.searchsorted(epsilon[order], panels.least, side="right")
        number = np.maximum(np.searchsorted(epsilon[order], panels.most, side="left") - first, 0)
        which = np.repeat(np.arange(first.size), number)
        place = order[np.arange(which.size) - np.repeat(np.cumsum(number) - number - first, number)]
        total = np.zeros(epsilon.shape)
        for start in range(0, which.size, _BLOCK):
            some, panel = place[start : start + _BLOCK], which[start : start + _BLOCK]
            values = self._from_crossing(panels.left[panel], panels.right[panel], epsilon[some])
            total += np.bincount(some, weights=values, minlength=epsilon.size)
        return total

    def _from_crossing(self, left: Array, right: Array, epsilon: Array) -> Array:
        """Over the part of each panel on which the loss, monotone there, is above epsilon."""
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
        density = np.exp(np.asarray(self.log_p(flat), dtype=np.float64)).reshape(x.shape)
        return np.asarray(np.abs(end - near) * ((density * -np.expm1(-gap)) @ weight))

    @property
    def largest_order(self) -> float:
        return _largest_order(self)

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The fine rule, with eight times its difference from the coarse one as its error."""
        orders = np.array([min(1.5, max_order), max_order])
        law = _law(self, 1)
        return replace(law, error=float(np.max(_errors(self, orders, law.divergence(orders)))))

    def loss(self, x: Array) -> Array:
        """log(p/q) at each point."""
        loss = np.asarray(self.log_p(x) - self.log_q(x), dtype=np.float64)
        if np.isnan(loss).any():
            raise InvalidInput("a log-density gave NaN; return -inf where a density is 0, and not for both at once.")
        return loss


@lru_cache(maxsize=32)
def _edges(pair: DensityPair) -> Array:
    return smooth_edges((pair.log_p, pair.log_q), pair.low, pair.high, _PANELS)


@lru_cache(maxsize=32)
def _panels(pair: DensityPair) -> _Panels:
    edges = split_at_extremes(pair.loss, _edges(pair))
    left, right = edges[:-1], edges[1:]
    ends = np.stack([pair.loss(left), pair.loss(right)])
    least = ends.min(axis=0)
    order = np.argsort(-least, kind="stable")
    log_p, log_q = (log_integrals(one, left, right)[order] for one in (pair.log_p, pair.log_q))
    most = ends.max(axis=0)[order]
    return _Panels(
        left[order],
        right[order],
        least[order],
        most,
        np.logaddexp.accumulate(log_p),
        np.logaddexp.accumulate(log_q),
    )


def _lacking(pair: DensityPair) -> float:
    """By how much the densities do not integrate to 1, where that is more than rounding."""
    off = math.fsum(abs(mass - 1.0) for mass in pair.masses())
    return off if off > _NORMALISED else 0.0


@lru_cache(maxsize=32)
def _ends(pair: DensityPair) -> tuple[_End, ...]:
    if pair.bounded:
        return ()
    width = (pair.high - pair.low) / _PANELS
    found = []
    for end, inside in ((pair.low, pair.low + width), (pair.high, pair.high - width)):
        x = np.array([end, inside])
        log_p = np.asarray(pair.log_p(x), dtype=np.float64)
        fall = float(log_p[1] - log_p[0]) / width
        if log_p[0] > -math.inf:
            # A density that does not fall is as wide beyond the end as before it, and its mass shows that something lacks.
            beyond = math.exp(min(float(log_p[0]), 700.0)) * (1.0 / fall if fall > 0.0 else pair.high - pair.low)
            found.append(_End(float(pair.loss(x)[0]), beyond))
    return tuple(found)


def _divergence_upper(pair: DensityPair, order: Array) -> Array:
    """The quadrature raised by its error; of very many orders a ladder, and chords of the convex (order - 1) D between."""
    if order.size <= _MANY or float(np.min(order)) < 2.0:
        fine = _law(pair, 1).divergence(order)
        return raised(fine, _errors(pair, order, fine))
    knots = np.geomspace(np.min(order), np.max(order), _MANY)
    knots[[0, -1]] = np.min(order), np.max(order)
    return np.asarray(np.interp(order, knots, (knots - 1.0) * _divergence_upper(pair, knots)) / (order - 1.0))


def _errors(pair: DensityPair, order: Array, fine: Array) -> Array:
    """Eight times the relative difference between two rules, the fine one's divergences given, at each order."""
    coarse = _law(pair, 2).divergence(order)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(fine > 0.0, 8.0 * np.abs(fine - coarse) / fine, 0.0) + 1e-9
    if (error > 1e-2).any():
        raise ConvergenceError(
            f"the quadrature has not converged at order {order[int(np.argmax(error))]:g}: the densities are too rough; "
            "split the output into smooth parts, or give its Renyi curve with FromRenyi."
        )
    return error


@lru_cache(maxsize=32)
def _law(pair: DensityPair, stride: int) -> RatioLaw:
    """By every panel, or by several as one."""
    edges = _edges(pair)
    x, weight = on_panels(np.unique(np.append(edges[::stride], edges[-1])), NODES)
    return RatioLaw(pair.loss(x), np.log(weight) + np.asarray(pair.log_q(x), dtype=np.float64))


@lru_cache(maxsize=64)
def _largest_order(pair: DensityPair) -> float:
    """The largest order whose integrand p^order q^(1 - order) has died out at both ends of the interval."""
    x = np.linspace(pair.low, pair.high, 4097)
    log_p, log_q = np.asarray(pair.log_p(x), dtype=np.float64), np.asarray(pair.log_q(x), dtype=np.float64)

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
