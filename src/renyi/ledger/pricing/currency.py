"""In what a budget is counted: what an event costs in it, and how much of it there is."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.ledger.pricing.price import Price


@dataclass(frozen=True)
class Currency(ABC):
    """A way of pricing events such that prices add up, whatever was seen in between.

    A price has several amounts. They are alternatives: what was spent is within the budget if one of the sums is.
    """

    kind: ClassVar[str]
    """What the budget is called: ``epsilon``, ``rho`` or ``mu``."""

    adjacency: Adjacency

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of amounts of a price."""

    @abstractmethod
    def price(self, event: Event) -> Price:
        """What an event costs, rounded up; ``UnsupportedError`` where no theorem prices it."""

    @abstractmethod
    def limits(self, budget: float) -> tuple[int, ...]:
        """The largest sum of each amount that a budget allows, in units, rounded down."""

    @abstractmethod
    def needed(self, amounts: tuple[int, ...]) -> float:
        """The least budget that allows these sums, rounded up."""

    @cached_property
    def name(self) -> str:
        """A short name that no other currency has, so that prices of two of them are not added."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def shared(self) -> Fraction:
        """The part of delta that the amounts share."""
        return Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """The kind and the fields as JSON values; an infinite number is the string "inf"."""
        values = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {"kind": self.kind, **values}


def _plain(value: object) -> object:
    match value:
        case Adjacency():
            return value.value
        case tuple():
            return [_plain(one) for one in value]
    return "inf" if value == math.inf else value
