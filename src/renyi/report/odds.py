"""The attack risk of a statement, in odds: people understand them better than epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from renyi.accountants.guarantee import Guarantee
from renyi.accountants.risk import Risk
from renyi.events.document import as_float, as_text
from renyi.events.words import group_of
from renyi.laws.interval import Interval
from renyi.numerics.printing import rounded_up

FPR = 0.01
"""The false-positive rate at which members are counted: of 100 people who are not in the data, one is accused."""


@dataclass(frozen=True, slots=True)
class Odds:
    """How well the best attacker does, each figure with both ends.

    ``found``: the share of members that are found at the false-positive rate ``FPR``; ``guessed``: the probability of a right
    guess about somebody who is a member as likely as not; ``advantage``: the largest true-positive rate minus false-positive
    rate.
    """

    found: Interval
    guessed: Interval
    advantage: Interval
    method: str

    @classmethod
    def of(cls, risk: Risk) -> Odds:
        """The odds of a risk."""
        return cls(risk.true_positive_rate(FPR), risk.success(0.5), risk.advantage, risk.method)

    def sentences(self, people: str) -> tuple[str, ...]:
        """The figures in words, rounded up."""
        return (
            f"Of 100 {people} outside the data an attacker accuses 1 wrongly, and of 100 inside it finds at most "
            f"{rounded_up(100.0 * self.found.upper)} on average; blind guessing finds 1.",
            f"Of 100 {people}, half of them in the data, an attacker judges at most "
            f"{rounded_up(100.0 * self.guessed.upper)} rightly on average; blind guessing judges 50.",
            "An attacker's true-positive rate exceeds their false-positive rate by at most "
            f"{rounded_up(self.advantage.upper)}.",
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "fpr": FPR,
            "tpr": _ends(self.found),
            "prior": 0.5,
            "success": _ends(self.guessed),
            "advantage": _ends(self.advantage),
            "method": self.method,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Odds:
        """The odds that JSON values describe."""
        return cls(
            interval(values["tpr"]),
            interval(values["success"]),
            interval(values["advantage"]),
            as_text(values["method"]),
        )


def people(guarantee: Guarantee) -> str:
    """Those whom the odds are about, in the plural."""
    units = "people" if guarantee.unit == "person" else f"{guarantee.unit}s"
    size = group_of(guarantee.event)
    return units if size == 1 else f"groups of {size:,} {units}"


def interval(values: dict[str, Any]) -> Interval:
    """The interval that JSON values describe."""
    return Interval(as_float(values["lower"]), as_float(values["upper"]))


def _ends(found: Interval) -> dict[str, float]:
    return {"lower": found.lower, "upper": found.upper}
