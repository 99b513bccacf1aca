"""Randomized response: answer truthfully with some probability."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from renyi import check
from renyi.errors import InvalidInput
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.pair import FiniteLossPair
from renyi.laws.relation import Relation


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Reports one of ``outcomes`` values: the true one with ``probability``, otherwise one of the others, equally likely.

    The same pair, of one true value against another, is used for every relation. At probability 1/outcomes the answer reveals
    nothing.
    """

    words: ClassVar[str] = "randomized response (true with probability {probability}, {outcomes} outcomes)"
    assumptions: ClassVar[tuple[str, ...]] = ("randomized response: every record answers independently of the others",)
    references: ClassVar[tuple[str, ...]] = (
        "Mironov (2017), arXiv:1702.07476v3, Proposition 5",
        "Kairouz, Bonawitz & Ramage (2016), arXiv:1602.07387v3: more than two outcomes",
    )

    probability: float
    outcomes: int = 2

    def __post_init__(self) -> None:
        check.fields(self, probability=check.probability, outcomes=partial(check.whole, 2))
        if self.outcomes > 10**15:
            raise InvalidInput(f"outcomes must be an integer from 2 to 10**15; got {self.outcomes!r}.")

    @classmethod
    def examples(cls) -> tuple[RandomizedResponse, ...]:
        return cls(0.6), cls(0.9), cls(0.5, outcomes=4)

    def trends(self) -> Mapping[str, Trend]:
        return {"probability": Trend(rising=True, low=1.0 / self.outcomes, high=1.0)}

    def pair(self, relation: Relation) -> FiniteLossPair:
        """The outcomes fall into three classes: the first dataset's true value, the second's, and all others."""
        truth, others = self.probability, self.outcomes - 1
        lie = (1.0 - truth) / others
        # truth - lie = (outcomes truth - 1)/others is formed exactly, so that log(truth/lie) keeps its digits near 0.
        level = _log_ratio(truth, lie, float((self.outcomes * Fraction(truth) - 1) / others))
        log_truth, log_lie = _log(truth), _log(lie)
        log_rest = log_lie + math.log(others - 1) if others > 1 else -math.inf
        return FiniteLossPair(
            losses=(level, -level, 0.0),
            log_p=(log_truth, log_lie, log_rest),
            log_q=(log_lie, log_truth, log_rest),
        )


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0.0 else -math.inf


def _log_ratio(truth: float, lie: float, difference: float) -> float:
    if truth == 0.0 or lie == 0.0:
        return math.inf if truth > 0.0 else -math.inf
    return math.log1p(difference / lie) if abs(difference) < 0.5 * lie else math.log(truth / lie)
