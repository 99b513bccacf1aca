"""Prices as Renyi divergences at fixed orders, each with its share of delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.accountants.accountant import expect
from renyi.composing.compose import WORK
from renyi.composing.event_laws import renyi_curve
from renyi.errors import InvalidInput
from renyi.events.document import short
from renyi.events.event import Event
from renyi.events.nodes import atoms
from renyi.laws.conversion import optimal_epsilon_upper
from renyi.laws.relation import Adjacency, Relation
from renyi.ledger.pricing.currency import Currency
from renyi.ledger.pricing.price import MOST_AMOUNTS, Price, float_of_units, units_above, units_below
from renyi.numerics.roots.falling_root import falling_root
from renyi.numerics.work import allowance

Array = NDArray[np.float64]

_PRICES_KEPT = 4096
"""Prices of single releases that are remembered, about two kilobytes each."""


@dataclass(frozen=True)
class Orders(Currency):
    """Renyi divergences at ``orders``, with the ``shares`` of delta at which each of them is turned into an epsilon.

    The failure of a price is the delta of (epsilon, delta) guarantees, whose divergences are those of their pure part.
    """

    kind = "epsilon"

    orders: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        check.fields(self, adjacency=Adjacency.of, orders=check.orders, shares=check.vector)
        object.__setattr__(self, "orders", tuple(np.atleast_1d(self.orders).tolist()))
        pairs = list(zip(self.orders, self.shares, strict=False))
        rising = self.orders[0] > 1.0 and all(a < b for a, b in pairwise(self.orders))
        fits = len(self.orders) == len(self.shares) <= MOST_AMOUNTS
        # Infinite order bounds the loss itself and needs no delta; all others do.
        if not (rising and fits and all((share > 0.0) == (order < math.inf) for order, share in pairs)):
            raise InvalidInput(
                f"a filter has at most {MOST_AMOUNTS} rising orders above 1, each with a share of delta above 0 (infinite "
                f"order with 0); got {short(self.orders)} with {short(self.shares)}."
            )

    @property
    def shared(self) -> Fraction:
        """See ``Currency``."""
        return sum(map(Fraction, self.shares), start=Fraction(0))

    @property
    def size(self) -> int:
        """See ``Currency``."""
        return len(self.orders)

    def price(self, event: Event) -> Price:
        """The sum over the atoms of an event, so that ``e * n`` costs exactly n times as much as ``e``."""
        event, _ = expect(event, self.adjacency)
        total = Price.zero(self.name, self.size)
        for atom, count in atoms(event, 1):
            amounts, failure = _atom_price(atom, self.orders, self.adjacency)
            total += Price(self.name, amounts, failure) * count
        return total

    def limits(self, budget: float) -> tuple[int, ...]:
        """See ``Currency``."""
        pairs = zip(self.orders, self.shares, strict=True)
        return tuple(units_below(divergence_lower(order, share, budget)) for order, share in pairs)

    def needed(self, amounts: tuple[int, ...]) -> float:
        """See ``Currency``."""
        parts = zip(self.orders, self.shares, map(float_of_units, amounts), strict=True)
        return min(_epsilon_upper(order, divergence, share) for order, share, divergence in parts)


def worst_divergences(event: Event, orders: Array, adjacency: Adjacency) -> tuple[Array, float]:
    """The largest divergence of each order over the relations, and the largest mass that fails outright."""
    worst, mass = np.zeros(orders.shape), 0.0
    covered: set[Relation] = set()
    with allowance(WORK), np.errstate(all="ignore"):
        for relation in adjacency.relations:
            if relation in covered:
                continue
            curve = renyi_curve(event, relation)
            if curve.covers_opposite:
                covered.add(relation.opposite)
            # NaN, where numbers overflowed, is kept by np.maximum and becomes an infinite price.
            worst, mass = np.maximum(worst, curve(orders)), max(mass, curve.mass)
    return worst, mass


def divergence_lower(order: float, share: float, epsilon: float) -> float:
    """The largest divergence of this order that implies (``epsilon``, ``share``)-differential privacy, from below."""
    if math.isinf(order):
        return epsilon  # a loss that never exceeds epsilon: delta is 0

    def room(divergence: float) -> float:
        return epsilon - _epsilon_upper(order, divergence, share)

    high = epsilon
    while room(high) > 0.0:
        high *= 2.0
    return falling_root(room, 0.0, high)[0]


def _epsilon_upper(order: float, divergence: float, share: float) -> float:
    return divergence if math.isinf(order) else optimal_epsilon_upper(order, divergence, math.log(share))


@lru_cache(maxsize=_PRICES_KEPT)
def _atom_price(atom: Event, orders: tuple[float, ...], adjacency: Adjacency) -> tuple[tuple[int, ...], int]:
    divergences, mass = worst_divergences(atom, np.array(orders), adjacency)
    return tuple(map(units_above, divergences.tolist())), units_above(mass)
