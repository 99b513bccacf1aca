"""What is asked: epsilon at a delta, or delta at an epsilon. Every method and accountant takes the same question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from renyi.laws.interval import Interval


@dataclass(frozen=True, slots=True)
class EpsilonAt:
    """What is epsilon at this delta, in [0, 1]?"""

    delta: float

    @property
    def log_delta(self) -> float:
        """The logarithm of delta; -inf if delta is 0."""
        return math.log(self.delta) if self.delta > 0.0 else -math.inf

    @property
    def unknown(self) -> Interval:
        """The interval that holds before any work is done."""
        return Interval(0.0, math.inf)

    def with_answer(self, value: float) -> tuple[float, float]:
        """The epsilon and the delta of the guarantee, if this were the answer."""
        return value, self.delta


@dataclass(frozen=True, slots=True)
class DeltaAt:
    """What is delta at this epsilon, in [0, inf]?"""

    epsilon: float

    @property
    def unknown(self) -> Interval:
        """The interval that holds before any work is done."""
        return Interval(0.0, 1.0)

    def with_answer(self, value: float) -> tuple[float, float]:
        """The epsilon and the delta of the guarantee, if this were the answer."""
        return self.epsilon, value


Question: TypeAlias = EpsilonAt | DeltaAt
