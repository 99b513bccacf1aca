"""The exponential mechanism, and anything of bounded range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.numerics.remainder import log_one_plus, log_remainder
from renyi.numerics.rounding import TINY, raised
from renyi.privacy.curve import RenyiCurve
from renyi.privacy.pair import DominatingPair, law_error
from renyi.privacy.relation import Adjacency, Relation

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExponentialMechanism(Mechanism):
    """Selects an outcome with probability proportional to e^(epsilon u/(2 sensitivity of u)), of level ``epsilon``.

    Its losses on any two neighbours lie in an interval of length epsilon (bounded range), which is half of what pure DP
    of that level allows: the worst case for each order is two outcomes with losses t and t - epsilon for some t.
    """

    name = "exponential"
    monotone = {"epsilon": Trend(rising=True)}
    references: ClassVar[tuple[str, ...]] = (
        "Dong, Durfee & Rogers (2020), arXiv:1909.13830v3: bounded range and its worst cases",
    )

    epsilon: float
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, epsilon=check.epsilon, adjacency=Adjacency.of)

    @classmethod
    def examples(cls) -> tuple[ExponentialMechanism, ...]:
        return cls(0.1), cls(2.0)

    def pair(self, relation: Relation) -> BoundedRangePair:
        self.adjacency.expect(relation, self)
        return BoundedRangePair(self.epsilon)


@dataclass(frozen=True, slots=True)
class BoundedRangePair(DominatingPair):
    """The least pair above every pair whose losses lie in an interval of length ``epsilon``.

    No one mechanism attains it at all levels: each level has another worst t.
    """

    epsilon: float

    @property
    def attained(self) -> bool:
        return False

    @property
    def max_loss(self) -> float:
        return self.epsilon

    def reversed(self) -> BoundedRangePair:
        return self  # the family is the same for (Q, P), with epsilon - t for t

    def renyi(self) -> RenyiCurve:
        """The supremum over t of the divergence of the two-point pair, order by order (not that of the profile's pair)."""
        if self.epsilon == 0.0:
            return RenyiCurve.zero()
        return RenyiCurve(
            partial(_divergence_upper, self.epsilon), limit=raised(self.epsilon, 0.0), covers_opposite=True
        )

    def log_profile(self, epsilon: Array) -> Array:
        """The supremum over t is at t = (epsilon + level)/2: (1 - e^((epsilon - level)/2))^2/(1 - e^-level)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.maximum(self.epsilon - epsilon, 0.0)
            inner = (
                2.0 * np.log(-np.expm1(-0.5 * gap)) - math.log(-math.expm1(-self.epsilon)) if self.epsilon else -np.inf
            )
            floor = np.log(-np.expm1(np.minimum(epsilon, 0.0)))
            return np.where(epsilon >= -self.epsilon, np.maximum(inner, floor), floor)


def bounded_range_divergence(order: Array, level: float) -> Array:
    """The largest divergence of two-point pairs with losses t and t - level, at finite orders.

    P gives the loss t the probability (1 - e^(t - level))/(1 - e^-level). With c = e^(-s level), s = order - 1,
    the log-moment is s t + log(A - B e^t), A = c + (1-c)/(1 - e^-level), B = (1-c) e^-level/(1 - e^-level),
    largest at e^t = s A/(order B); the divergence at that t is then a sum of nonnegative terms.
    """
    s = order - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        # Divide A and B by 1 - c; c/(1-c) = 1/(e^(s level) - 1), so that s A tends to 1/level as s does to 0.
        with np.errstate(over="ignore"):
            s_a = np.where(s > 0.0, s / np.expm1(s * level), 1.0 / level) - s / math.expm1(-level)
        t = np.clip(np.log(s_a) - np.log(order) + math.log(math.expm1(level)), 0.0, level)
    log_p = np.log(-np.expm1(t - level)) - math.log(-math.expm1(-level))
    log_rest = np.log(-np.expm1(-t)) + (t - level) * 0.0 - math.log(math.expm1(level)) + t
    # Under Q the outcomes have weights p e^-t and (1-p) e^(level - t).
    terms = np.logaddexp(log_p + log_remainder(s, t), log_rest + log_remainder(s, t - level))
    return log_one_plus(s, terms)


def _divergence_upper(level: float, order: Array) -> Array:
    return np.maximum(raised(bounded_range_divergence(order, level), law_error(order)), TINY)
