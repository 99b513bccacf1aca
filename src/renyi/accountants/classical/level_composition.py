"""Pure levels composed by the best theorem there is for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from renyi.accountants.classical.composition_theorems import (
    Level,
    heterogeneous_composition,
    hoeffding_tail,
    kl_of_pure,
)
from renyi.accountants.classical.optimal_composition import (
    MOST_STEPS,
    optimal_composition_epsilon,
    optimal_composition_epsilon_lower,
    optimal_delta,
)
from renyi.composing.sums import FiniteRun, enumerated
from renyi.laws.interval import Interval
from renyi.mechanisms.pure_dp import binary_pair
from renyi.numerics.rounding import ULP, raised, sum_above

Levels = Sequence[tuple[float, int]]
"""Pure levels with their counts."""

BASIC = "basic composition"
ADVANCED = "advanced composition"
OPTIMAL = "optimal composition"

_MANY = 20
"""Unlike levels from which on the outcomes are too many to be listed."""

_CERTAIN = 600.0
"""A loss whose opposite has a probability of e^-600: floats hold it, but not its products."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An interval and the theorem behind its upper end."""

    interval: Interval
    theorem: str

    @classmethod
    def above(cls, value: float, theorem: str) -> Bound:
        """An upper end alone."""
        return cls(Interval(0.0, float(value)), theorem)


def composed_epsilon(levels: Levels, delta: float, *, closely: bool = True) -> Bound:
    """The smallest epsilon that a theorem gives at ``delta``; outcomes are listed only where it is asked for ``closely``."""
    merged, total = _merged(levels), _total(levels)
    if not merged or delta == 0.0 or math.isinf(total):
        return Bound.above(total, BASIC)
    advanced = heterogeneous_composition([(Level(level, 0.0), count) for level, count in merged], slack=delta).epsilon
    found = [Bound.above(total, BASIC), Bound.above(advanced, ADVANCED)]
    largest, count = _largest(merged)
    if count <= MOST_STEPS:  # unlike levels as if all were the largest
        value = optimal_composition_epsilon(step_epsilon=largest, count=count, delta=delta)
        found.append(Bound.above(value, OPTIMAL))
    run = _enumerated(merged) if closely else None
    if run is not None:
        found.append(Bound.above(run.epsilon(delta).upper, OPTIMAL))
    return min(found, key=lambda bound: bound.interval.upper)


def composed_delta(levels: Levels, epsilon: float) -> Bound:
    """The smallest delta that a theorem gives at ``epsilon``."""
    merged, total = _merged(levels), _total(levels)
    if epsilon >= total:
        return Bound.above(0.0, BASIC)
    if math.isinf(total):
        return Bound.above(1.0, BASIC)
    # No loss exceeds the total: P <= e^total Q.
    found = [Bound.above(min(raised(-math.expm1(epsilon - total), 4.0 * ULP), 1.0), BASIC)]
    if epsilon > math.fsum(count * kl_of_pure(epsilon=level) for level, count in merged):
        found.append(Bound.above(hoeffding_tail(merged, epsilon=epsilon), ADVANCED))
    largest, count = _largest(merged)
    if count <= MOST_STEPS:
        found.append(Bound.above(optimal_delta(largest, 0.0, count, epsilon).upper, OPTIMAL))
    run = _enumerated(merged)
    if run is not None:
        found.append(Bound.above(run.delta(epsilon).upper, OPTIMAL))
    return min(found, key=lambda bound: bound.interval.upper)


def attained_epsilon(levels: Levels, delta: float) -> float:
    """An epsilon below which randomized responses of these levels are not private at ``delta``; 0 where it is not known."""
    merged, total = _merged(levels), _total(levels)
    if not merged or delta == 0.0 or math.isinf(total):
        return total * (1.0 - 8.0 * ULP)
    level, count = _largest(merged)
    if len(merged) == 1 and count <= MOST_STEPS:
        return optimal_composition_epsilon_lower(step_epsilon=level, count=count, delta=delta)
    run = _enumerated(merged)
    return 0.0 if run is None else run.epsilon(delta).lower


def attained_delta(levels: Levels, epsilon: float) -> float:
    """A delta below which they are not private at ``epsilon``; 0 where it is not known."""
    merged, total = _merged(levels), _total(levels)
    if not merged or math.isinf(total):
        return 1.0 if math.isinf(total) else 0.0
    level, count = _largest(merged)
    if len(merged) == 1 and count <= MOST_STEPS:
        return optimal_delta(level, 0.0, count, epsilon).lower
    run = _enumerated(merged)
    return 0.0 if run is None else run.delta(epsilon).lower


def _enumerated(merged: Levels) -> FiniteRun | None:
    """The optimal composition of unlike levels: Murtagh & Vadhan (2016), arXiv:1507.03113v3, Theorem 1.5."""
    if not 1 < len(merged) <= _MANY or merged[-1][0] > _CERTAIN:
        return None
    return enumerated([(binary_pair(level), count) for level, count in merged])


def _total(levels: Levels) -> float:
    return sum_above(levels)


def _largest(merged: Levels) -> tuple[float, int]:
    return max(level for level, _ in merged), sum(count for _, count in merged)


def _merged(levels: Levels) -> list[tuple[float, int]]:
    """Equal levels together, and without those that reveal nothing."""
    counts: dict[float, int] = {}
    for level, count in levels:
        if level > 0.0 and count > 0:
            counts[level] = counts.get(level, 0) + count
    return sorted(counts.items())
