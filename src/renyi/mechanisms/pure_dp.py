"""A mechanism known only to be epsilon-differentially private."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.pair import FiniteLossPair
from renyi.laws.relation import Adjacency, Relation


@dataclass(frozen=True, slots=True)
class PureDP(Mechanism):
    """A mechanism of which only its pure level is known: no event is more than e^``epsilon`` times as likely on a neighbour.

    Binary randomized response of that level dominates every such mechanism and is one of them. Lower ends are about it: a
    particular mechanism of the same level may cost less.
    """

    words: ClassVar[str] = "a {epsilon}-DP mechanism"
    monotone = {"epsilon": Trend(rising=True)}
    assumptions: ClassVar[tuple[str, ...]] = ("pure DP: the claimed epsilon holds for these neighbours",)
    references: ClassVar[tuple[str, ...]] = ("Kairouz, Oh & Viswanath (2015), arXiv:1311.0776v4, Theorem 3.3",)

    epsilon: float
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, epsilon=check.epsilon, adjacency=Adjacency.of)

    @classmethod
    def examples(cls) -> tuple[PureDP, ...]:
        return cls(0.1), cls(5.0)

    def pair(self, relation: Relation) -> FiniteLossPair:
        self.adjacency.expect(relation, self)
        return binary_pair(self.epsilon)


def binary_pair(epsilon: float) -> FiniteLossPair:
    """The pair of binary randomized response: two outcomes, with losses plus and minus epsilon."""
    likely = -math.log1p(math.exp(-epsilon))
    return FiniteLossPair((epsilon, -epsilon), (likely, likely - epsilon), (likely - epsilon, likely), rounding=0.0)
