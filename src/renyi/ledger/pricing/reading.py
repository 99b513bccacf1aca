"""Currencies from JSON values of an untrusted source."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from renyi.errors import InvalidInput
from renyi.events.document import short
from renyi.ledger.pricing.concentrated import MuSquared, Rho
from renyi.ledger.pricing.currency import Currency
from renyi.ledger.pricing.orders import Orders

_CURRENCIES: dict[str, type[Currency]] = {kind.kind: kind for kind in (Orders, Rho, MuSquared)}


def currency_from(document: object) -> Currency:
    """The currency that ``Currency.to_dict`` wrote; each class checks its fields."""
    values = dict(document) if isinstance(document, dict) else {}
    kind = values.pop("kind", None)
    found = _CURRENCIES.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise InvalidInput(f"the currency of a filter is one of {', '.join(_CURRENCIES)}; got {short(document)}.")
    names = {field.name for field in fields(found)}
    if values.keys() != names:
        raise InvalidInput(
            f"the currency {kind} has the fields {', '.join(sorted(names))}; got {short(sorted(values))}."
        )
    parameters: dict[str, Any] = {name: _numbers(value) for name, value in values.items()}
    return found(**parameters)


def _numbers(value: object) -> object:
    if isinstance(value, list):
        return tuple(math.inf if one == "inf" else one for one in value)
    return value
