"""In what a budget is counted, and what an event costs in it: Renyi divergences at fixed orders, rho, or mu squared."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from renyi.accountants.accountant import expect
from renyi.accountants.gdp import gdp
from renyi.accountants.rho import rho
from renyi.composing.compose import WORK
from renyi.composing.event_laws import renyi_curve
from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.nodes import atoms
from renyi.laws.relation import Adjacency, Relation
from renyi.ledger.pricing.price import Price, units_above
from renyi.numerics.work import allowance

_PRICES_KEPT = 4096
"""Prices of single releases that are remembered, a few kilobytes each."""


@dataclass(frozen=True)
class Currency(ABC):
    """A way of pricing events such that prices add up under composition, whatever was seen in between."""

    kind: ClassVar[str]
    """What the budget is called: ``epsilon``, ``rho`` or ``mu``."""

    adjacency: Adjacency

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of amounts of a price."""

    @abstractmethod
    def price(self, event: Event) -> Price:
        """What an event costs, rounded up."""

    @cached_property
    def name(self) -> str:
        """A short name that no other currency has: prices of two of them are never added."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON values; infinity is the string "inf"."""
        values = {"kind": self.kind, **asdict(self), "adjacency": self.adjacency.value}
        return json.loads(json.dumps(values).replace("Infinity", '"inf"'))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Orders(Currency):
    """Renyi divergences at fixed orders, and for an (epsilon, delta) guarantee its delta: see ``RenyiCurve.mass``."""

    kind = "epsilon"
    orders: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.orders)

    def price(self, event: Event) -> Price:
        """The sum over the atoms of an event, so that ``e * n`` costs exactly n times as much as ``e``."""
        event, _ = expect(event, self.adjacency)
        total = Price.zero(self.name, self.size)
        for atom, count in atoms(event, 1):
            amounts, failure = _curve_price(atom, self.orders, self.adjacency)
            total += Price(self.name, amounts, failure) * count
        return total


@dataclass(frozen=True)
class _Concentrated(Currency):
    """One number and the probability outside of which it holds. Where it does not hold everywhere, ``floor`` is paid for it."""

    floor: float

    @property
    def size(self) -> int:
        return 1

    def price(self, event: Event) -> Price:
        event, _ = expect(event, self.adjacency)
        amount, failure = _concentrated_price(self, event)
        return Price(self.name, (amount,), failure)

    @abstractmethod
    def amount(self, event: Event, floor: float) -> float:
        """The amount that holds outside of a probability of ``floor``, infinite or an UnsupportedError if there is none."""


@dataclass(frozen=True)
class Rho(_Concentrated):
    """rho of zero-concentrated privacy: Bun & Steinke (2016), arXiv:1605.02065v1, Definition 8.1."""

    kind = "rho"

    def amount(self, event: Event, floor: float) -> float:
        return rho(event, delta=floor, adjacency=self.adjacency)


@dataclass(frozen=True)
class MuSquared(_Concentrated):
    """The square of mu of Gaussian privacy: Dong, Roth & Su (2022), arXiv:1905.02383v3, Corollary 3.3."""

    kind = "mu"

    def amount(self, event: Event, floor: float) -> float:
        mu = gdp(event, delta=floor, adjacency=self.adjacency).mu.upper
        return mu * mu * (1.0 + 4e-16)


@lru_cache(maxsize=_PRICES_KEPT)
def _curve_price(atom: Event, orders: tuple[float, ...], adjacency: Adjacency) -> tuple[tuple[int, ...], int]:
    worst, mass = np.zeros(len(orders)), 0.0
    covered: set[Relation] = set()
    with allowance(WORK), np.errstate(all="ignore"):
        for relation in adjacency.relations:
            if relation in covered:
                continue
            curve = renyi_curve(atom, relation)
            if curve.covers_opposite:
                covered.add(relation.opposite)
            # NaN, where numbers overflowed, is kept by np.maximum and becomes infinite.
            worst, mass = np.maximum(worst, curve(np.array(orders))), max(mass, curve.mass)
    return tuple(map(units_above, worst.tolist())), units_above(mass)


@lru_cache(maxsize=_PRICES_KEPT)
def _concentrated_price(currency: _Concentrated, event: Event) -> tuple[int, int]:
    try:
        everywhere = currency.amount(event, 0.0)
    except UnsupportedError:
        everywhere = math.inf
    outside = currency.amount(event, currency.floor)
    if everywhere <= outside:
        return units_above(everywhere), 0
    return units_above(outside), units_above(currency.floor)
