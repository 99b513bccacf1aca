"""The largest loss of a composition, and the probability of an infinite one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.numerics.rounding import ULP, float_above, sum_above

Pairs = Sequence[tuple[DominatingPair, int]]

_FEW = 64
"""Unlike pairs whose largest losses are added as fractions of any denominator; that of the sum of many would be huge."""


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
    """The sum of the largest losses, whose errors add.

    It is added without rounding, and rounded outwards once: two losses of 1/2 are 1, so that a target which they meet
    exactly is met.
    """
    if any(math.isinf(pair.max_loss) for pair, _ in pairs):
        return Interval(math.inf, math.inf)
    error = sum_above((pair.loss_error, count) for pair, count in pairs)
    if math.isinf(error):
        return Interval(0.0, math.inf)
    few = len(pairs) <= _FEW
    losses = ((pair.exact_max_loss if few else Fraction(pair.max_loss), count) for pair, count in pairs)
    value = sum((count * loss for loss, count in losses), start=Fraction(0))
    lower, upper = -float_above(Fraction(error) - value), float_above(value + Fraction(error))
    # A pair that stands for a group may have been rounded up itself, by less than this.
    slack = 0.0 if sum(count for _, count in pairs) == 1 else 4.0 * ULP
    return Interval(max(0.0, lower * (1.0 - slack)), max(0.0, upper))
