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
from renyi.events.nodes import atoms, merged
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

    Where an amount holds everywhere nothing is paid; where it does not, or where it would be more than ``worth`` smaller
    outside of a probability of ``floor``, that floor is paid for the event as a whole. So a run on samples is best priced as
    one event: step by step it pays a floor for each step.
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
        amount, failure = _price(self, event)
        return Price(self.name, (amount,), failure)

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


@lru_cache(maxsize=_PRICES_KEPT)
def _price(currency: Concentrated, event: Event) -> tuple[int, int]:
    """Amount and failure of an event, in units."""
    event, failing = _split(event)
    try:
        everywhere = currency.amount(event, 0.0)
    except UnsupportedError:
        everywhere = math.inf
    if everywhere <= currency.worth or currency.floor == 0.0:
        return units_above(everywhere), failing
    outside = currency.amount(event, currency.floor)
    if everywhere - outside <= currency.worth:
        return units_above(everywhere), failing
    return units_above(outside), failing + units_above(currency.floor)


def _split(event: Event) -> tuple[Event, int]:
    """The event with its (epsilon, delta) guarantees made pure, and the sum of their deltas, outside of which they are."""
    counts: dict[Event, int] = {}
    failing = 0
    for atom, count in atoms(event, 1):
        if isinstance(atom, ApproximateDP):
            failing += units_above(atom.delta) * count
            atom = PureDP(atom.epsilon, atom.adjacency)
        counts[atom] = counts.get(atom, 0) + count
    return merged(counts), failing
