"""The largest loss of a composition, and the probability of an infinite one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from renyi.numerics.rounding import ULP
from renyi.privacy.interval import Interval
from renyi.privacy.pair import DominatingPair

Pairs = Sequence[tuple[DominatingPair, int]]


def infinite_mass(pairs: Pairs) -> Interval:
    """The probability of an infinite loss."""
    masses = [(pair.infinite_mass, count) for pair, count in pairs]
    if any(mass >= 1.0 for mass, _ in masses):
        return Interval(1.0, 1.0)
    value = 0.0 - math.expm1(math.fsum(count * math.log1p(-mass) for mass, count in masses))
    if value == 0.0:
        return Interval(0.0, 0.0)
    error = 2e-15 + max(pair.mass_error for pair, _ in pairs)
    return Interval(value * (1.0 - error), min(value * (1.0 + error), 1.0))


def largest_loss(pairs: Pairs) -> Interval:
    """The sum of the largest losses, whose errors add."""
    value = max(math.fsum(count * pair.max_loss for pair, count in pairs), 0.0)
    if math.isinf(value):
        return Interval(value, value)
    error = math.fsum(count * pair.loss_error for pair, count in pairs)
    error += 0.0 if sum(count for _, count in pairs) == 1 else 4.0 * ULP * value
    return Interval(max(value - error, 0.0), value + error)


def reaches_largest_loss(pairs: Pairs, epsilon: float) -> bool:
    """Whether epsilon is at least that sum, without rounding, where the losses have none."""
    if any(pair.loss_error > 0.0 for pair, _ in pairs):
        return False
    return sum(count * Fraction(pair.max_loss) for pair, count in pairs) <= Fraction(epsilon)
