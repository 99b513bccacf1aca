"""The Renyi curve: an upper bound on the Renyi divergence, as a function of the real order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.rounding import ULP, raised, sum_above
from renyi.numerics.work import spend

Array = NDArray[np.float64]
CurveFunction = Callable[[Array], Array]

_ORDER_NEAR_ONE = 1.001
"""The order at which a curve is asked whether it is finite above 1: a divergence never falls with its order."""


@dataclass(frozen=True, slots=True)
class RenyiCurve:
    """order -> an upper bound on the Renyi divergence of that order, numerical error included.

    ``function`` takes finite orders in [1, max_order] as a one-dimensional array and never returns less than
    the truth; above ``max_order`` the curve is infinite; ``limit`` bounds the divergence of infinite order;
    ``mass`` is a probability of outright failure, outside of the divergence. ``covers_opposite`` says that the curve
    also bounds the opposite relation, so that nobody has to compute that one; ``kinked`` that it is not smooth in the order.
    """

    function: CurveFunction
    limit: float = math.inf
    max_order: float = math.inf
    mass: float = 0.0
    covers_opposite: bool = False
    kinked: bool = False

    def __call__(self, order: Array) -> Array:
        """The bound at each order of a one-dimensional array, each in [1, inf]."""
        spend(10.0 * order.size, calls=10)
        result = np.full(order.shape, math.inf)
        finite = np.isfinite(order) & (order <= self.max_order)
        if finite.any():
            # The divergence never decreases in the order, so the limit caps every order.
            with np.errstate(over="ignore"):
                result[finite] = np.minimum(self.function(order[finite]), self.limit)
        result[np.isinf(order)] = self.limit
        return result

    def at(self, order: float) -> float:
        """The bound at one order."""
        return float(self(np.array([order]))[0])

    @property
    def infinite_mass(self) -> float:
        """A bound on the probability of an infinite loss: a divergence above order 1 that is finite leaves the mass alone."""
        return self.mass if self.at(max(min(_ORDER_NEAR_ONE, self.max_order), 1.0)) < math.inf else 1.0

    def __mul__(self, count: int) -> RenyiCurve:
        """The curve of ``count`` compositions."""
        if count == 0:
            return RenyiCurve.zero()
        if count == 1:
            return self
        return RenyiCurve(
            partial(_scaled, self.function, float(count)),
            limit=sum_above([(self.limit, count)]),
            max_order=self.max_order,
            mass=_repeated_mass(self.mass, count),
            covers_opposite=self.covers_opposite,
            kinked=self.kinked,
        )

    def __add__(self, other: RenyiCurve) -> RenyiCurve:
        return RenyiCurve.sum((self, other))

    @classmethod
    def zero(cls) -> RenyiCurve:
        """The curve of an event that reveals nothing."""
        return cls(np.zeros_like, limit=0.0, covers_opposite=True)

    @classmethod
    def infinite(cls) -> RenyiCurve:
        """The curve of an event that reveals everything."""
        return cls(partial(_constant, math.inf))

    @classmethod
    def sum(cls, curves: Iterable[RenyiCurve]) -> RenyiCurve:
        """Composition: curves add at each order, the smallest largest order decides, masses accumulate."""
        parts = tuple(curves)
        if len(parts) < 2:
            return parts[0] if parts else cls.zero()
        survival = math.fsum(math.log1p(-part.mass) for part in parts if part.mass < 1.0)
        certain = any(part.mass >= 1.0 for part in parts)
        return cls(
            partial(_sum, parts),
            limit=sum_above((part.limit, 1) for part in parts),
            max_order=min(part.max_order for part in parts),
            mass=1.0 if certain else min(raised(0.0 - math.expm1(survival), 4 * ULP), 1.0),
            covers_opposite=all(part.covers_opposite for part in parts),
            kinked=any(part.kinked for part in parts),
        )


def _constant(value: float, order: Array) -> Array:
    return np.full(order.shape, value)


def _scaled(function: CurveFunction, count: float, order: Array) -> Array:
    with np.errstate(over="ignore"):
        return raised(function(order) * count, 0.0)


def _sum(parts: tuple[RenyiCurve, ...], order: Array) -> Array:
    total = np.zeros(order.shape)
    for part in parts:
        total += part(order)
    return raised(total, len(parts) * ULP)


def _repeated_mass(mass: float, count: int) -> float:
    if mass in (0.0, 1.0):
        return mass
    return min(raised(-math.expm1(count * math.log1p(-mass)), 4 * ULP), 1.0)
