"""Prices as one number, rho or mu squared, that holds outside of a small probability."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from renyi import check
from renyi.accountants.accountant import expect
from renyi.accountants.gdp import gdp
from renyi.accountants.rho import rho
from renyi.errors import UnsupportedError
from renyi.events.event import Event
from renyi.events.nodes import Sampled, atoms, merged
from renyi.laws.relation import Adjacency
from renyi.ledger.pricing.currency import Currency
from renyi.ledger.pricing.price import Price, float_of_units, units_above, units_below
from renyi.mechanisms.approximate_dp import ApproximateDP
from renyi.mechanisms.pure_dp import PureDP
from renyi.numerics.rounding import raised

_PRICES_KEPT = 4096
"""Prices of whole events that are remembered."""


@dataclass(frozen=True)
class Concentrated(Currency):
    """One amount, and the probability outside of which it holds, which is paid out of delta.

    Of a sample the amount that holds everywhere is that of no sampling at all. So all samples of an event, and what has no
    amount that holds everywhere, are priced together, outside of a probability of ``floor``, if that makes them cheaper by more
    than ``worth``. Step by step each step would pay a floor.
    """

    floor: float
    worth: float

    def __post_init__(self) -> None:
        check.fields(self, adjacency=Adjacency.of, floor=check.delta, worth=check.nonnegative)

    @property
    def size(self) -> int:
        """See ``Currency``."""
        return 1

    def price(self, event: Event) -> Price:
        """See ``Currency``."""
        event, _ = expect(event, self.adjacency)
        total = Price.zero(self.name, self.size)
        rest: dict[Event, int] = {}
        for atom, count in atoms(event, 1):
            price = _atom_price(self, atom)
            if price is None:
                rest[atom] = count
            else:
                total += Price(self.name, *price) * count
        return total + Price(self.name, *_price_outside(self, merged(rest))) if rest else total

    @abstractmethod
    def amount(self, event: Event, floor: float) -> float:
        """The amount that holds outside of a probability of ``floor``, rounded up."""


@dataclass(frozen=True)
class Rho(Concentrated):
    """rho of zero-concentrated privacy: Bun & Steinke (2016), arXiv:1605.02065v1, Definition 8.1."""

    kind = "rho"

    def amount(self, event: Event, floor: float) -> float:
        """See ``Concentrated``."""
        return rho(event, delta=floor, adjacency=self.adjacency)

    def limits(self, budget: float) -> tuple[int, ...]:
        """See ``Currency``."""
        return (units_below(budget),)

    def needed(self, amounts: tuple[int, ...]) -> float:
        """See ``Currency``."""
        return float_of_units(*amounts)


@dataclass(frozen=True)
class MuSquared(Concentrated):
    """The square of mu of Gaussian privacy, which adds up: Dong, Roth & Su (2022), arXiv:1905.02383v3, Corollary 3.3."""

    kind = "mu"

    def amount(self, event: Event, floor: float) -> float:
        """See ``Concentrated``."""
        mu = gdp(event, delta=floor, adjacency=self.adjacency).mu.upper
        return raised(mu * mu, 0.0)

    def limits(self, budget: float) -> tuple[int, ...]:
        """See ``Currency``."""
        return (units_below(Fraction(budget) ** 2),)

    def needed(self, amounts: tuple[int, ...]) -> float:
        """See ``Currency``."""
        return raised(math.sqrt(float_of_units(*amounts)), 0.0)

    def everywhere(self, event: Event) -> float:
        """The amount that holds everywhere, infinite where there is none."""
        try:
            return self.amount(event, 0.0)
        except UnsupportedError:
            return math.inf


@lru_cache(maxsize=_PRICES_KEPT)
def _atom_price(currency: Concentrated, atom: Event) -> tuple[tuple[int], int] | None:
    """Amount and failure of one release that has an amount everywhere and is no sample; None for others."""
    match atom:
        case Sampled():
            return None
        case ApproximateDP(epsilon, delta, adjacency):
            amount, failure = _everywhere(currency, PureDP(epsilon, adjacency)), units_above(delta)
        case _:
            amount, failure = _everywhere(currency, atom), 0
    return ((units_above(amount),), failure) if math.isfinite(amount) else None


@lru_cache(maxsize=_PRICES_KEPT)
def _price_outside(currency: Concentrated, event: Event) -> tuple[tuple[int], int]:
    """Amount and failure of a whole event, with or without the floor."""
    amount = _everywhere(currency, event)
    if amount > currency.worth and currency.floor > 0.0:
        outside = currency.amount(event, currency.floor)
        if amount - outside > currency.worth:
            return (units_above(outside),), units_above(currency.floor)
    return (units_above(amount),), 0


def _everywhere(currency: Concentrated, event: Event) -> float:
    """The amount that holds everywhere, infinite where there is none."""
    try:
        return currency.amount(event, 0.0)
    except UnsupportedError:
        return math.inf
