"""A block of a binomial sum with geometric factors, in constant time where tail probabilities give it accurately."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc

from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log_expm1, log_sum_exp

_SUMMED_TERMS = 64
"""Blocks of up to this many terms are simply summed, because that is fast enough."""

_LARGEST_SLOPE = 600.0
"""Slope beyond which the odds rate e^slope may overflow."""

_SMALLEST_TAIL = 1e-280
"""Tail probabilities below this come near the subnormal floats and lose digits."""

_LOG_2 = math.log(2.0)


def log_block_excess(n: int, *, rate: float, first: int, last: int, slope: float, offset: float = 0.0) -> float:
    """log of the sum over first <= k <= last of C(n,k) rate^k (1-rate)^(n-k) (e^(slope (k-1) + offset) - 1).

    For 1 <= first, 0 < rate < 1 and slope, offset >= 0. With m = 1 + rate (e^slope - 1) the part with the exponential is
    e^(offset - slope) m^n times the probability that a binomial variable of rate' = rate e^slope/m falls into the block, and
    the part without it is that probability at the rate itself: four incomplete beta functions. Their difference is used if the
    first is at least twice the second. Otherwise, and if a tail underflows or two tails nearly agree, the terms are summed:
    they are positive, so no digits are lost.
    """
    if first > last:
        return -math.inf
    if last - first >= _SUMMED_TERMS and slope <= _LARGEST_SLOPE:
        odds = rate * math.exp(slope)
        plain = _log_window(n, rate, 1.0 - rate, first, last)
        grown = _log_window(n, odds / (odds + (1.0 - rate)), (1.0 - rate) / (odds + (1.0 - rate)), first, last)
        rise = grown + n * math.log1p(rate * math.expm1(slope)) - slope + offset - plain
        if rise >= _LOG_2:  # false for NaN
            return plain + float(log_expm1(rise))
    k = np.arange(float(first), last + 1.0)
    return float(log_sum_exp(log_binomial_weight(n, k, rate) + log_expm1(slope * (k - 1.0) + offset)))


def _log_window(n: int, rate: float, rest: float, first: int, last: int) -> float:
    """log of the probability of first <= K <= last, K binomial of ``rate`` = 1 - ``rest``; NaN if digits would be lost."""
    # A difference of two upper tails if the block lies above the mean, else of two lower tails: those are the small ones.
    if n * rate < 0.5 * (first + last):
        wide = betainc(first, n - first + 1, rate)
        beyond = betainc(last + 1, n - last, rate) if last < n else 0.0
    else:
        wide = betainc(n - last, last + 1, rest) if last < n else 1.0
        beyond = betainc(n - first + 1, first, rest)
    return math.log(wide - beyond) if wide > _SMALLEST_TAIL and beyond < 0.75 * wide else math.nan
