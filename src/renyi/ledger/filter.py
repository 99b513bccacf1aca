"""A budget that holds although every release is chosen after the earlier ones were seen: a Renyi filter."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from renyi import check
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.ledger.pricing.currency import Currency, MuSquared, Orders, Rho
from renyi.ledger.pricing.orders import divergence_budget, divided
from renyi.ledger.pricing.price import INFINITE, LARGEST_BUDGET, UNIT_BITS, Price, document_fields, units_below

_FORMAT, _VERSION = "renyi-filter", 1


@dataclass(frozen=True, init=False)
class Filter:
    """A budget for releases that are chosen one after another, each with the answers of the earlier ones in view."""

    budget: float
    delta: float
    reserve: float
    shares: tuple[float, ...]
    currency: Currency

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        expected: Event | None = None,
        reserve: float | None = None,
        adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        adjacency = Adjacency.of(adjacency=adjacency)
        reserve = 0.1 * delta if reserve is None else reserve
        orders, shares = divided(epsilon, delta - reserve, expected, adjacency)
        self._set(epsilon, delta, reserve, shares, Orders(adjacency, orders))

    def _set(self, budget: float, delta: float, reserve: float, shares: tuple[float, ...], currency: Currency) -> None:
        values = {"budget": budget, "delta": delta, "reserve": reserve, "shares": shares, "currency": currency}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def zcdp(
        cls, rho: float, delta: float, *, floor: float | None = None, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE
    ) -> Filter:
        """A budget of ``delta``-approximate ``rho``-zCDP."""
        self = cls.__new__(cls)
        floor = delta / 100 if floor is None else floor
        self._set(rho, delta, delta, (), Rho(Adjacency.of(adjacency=adjacency), floor))
        return self

    @classmethod
    def gdp(
        cls, mu: float, delta: float, *, floor: float | None = None, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE
    ) -> Filter:
        """A budget of ``mu``-Gaussian privacy outside of a probability of ``delta``."""
        self = cls.__new__(cls)
        floor = delta / 100 if floor is None else floor
        self._set(mu, delta, delta, (), MuSquared(Adjacency.of(adjacency=adjacency), floor))
        return self

    @property
    def kind(self) -> str:
        """What ``budget`` is: ``epsilon``, ``rho`` or ``mu``."""
        return self.currency.kind

    @property
    def adjacency(self) -> Adjacency:
        """The neighbours that the promise is about."""
        return self.currency.adjacency

    @property
    def nothing(self) -> Price:
        """What was spent before the first release."""
        return Price.zero(self.currency.name, self.currency.size)

    @cached_property
    def limits(self) -> Price:
        """The budget at each order, and the reserve for failures: what a sum of prices is compared with."""
        if isinstance(self.currency, Orders):
            pairs = zip(self.currency.orders, self.shares, strict=True)
            budgets = [divergence_budget(order, share, self.budget) for order, share in pairs]
            amounts = tuple(units_below(budget) for budget in budgets)
        elif isinstance(self.currency, Rho):
            amounts = (units_below(self.budget),)
        else:
            amounts = (units_below(self.budget) ** 2 >> UNIT_BITS,)
        return Price(self.currency.name, amounts, units_below(self.reserve))

    def price(self, event: Event) -> Price:
        """What an event costs; UnsupportedError if it has no Renyi curve."""
        return self.currency.price(event)

    def admits(self, spent: Price, price: Price, *, share: Fraction = Fraction(1)) -> bool:
        """Whether a release of this price may follow what was spent. ``share``: of every limit, as the cap of a sub-budget."""
        total, limits = spent + price, self.limits
        limits.expect(total.currency)
        within = any(
            amount * share.denominator <= limit * share.numerator
            for amount, limit in zip(total.amounts, limits.amounts, strict=True)
        )
        return within and total.failure * share.denominator <= limits.failure * share.numerator

    def left(self, spent: Price, event: Event) -> int | float:
        """How many more of this event fit, math.inf if it costs nothing."""
        raise NotImplementedError

    def spent_fraction(self, spent: Price) -> float:
        """The part of the budget that was spent, at the order where most is left, rounded up."""
        raise NotImplementedError

    def spent_budget(self, spent: Price) -> float:
        """The least epsilon (or rho, or mu) for which a filter with these orders and shares would have admitted what was spent."""
        raise NotImplementedError

    def to_json(self) -> str:
        """As JSON text, with orders and shares, so that the very same filter comes back."""
        document = {"format": _FORMAT, "version": _VERSION, "budget": self.budget, "delta": self.delta}
        rest = {"reserve": self.reserve, "shares": list(self.shares), "currency": self.currency.to_dict()}
        return json.dumps({**document, **rest}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Filter:
        """The filter that was written; anything else is an error."""
        raise NotImplementedError
