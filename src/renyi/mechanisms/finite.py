"""A mechanism given by its two output laws on finitely many outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.mechanism import Mechanism
from renyi.laws.pair import FiniteLossPair
from renyi.laws.relation import Adjacency, Relation


@dataclass(frozen=True, slots=True)
class FinitePair(Mechanism):
    """Outcomes with probabilities ``p`` if the record is present and ``q`` if it is absent (or replaced)."""

    words: ClassVar[str] = "a mechanism with finitely many outcomes"
    assumptions: ClassVar[tuple[str, ...]] = (
        "a pair of probability vectors: no two neighbours are told apart better than the given pair",
    )

    p: tuple[float, ...]
    q: tuple[float, ...]
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, p=check.probabilities, q=check.probabilities, adjacency=Adjacency.of)
        if len(self.p) != len(self.q):
            raise InvalidInput(
                f"p and q must list the same outcomes; got {len(self.p)} and {len(self.q)} probabilities."
            )

    @classmethod
    def examples(cls) -> tuple[FinitePair, ...]:
        return cls((0.5, 0.4, 0.1), (0.3, 0.5, 0.2)), cls((0.7, 0.3), (0.3, 0.7))

    def pair(self, relation: Relation) -> FiniteLossPair:
        self.adjacency.expect(relation, self)
        rows = [(_loss(a, b), _log(a), _log(b)) for a, b in zip(self.p, self.q, strict=True) if a > 0.0 or b > 0.0]
        losses, log_p, log_q = zip(*rows, strict=True)
        pair = FiniteLossPair(losses, log_p, log_q)
        if relation is Relation.REPLACE and not _is_symmetric(self.p, self.q):
            raise UnsupportedError(
                f"{self} is not symmetric, while replace-one compares two records in either order. "
                "Give a pair in which every outcome (a, b) has a partner (b, a)."
            )
        return pair if relation.record_first or relation is Relation.REPLACE else pair.reversed()


def _is_symmetric(p: tuple[float, ...], q: tuple[float, ...]) -> bool:
    """Whether every outcome (a, b) has a partner (b, a), exactly."""
    return sorted(zip(p, q, strict=True)) == sorted(zip(q, p, strict=True))


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0.0 else -math.inf


def _loss(a: float, b: float) -> float:
    """log(a/b), to full relative accuracy also where a and b are close or tiny."""
    if a == 0.0 or b == 0.0:
        return math.inf if a > b else -math.inf
    if abs(a - b) < 0.5 * b:
        return math.log1p((a - b) / b)
    ratio = a / b  # the log of a quotient keeps digits that the difference of two large logs would lose
    return math.log(ratio) if 1e-300 < ratio < 1e300 else math.log(a) - math.log(b)
