"""The Pearson-Vajda condition of Zhu & Wang (2019), PMLR 97, Theorem 8: E_Q (P/Q - 1)^l >= 0 for every odd l >= 3.

Their tight bound for Poisson samples requires it of every ordered pair of neighbours (the bound holds without it, see
docs/poisson-general-bound.md). It holds if a measure-preserving map exchanges P and Q: the moment is then half the integral of
(p - q)^l (q^(1-l) - p^(1-l)), and both factors have the sign of p - q.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from renyi import check
from renyi.errors import InvalidInput
from renyi.laws.pair import DominatingPair
from renyi.numerics.rounding import ULP


class Moment(NamedTuple):
    """A value and a bound on its numerical error."""

    value: float
    error: float


def pearson_vajda_moment(pair: DominatingPair, order: int) -> Moment:
    """E_Q (P/Q - 1)^order, the chi-divergence of that order, with a bound on the rounding of the sum."""
    order = check.whole(1, order=order)
    law = pair.ratio_law(float(order))
    if law.missing > 0.0:
        return Moment(math.inf, 0.0) if order > 1 else Moment(-law.missing, ULP)
    x = law.log_ratio
    with np.errstate(over="ignore", divide="ignore"):
        log_change = np.where(x > 30.0, x, np.log(np.abs(np.expm1(np.minimum(x, 30.0)))))
        size = np.exp(law.log_weight + order * log_change)
    terms = np.where(x < 0.0, (-1.0) ** order, 1.0) * size
    value, total = math.fsum(terms), math.fsum(size)
    if not math.isfinite(total):
        return Moment(math.nan, math.inf)
    # The relative error of a term is a few units in the last place, times the order and the size of the logarithms in it.
    logs = float(np.max(np.abs(law.log_ratio), initial=1.0)) + float(np.max(np.abs(law.log_weight), initial=1.0))
    return Moment(value, total * (4.0 * ULP * (order + 1.0) * (1.0 + logs) + law.error))


def pearson_vajda_condition(pair: DominatingPair, *, largest_order: int = 15) -> bool | None:
    """Whether the condition holds for (P, Q) and (Q, P): True, False, or None if it cannot be decided.

    If P and Q are exchanged by a map it is True, for all orders. Otherwise the odd orders up to ``largest_order`` are computed:
    one moment that is negative beyond its error refutes the condition, but no number of positive ones proves it.
    """
    if check.whole(3, largest_order=largest_order) % 2 == 0:
        raise InvalidInput(
            f"largest_order must be odd, because the condition is about odd orders; got {largest_order}."
        )
    if pair.reversed() == pair:
        return True
    for ordered in (pair, pair.reversed()):
        for order in range(3, largest_order + 1, 2):
            if order > ordered.largest_order:
                break
            value, error = pearson_vajda_moment(ordered, order)
            if value < -error:
                return False
    return None
