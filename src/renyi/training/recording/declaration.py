"""The runs of a study as they were declared before the first of them: a file that is written once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from renyi import check
from renyi.errors import InvalidInput, PrivacyError
from renyi.events import Event, from_json
from renyi.ledger import JournalError, read
from renyi.training.planning.plan import Plan

FILE = "study.jsonl"
"""The name of the file, in the directory of the study."""

FORMAT, VERSION = "renyi-study", 1


@dataclass(frozen=True, slots=True)
class Declaration:
    """The plans of a study, fixed before its first run, other releases, and the delta at which all is stated."""

    plans: tuple[Plan, ...]
    others: Event
    delta: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        plans = [plan.to_dict() for plan in self.plans]
        return {
            "format": FORMAT,
            "version": VERSION,
            "plans": plans,
            "others": self.others.to_json(),
            "delta": self.delta,
        }

    @classmethod
    def read(cls, path: Path) -> Declaration:
        """The declaration in a file: a journal of one line."""
        found = [entry.payload for entry in read(path)]
        try:
            (line,) = found
            if (line["format"], line["version"]) != (FORMAT, VERSION):
                raise InvalidInput(f"it is not of format {FORMAT}, version {VERSION}.")
            plans = tuple(Plan.from_dict(plan) for plan in line["plans"])
            return cls(plans, from_json(line["others"]), check.delta(delta=line["delta"]))
        except (KeyError, TypeError, ValueError, PrivacyError) as error:
            raise JournalError(f"{path} does not declare a study: {str(error)[:200]}") from None
