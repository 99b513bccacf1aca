"""Laplace noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.privacy.finite_pair import FiniteLossPair
from renyi.privacy.relation import Relation


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Mechanism):
    """Adds an integer x with probability proportional to ``e^(-|x|/scale)`` to an integer of integer ``sensitivity``.

    The loss takes ``sensitivity`` + 1 values, so every answer is a finite sum.
    """

    monotone = {"scale": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "discrete noise: one record moves the integer-valued statistic by at most the sensitivity, and sampling is exact",
    )
    references: ClassVar[tuple[str, ...]] = ("Ghosh, Roughgarden & Sundararajan (2009), STOC: the geometric mechanism",)

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check.fields(self, scale=check.nonnegative, sensitivity=partial(check.whole, 1))

    @classmethod
    def examples(cls) -> tuple[DiscreteLaplace, ...]:
        return cls(1.0), cls(5.0, sensitivity=3)

    def pair(self, relation: Relation) -> FiniteLossPair:
        """Centred at the shift m against centred at 0: all x <= 0 share a loss, all x >= m share one, m - 1 lie between."""
        shift = self.sensitivity * relation.distance
        if self.scale < 1e-300:
            return FiniteLossPair((math.inf, -math.inf), (0.0, -math.inf), (-math.inf, 0.0))
        step = 1.0 / self.scale
        tail = -math.log1p(math.exp(-step))  # P(x <= 0) under the law about 0
        point = math.log(math.tanh(0.5 * step))  # P(x = 0)
        inner = range(1, shift)
        return FiniteLossPair(
            losses=(-shift * step, *((2 * x - shift) * step for x in inner), shift * step),
            log_p=(tail - shift * step, *(point - (shift - x) * step for x in inner), tail),
            log_q=(tail, *(point - x * step for x in inner), tail - shift * step),
        )
