"""What the page says of a charge beside the run: which budget, who pays, and the words that go into the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Self

from renyi.errors import InvalidInput

LONGEST = 400
"""Characters of a field: names in a ledger have half."""


@dataclass(frozen=True, slots=True)
class Charging:
    """Texts of bounded length; an empty one stands for nothing said.

    ``budget`` is the ledger's name of a dataset, ``whole_at`` the delta at which a plan is booked whole, ``start`` the first
    entry of the history that is shown.
    """

    budget: str = ""
    team: str = ""
    purpose: str = ""
    part: str = ""
    whole_at: str = ""
    start: str = ""
    who: str = ""
    why: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            if len(getattr(self, field.name)) > LONGEST:
                raise InvalidInput(f"{field.name} may have {LONGEST} characters.")

    @classmethod
    def split(cls, pairs: Sequence[tuple[str, str]]) -> tuple[Self, list[tuple[str, str]]]:
        """The fields of a charge, and all others."""
        known = {field.name for field in fields(cls)}
        own = [(name, text.strip()) for name, text in pairs if name in known]
        given = dict(own)
        if len(given) < len(own):
            raise InvalidInput("a field is given twice.")
        return cls(**given), [pair for pair in pairs if pair[0] not in known]

    @property
    def payers(self) -> dict[str, str | None]:
        """Dataset, team, purpose and part as the ledger's functions take them."""
        return {
            "dataset": self.budget or None,
            "team": self.team or None,
            "purpose": self.purpose or None,
            "part": self.part or None,
        }

    def to_dict(self) -> dict[str, str]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, str]) -> Self:
        """The fields that ``to_dict`` wrote."""
        return cls(**values)
