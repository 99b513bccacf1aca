"""What an event costs a budget: whole numbers of a fixed unit, so that sums are exact whatever their order."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from renyi.errors import InvalidInput
from renyi.events.document import parsed, short
from renyi.numerics.rounding import float_above

UNIT_BITS = 128
"""Amounts are counted in units of 2^-128, about 3e-39: rounding up to one adds nothing to the cost of a real release."""

INFINITE = 1 << (2 * UNIT_BITS)
"""Stands for an infinite amount: 2^128, 3e38. No budget is as large, and unlike infinity it can be taken back from a sum."""

SMALLEST_BUDGET, LARGEST_BUDGET = 1e-15, 1e15
"""Of an epsilon, rho or mu: its square is more than a unit and less than what stands for infinity."""

MOST_AMOUNTS = 100
"""Amounts of one price, far above what a filter has: a bound for documents."""

_LARGEST_AMOUNT = 10**399
"""The largest amount that is read: a number of a document has at most 400 digits, and 10^300 infinite amounts have 378."""

_FORMAT, _VERSION = "renyi-price", 1


@dataclass(frozen=True, slots=True, repr=False)
class Price:
    """What an event costs, or what was spent: an amount for each order of a filter, and a probability of outright failure.

    All of them are whole numbers of the unit 2^-128, so that sums are exact: adding up a million prices in any order, or taking
    a price back that was added, gives the same number to the last digit. A price by itself cannot be compared: whether it
    fits is for the filter to say.
    """

    currency: str
    amounts: tuple[int, ...]
    failure: int = 0

    @classmethod
    def zero(cls, currency: str, count: int) -> Price:
        """Nothing spent; ``Filter.nothing`` is the one of a filter."""
        return cls(currency, (0,) * count)

    def __add__(self, other: Price) -> Price:
        if not isinstance(other, Price):
            return NotImplemented
        self.expect(other)
        amounts = tuple(a + b for a, b in zip(self.amounts, other.amounts, strict=True))
        return Price(self.currency, amounts, self.failure + other.failure)

    def __sub__(self, other: Price) -> Price:
        """Take a price back that was added before: of a release that did not happen."""
        if not isinstance(other, Price):
            return NotImplemented
        rest = self + other * -1
        if rest.failure < 0 or min(rest.amounts, default=0) < 0:
            raise InvalidInput(
                "more would be taken back than was spent: only a price that was added can be taken back."
            )
        return rest

    def __mul__(self, count: int) -> Price:
        if isinstance(count, bool) or not isinstance(count, int):
            return NotImplemented
        return Price(self.currency, tuple(count * amount for amount in self.amounts), count * self.failure)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        least, most = (float_of_units(end(self.amounts, default=0)) for end in (min, max))
        failure = float_of_units(self.failure)
        return f"<Price in {self.currency}: {least:.6g} to {most:.6g} at {len(self.amounts)} orders, failure {failure:.6g}>"

    def expect(self, other: Price) -> None:
        """Refuse to be mixed with a price of another filter, or with what is no price."""
        if not isinstance(other, Price):
            raise InvalidInput(f"a price is wanted, such as filter.price(event); got {short(other)}.")
        if other.currency != self.currency or len(other.amounts) != len(self.amounts):
            raise InvalidInput(
                f"a price of the filter {self.currency} cannot be used with one of {other.currency} that has "
                f"{len(other.amounts)} amounts: each filter has its own orders. Price the event again: filter.price(event)."
            )

    def to_json(self) -> str:
        """As JSON text: amounts as whole numbers of 2^-128."""
        document = {"format": _FORMAT, "version": _VERSION, "currency": self.currency}
        return json.dumps({**document, "amounts": list(self.amounts), "failure": self.failure})

    @classmethod
    def from_json(cls, text: str | bytes) -> Price:
        """The price that was written; anything else is an error."""
        fields = document_fields(text, _FORMAT, _VERSION, ("currency", "amounts", "failure"))
        amounts = fields["amounts"]
        if not isinstance(amounts, list) or len(amounts) > MOST_AMOUNTS:
            raise InvalidInput(f"amounts must be a list of at most {MOST_AMOUNTS} whole numbers; got {short(amounts)}.")
        currency = fields["currency"]
        if not isinstance(currency, str) or len(currency) > 40:
            raise InvalidInput(f"currency must be the short name of a filter; got {short(currency)}.")
        return cls(currency, tuple(map(_amount, amounts)), _amount(fields["failure"]))


def units_above(value: float) -> int:
    """A nonnegative number in units, rounded up; what is infinite or not a number becomes ``INFINITE``."""
    if not value < math.inf:
        return INFINITE
    top, bottom = value.as_integer_ratio()
    return min(-((-top << UNIT_BITS) // bottom), INFINITE)


def units_below(value: float | Fraction) -> int:
    """A nonnegative number in units, rounded down."""
    top, bottom = value.as_integer_ratio()
    return (top << UNIT_BITS) // bottom


def float_of_units(units: int) -> float:
    """Units as a number, rounded up; infinite if they were."""
    return math.inf if units >= INFINITE else float_above(Fraction(units, 1 << UNIT_BITS))


def document_fields(text: str | bytes, name: str, version: int, expected: Sequence[str]) -> dict[str, Any]:
    """The fields of a JSON document of this format, or an error that says what is wrong with it."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise InvalidInput(f"JSON is read from text; got {short(text)} of type {type(text).__name__}.")
    document = parsed(text)
    if not isinstance(document, dict) or document.get("format") != name:
        raise InvalidInput(f"this is not a document of the format {name!r}: {short(document)}.")
    if document.get("version") != version or isinstance(document.get("version"), bool):
        raise InvalidInput(
            f"this renyi reads {name} of version {version}; got version {short(document.get('version'))}."
        )
    if document.keys() != {"format", "version", *expected}:
        raise InvalidInput(f"{name} has the fields {', '.join(expected)}; got {short(sorted(document))}.")
    return document


def _amount(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_AMOUNT:
        raise InvalidInput(f"an amount is a whole number >= 0 of units of 2^-{UNIT_BITS}; got {short(value)}.")
    return value
