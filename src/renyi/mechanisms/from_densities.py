"""A mechanism given by two densities on an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.errors import ConvergenceError, InvalidInput, UnsupportedError
from renyi.events.mechanism import Mechanism
from renyi.numerics.quadrature import on_panels
from renyi.numerics.rounding import raised
from renyi.privacy.curve import RenyiCurve
from renyi.privacy.pair import DominatingPair
from renyi.privacy.ratio_law import RatioLaw
from renyi.privacy.relation import Adjacency, Relation

Array = NDArray[np.float64]
LogDensity = Callable[[Array], Array]

_PANELS = 1024
_MANY = 400  # orders at once from which on not all are computed
_NODES = 10
_LARGEST_ORDER = 1e4


def _standard(x: Array) -> Array:
    return -0.5 * x * x - 0.5 * math.log(2.0 * math.pi)


def _shifted(x: Array) -> Array:
    return _standard(x - 1.0)


@dataclass(frozen=True, slots=True)
class FromDensities(Mechanism):
    """A real output with log-density ``log_p`` if the record is there, ``log_q`` if not, seen on [``low``, ``high``].

    The log-densities take and return arrays. ``bounded=True`` says that both vanish outside of the interval; else an order
    whose integrand has not died out at its ends is not answered (infinity). Everything is computed by quadrature and
    compared with a rule half as fine; the difference, times eight, is added. That is numerical evidence, not a proof,
    and the guarantee says so.
    """

    assumptions: ClassVar[tuple[str, ...]] = (
        "densities given by the user: the integrals are numerical, trusted where two quadratures agree",
    )

    log_p: LogDensity
    log_q: LogDensity
    low: float
    high: float
    bounded: bool = False
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, low=check.real, high=check.real, adjacency=Adjacency.of)
        if not (callable(self.log_p) and callable(self.log_q)):
            raise InvalidInput(
                "log_p and log_q must be functions that take an array of points and return log-densities."
            )
        if not self.low < self.high:
            raise InvalidInput(f"low must be below high; got {self.low!r} and {self.high!r}.")
        for name in ("log_p", "log_q"):
            mass = self._pair().mass(name)
            if not abs(mass - 1.0) <= 1e-6:
                raise InvalidInput(
                    f"{name} integrates to {mass:.9g} on [{self.low:g}, {self.high:g}], not to 1. "
                    "Widen the interval, or normalise the density."
                )

    @classmethod
    def examples(cls) -> tuple[FromDensities, ...]:
        return (cls(_shifted, _standard, -40.0, 41.0),)

    def renyi(self, relation: Relation) -> RenyiCurve:
        return self.pair(relation).renyi()

    def pair(self, relation: Relation) -> DensityPair:
        self.adjacency.expect(relation, self)
        if relation is Relation.REPLACE:
            self._expect_symmetry()
        return self._pair() if relation.record_first else self._pair().reversed()

    def _expect_symmetry(self) -> None:
        """Replace-one compares two records either way, so both orders of the densities must cost the same."""
        levels = np.array([0.0, 0.01, 0.1, 0.5, 1.0, 3.0])
        one, other = (np.exp(pair.log_profile(levels)) for pair in (self._pair(), self._pair().reversed()))
        if np.any(np.abs(one - other) > 1e-7 * np.maximum(one, other) + 1e-12):
            raise UnsupportedError(
                f"{self} costs differently in its two orders, while replace-one compares two records either way. "
                "Give densities that a mirror image exchanges, or ask for add-or-remove neighbours."
            )

    def _pair(self) -> DensityPair:
        return DensityPair(self.log_p, self.log_q, self.low, self.high, self.bounded)


@dataclass(frozen=True, slots=True)
class DensityPair(DominatingPair):
    """Two densities on an interval."""

    log_p: LogDensity
    log_q: LogDensity
    low: float
    high: float
    bounded: bool = False

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return math.inf  # a maximum over points that were looked at would be no bound

    def reversed(self) -> DensityPair:
        return DensityPair(self.log_q, self.log_p, self.low, self.high, self.bounded)

    def mass(self, name: str) -> float:
        """What a density integrates to."""
        x, weight = self._rule(_PANELS)
        with np.errstate(over="ignore"):
            return float(np.sum(weight * np.exp(getattr(self, name)(x))))

    def renyi(self) -> RenyiCurve:
        return RenyiCurve(partial(_divergence_upper, self), max_order=self.largest_order)

    def log_profile(self, epsilon: Array) -> Array:
        """P[loss > epsilon] - e^epsilon Q[loss > epsilon], from sums over the points in the order of their losses."""
        x, weight = self._rule(_PANELS)
        loss, log_p = self._loss(x), np.asarray(self.log_p(x), dtype=np.float64)
        falling = np.argsort(-loss, kind="stable")
        log_weight = np.log(weight)[falling] + log_p[falling]
        p_tail = np.concatenate([[0.0], np.cumsum(np.exp(log_weight))])
        with np.errstate(over="ignore"):
            q_tail = np.concatenate([[0.0], np.cumsum(np.exp(log_weight - loss[falling]))])
        count = np.searchsorted(-loss[falling], -epsilon)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.log(np.maximum(p_tail[count] - np.exp(epsilon + np.log(q_tail[count])), 0.0))

    @property
    def largest_order(self) -> float:
        return _largest_order(self)

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The fine rule, with eight times its difference from the coarse one as its error."""
        orders = np.array([min(1.5, max_order), max_order])
        law = _law(self, _PANELS)
        return replace(law, error=float(np.max(_errors(self, orders, law.divergence(orders)))))

    def _loss(self, x: Array) -> Array:
        loss = np.asarray(self.log_p(x) - self.log_q(x), dtype=np.float64)
        if np.isnan(loss).any():
            raise InvalidInput("a log-density gave NaN; return -inf where a density is 0, and not for both at once.")
        return loss

    def _rule(self, panels: int) -> tuple[Array, Array]:
        return on_panels(np.linspace(self.low, self.high, panels + 1), _NODES)


def _divergence_upper(pair: DensityPair, order: Array) -> Array:
    """The quadrature raised by its error; of very many orders a ladder, and chords of the convex (order - 1) D between."""
    if order.size <= _MANY or float(np.min(order)) < 2.0:
        fine = _law(pair, _PANELS).divergence(order)
        return raised(fine, _errors(pair, order, fine))
    knots = np.geomspace(np.min(order), np.max(order), _MANY)
    knots[[0, -1]] = np.min(order), np.max(order)
    return np.asarray(np.interp(order, knots, (knots - 1.0) * _divergence_upper(pair, knots)) / (order - 1.0))


def _errors(pair: DensityPair, order: Array, fine: Array) -> Array:
    """Eight times the relative difference between two rules, the fine one's divergences given, at each order."""
    coarse = _law(pair, _PANELS // 2).divergence(order)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(fine > 0.0, 8.0 * np.abs(fine - coarse) / fine, 0.0) + 1e-9
    if (error > 1e-2).any():
        raise ConvergenceError(
            f"the quadrature has not converged at order {order[int(np.argmax(error))]:g}: the densities are too rough; "
            "split the output into smooth parts, or give its Renyi curve with FromRenyi."
        )
    return error


@lru_cache(maxsize=32)
def _law(pair: DensityPair, panels: int) -> RatioLaw:
    x, weight = pair._rule(panels)
    return RatioLaw(pair._loss(x), np.log(weight) + np.asarray(pair.log_q(x), dtype=np.float64))


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
