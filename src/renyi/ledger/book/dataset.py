"""A dataset with a budget: whose privacy it is about, the filter that decides, and the disjoint parts it may fall into."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.document import short
from renyi.laws.relation import Adjacency
from renyi.ledger.errors import NotInLedger
from renyi.ledger.filter import Filter

LONGEST_NAME = 200
"""Characters of the name of a dataset, team, purpose, part or key."""

MOST_PARTS = 1000
"""Parts of one dataset: what was spent on each stands in the balance that every entry reads and writes."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A name, the unit that is protected, and the budget; with ``parts``, disjoint parts that may be charged by themselves.

    Parts are public and fixed when the dataset is made, and each unit (all of its records) lies in exactly one of them,
    whatever the data say: then a release from one part tells nothing about the units of the others, and the part on which most
    was spent counts. Replacing a unit may change two parts, so parts are for add-or-remove neighbours only.
    """

    name: str
    filter: Filter
    unit: str = "record"
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name(name=self.name)
        name(unit=self.unit)
        if not isinstance(self.filter, Filter):
            raise InvalidInput(
                f"the budget of a dataset is a filter, such as Filter(epsilon=1, delta=1e-6); got {short(self.filter)}."
            )
        if isinstance(self.parts, str) or not isinstance(self.parts, Iterable):
            raise InvalidInput(f"parts must be a list of names, such as ('north', 'south'); got {short(self.parts)}.")
        object.__setattr__(self, "parts", tuple(name(part=part) for part in self.parts))
        if len(set(self.parts)) < len(self.parts) or len(self.parts) > MOST_PARTS:
            raise InvalidInput(
                f"parts must be at most {MOST_PARTS} different names; got {len(self.parts)}: {short(self.parts)}."
            )
        if self.parts and self.adjacency is not Adjacency.ADD_OR_REMOVE:
            raise UnsupportedError(
                f"disjoint parts are counted one by one for add-or-remove neighbours only; {self.adjacency.value} neighbours "
                "may differ in two parts. Make the dataset without parts, or with add-or-remove neighbours."
            )

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours; those of the filter."""
        return self.filter.adjacency

    def expect_part(self, part: str) -> None:
        """Refuse a part that the dataset was not made with."""
        if part not in self.parts:
            known = ", ".join(self.parts) or "none"
            raise NotInLedger(f"{part!r} is not a part of the dataset {self.name!r}. Its parts are fixed: {known}.")

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        filtered = json.loads(self.filter.to_json())
        return {"name": self.name, "unit": self.unit, "filter": filtered, "parts": list(self.parts)}

    @classmethod
    def from_dict(cls, document: object) -> Dataset:
        """The dataset that JSON values describe; anything else is an error."""
        match document:
            case {
                "name": str() as named,
                "unit": str() as unit,
                "filter": filtered,
                "parts": list() as parts,
                **rest,
            } if not rest:
                return cls(named, Filter.from_json(json.dumps(filtered)), unit, tuple(parts))
        raise InvalidInput(f"a dataset has a name, a unit, a filter and parts; got {short(document)}.")


def name(**named: object) -> str:
    """A short printable text without spaces around it."""
    ((field, value),) = named.items()
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= LONGEST_NAME
        or not value.isprintable()
        or value != value.strip()
    ):
        raise InvalidInput(
            f"{field} must be a text of 1 to {LONGEST_NAME} printable characters without spaces around it; got {short(value)}."
        )
    return value
