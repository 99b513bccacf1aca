"""A mechanism known only to be (epsilon, delta)-differentially private."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import FiniteLossPair
from renyi.laws.relation import Adjacency, Relation
from renyi.mechanisms.pure_dp import binary_pair


@dataclass(frozen=True, slots=True)
class ApproximateDP(Mechanism):
    """A mechanism of which only (``epsilon``, ``delta``) is known: pure DP except for a failure of probability delta.

    Its Renyi divergence may be infinite at every order, so the failure is carried beside the curve, as a mass: each of the two
    laws is a mixture of a part about which nothing is known, with weight delta, and a part that is epsilon-DP. The pair given
    here is the worst of its level, and lower ends are about that pair: a particular mechanism may cost less.
    """

    words: ClassVar[str] = "an ({epsilon}, {delta})-DP mechanism"
    monotone = {"epsilon": Trend(rising=True), "delta": Trend(rising=True)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "approximate DP: the claimed epsilon and delta hold for these neighbours",
    )
    references: ClassVar[tuple[str, ...]] = ("Kairouz, Oh & Viswanath (2015), arXiv:1311.0776v4, Theorem 3.3",)

    epsilon: float
    delta: float
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, epsilon=check.epsilon, delta=check.delta, adjacency=Adjacency.of)

    @classmethod
    def examples(cls) -> tuple[ApproximateDP, ...]:
        return cls(0.5, 1e-9), cls(1.0, 0.0)

    def renyi(self, relation: Relation) -> RenyiCurve:
        self.adjacency.expect(relation, self)
        return replace(binary_pair(self.epsilon).renyi(), mass=self.delta)

    def pair(self, relation: Relation) -> FiniteLossPair:
        """The binary pair with weight 1 - delta, and for each dataset an outcome that the other cannot produce."""
        self.adjacency.expect(relation, self)
        inner = binary_pair(self.epsilon)
        if self.delta == 0.0:
            return inner
        kept, fails = math.log1p(-self.delta), math.log(self.delta)
        return FiniteLossPair(
            losses=(*inner.losses, math.inf, -math.inf),
            log_p=(*(kept + p for p in inner.log_p), fails, -math.inf),
            log_q=(*(kept + q for q in inner.log_q), -math.inf, fails),
            rounding=0.0,
            missing=(self.delta, self.delta),
        )
