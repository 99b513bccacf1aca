"""An attacker's errors, counted, and what they refute.

A score is high if the canary seems to be there. The threshold above which the attacker says so is chosen on the first fifth of
the trials, the errors are counted on the others, and the rates behind them are bounded by Clopper & Pearson (1934).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from renyi import check
from renyi.errors import InvalidInput

Array = NDArray[np.float64]

PILOT = 0.2
"""Share of the trials on which the threshold is chosen: few, because what they show is not counted."""

_THRESHOLDS = 100
"""Quantiles of the first scores that are tried as thresholds."""

_AS_GOOD = 0.1
"""Separation, in deviations, by which a threshold may fall short of the best and still count as one of the best: less than the
best wins by chance. Any value from 0.05 to 0.2 serves."""

LARGEST_FACTOR = 2.0**6
"""Factor between the noise that is looked for and the claimed one, above which, and below whose inverse, none is told apart."""

_CLOSE = 2.0**-14
"""How closely the factor is found, relatively; what is left is given away on the safe side."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What was counted: of the trials without the canary those in which it was seen, and of those with it those where not."""

    statistic: str
    steps: int
    """Releases of one trial."""
    threshold: float
    absent: int
    false_alarms: int
    present: int
    missed: int

    @classmethod
    def counted(cls, statistic: str, steps: int, inside: Array, outside: Array, doubt: float) -> Rates:
        """Choose the threshold on the first scores, and count errors on the others."""
        first = max(int(PILOT * len(inside)), 1)
        threshold = _threshold(inside[:first], outside[:first], doubt)
        inside, outside = inside[first:], outside[first:]
        alarms, missed = int(np.sum(outside >= threshold)), int(np.sum(inside < threshold))
        return cls(statistic, steps, threshold, len(outside), alarms, len(inside), missed)

    def ends(self, doubt: float) -> tuple[float, float]:
        """No larger false-positive and false-negative rate: both hold with probability 1 - ``doubt``."""
        return (
            rate_upper(self.false_alarms, self.absent, 0.5 * doubt),
            rate_upper(self.missed, self.present, 0.5 * doubt),
        )

    def epsilon_lower(self, delta: float, doubt: float) -> float:
        """No epsilon below this one holds at ``delta``, whatever the noise: both orders of the two datasets are asked."""
        alarms, missed = self.ends(doubt)
        found = [
            math.log((1.0 - other - delta) / rate)
            for rate, other in ((alarms, missed), (missed, alarms))
            if 1.0 - other - delta > 0.0 < rate
        ]
        return max(0.0, *found) if found else 0.0


def confidence_of(value: object) -> float:
    """A confidence that can be reached, and that says something."""
    found = check.probability(confidence=value)
    if not 0.5 <= found < 1.0:
        raise InvalidInput(f"confidence is at least 0.5 and below 1, such as 0.99; got {value!r}.")
    return found


def rate_upper(count: int, trials: int, doubt: float) -> float:
    """Clopper & Pearson (1934): a rate above this one gives so small a count with a probability of at most ``doubt``."""
    return float(_rates_upper(np.array(count), trials, doubt))


def _rates_upper(counts: NDArray[np.int_], trials: int, doubt: float) -> Array:
    inside = np.minimum(counts, trials - 1)
    return np.where(counts >= trials, 1.0, betaincinv(inside + 1.0, trials - inside, 1.0 - doubt))


def largest_factor(curve: Callable[[float, float], float], ends: tuple[float, float]) -> float:
    """The largest factor of the noise at which these error rates are still possible.

    ``curve(factor, fpr)`` is the smallest false-negative rate, which rises with the noise. If the noise is of this family,
    and the rates are no larger than ``ends``, then its factor is no larger than this.
    """
    alarms, missed = ends
    low, high = 1.0 / LARGEST_FACTOR, LARGEST_FACTOR
    if curve(high, alarms) <= missed:
        return math.inf
    if curve(low, alarms) > missed:
        return low
    while high > low * (1.0 + _CLOSE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if curve(middle, alarms) <= missed else (low, middle)
    return high


def _threshold(inside: Array, outside: Array, doubt: float) -> float:
    """The threshold at which the errors show the largest separation of two normal laws for certain.

    Around the best threshold many are nearly as good, and which of them comes first is chance: the middle one is taken.
    """
    tried = np.unique(np.quantile(np.concatenate([inside, outside]), np.linspace(0.0, 1.0, _THRESHOLDS + 1)))
    if len(tried) > 1:
        tried = 0.5 * (tried[1:] + tried[:-1])
    # As if these few were all: thresholds far out, where few of them lie, must not win by chance.
    alarms, missed = np.sum(outside[None, :] >= tried[:, None], 1), np.sum(inside[None, :] < tried[:, None], 1)
    ends = [_rates_upper(counts, len(inside), 0.5 * doubt) for counts in (alarms, missed)]
    overlap = ndtri(ends[0]) + ndtri(ends[1])
    return float(np.median(tried[overlap <= overlap.min() + _AS_GOOD]))
