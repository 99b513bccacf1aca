"""What a search may add to the loss of its best run: the supremum of the theorem in ``search_pair``, as a sum of ramps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.events.trials import Trials
from renyi.laws.pair import FiniteLossPair
from renyi.numerics.rounding import TINY, ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_FINEST_CELL = 0.01
"""By how much log f' falls across a cell, at most: the bound's delta is raised by as much, relatively."""

_MOST_CELLS = 4_000
"""Cells beside those that the lines of V make; of a Poisson number of 1,000 runs each is then a quarter wide."""

_RAMPS = 160
"""Ramps of which the payoff is made. Its levels are then off by 1 % of the largest shift, to second order."""

_LARGEST_LEVEL = 700.0
"""Slopes e^level of lines that floats hold; a smaller slope is a valid line too."""


@dataclass(frozen=True, slots=True)
class Ramps:
    """A payoff g(t) <= sum_j w_j (1 - t e^-s_j)_+, t >= 0, in units of E[K]: shifts s_j in rising order, and log w_j.

    With t = e^eps q/p, the mean of (1 - t e^-s)_+ under P is the profile of (P, Q) at eps - s.
    """

    shift: Array
    log_weight: Array


def payoff(run: FiniteLossPair, trials: Trials) -> Ramps:
    """g(t) = sup over u of (f'(1 - u) - t f'(1 - V(u)))_+ in units of f'(1) = E[K], from above.

    u is the probability under P that another run beats the output, V(u) >= v the largest one under Q that goes with it:
    V(u) = min over real e of (e^e u + H_e(Q || P)), every line of which is a bound by itself. [0, 1] is cut into cells. On
    a cell that begins at u_i, f'(1 - u) <= f'(1 - u_i) =: a_i, and the ratio f'(1 - u)/f'(1 - V(u)) is at most what one line in
    place of V gives. That ratio is monotone in u, because 1 + b V(u) over 1 + b u is (Poisson: V(u) - u), so its larger value
    r_i at the two ends bounds it on the cell, and there

        f'(1 - u) - t f'(1 - V(u)) = f'(1 - u) (1 - t f'(1 - V(u))/f'(1 - u)) <= a_i (1 - t/r_i)_+.

    Cells begin where V passes from one line to the next, and wherever f' has fallen by ``_FINEST_CELL``. The largest of the
    cells' bounds is convex in t, so that it lies below its chords, which are a sum of ramps.
    """
    slope, height = _lines(run.reversed())
    with np.errstate(all="ignore"):
        breaks = (height[1:] - height[:-1]) / (slope[:-1] - slope[1:])
    breaks = np.maximum.accumulate(np.clip(np.nan_to_num(breaks), 0.0, 1.0))
    total = float(trials.log_drop(np.ones(1))[0])
    cells = int(min(max(math.ceil(total / _FINEST_CELL), 1), _MOST_CELLS))
    even = trials.at_drops(np.linspace(0.0, total, cells + 1))
    u = np.unique(np.clip(np.concatenate([[0.0, 1.0], breaks, even]), 0.0, 1.0))
    spend(60.0 * u.size, calls=60)
    start, end = u[:-1], u[1:]
    line = np.searchsorted(breaks, 0.5 * (start + end))
    log_ratio = np.maximum(*(_log_ratio(trials, one, slope[line], height[line]) for one in (start, end)))
    log_ratio = np.minimum(log_ratio, _log_ratio(trials, start, np.zeros(1), np.ones(1)))  # V <= 1 is a line as well
    log_a = np.maximum(-trials.log_drop(start), math.log(TINY))
    # A cell matters only if its ratio exceeds those of all cells before it, where f' is larger.
    best = np.maximum.accumulate(np.concatenate([[-1.0], log_ratio]))
    matters = log_ratio > best[:-1]
    return _ramps(np.exp(log_a[matters]) * (1.0 + 4.0 * ULP), log_ratio[matters])


def _lines(opposite: FiniteLossPair) -> tuple[Array, Array]:
    """Slopes in falling order and heights of lines e^level u + H_level(Q || P): at the losses of the pair, where it bends."""
    level = np.unique(np.clip(opposite.support[0], -_LARGEST_LEVEL, _LARGEST_LEVEL))
    level = np.unique(np.append(level, [0.0, _LARGEST_LEVEL]))[::-1]
    spend(30.0 * level.size)
    log_height = opposite.log_profile(level - opposite.loss_error) + 2.0 * opposite.profile_error(0.0)
    slope = np.append(np.exp(level) * (1.0 + 4.0 * ULP), 0.0)
    return slope, np.append(np.minimum(np.exp(log_height), 1.0), 1.0)


def _log_ratio(trials: Trials, u: Array, slope: Array, height: Array) -> Array:
    """log of f'(1 - u)/f'(1 - v) at v = slope u + height, rounded up; never negative, because V(u) >= u.

    v may exceed 1 here: what f' is called there, by its formula, only has to keep the ratio monotone.
    """
    with np.errstate(over="ignore"):
        own, others = trials.log_drop(u), trials.log_drop(slope * u + height)
    return np.maximum(others - own, 0.0) + trials.drop_error(others) + trials.drop_error(own)


def _ramps(a: Array, log_ratio: Array) -> Ramps:
    """The chords of max_i a_i (1 - t/r_i)_+, whose first a is 1: at t = 0, and at even steps of log t up to the largest r."""
    last = float(log_ratio[-1])
    shift = np.linspace(-0.5 * last, last, _RAMPS) if last > 0.0 else np.zeros(1)
    spend(5.0 * shift.size * a.size, calls=shift.size)
    value = np.array([np.max(a * -np.expm1(np.minimum(one - log_ratio, 0.0))) for one in shift])
    value[-1] = 0.0
    # The change of slope at e^s times e^s: what the chord before it falls by, less what the one after does.
    gap = np.diff(shift)
    fall = np.maximum(-np.diff(value), 0.0)
    before = np.concatenate([[float(a[0]) - value[0]], fall / -np.expm1(-gap)])
    after = np.append(fall / np.expm1(gap), 0.0)
    # A value is off by what its exponent is: of lines that are still above 0, the first has the largest a.
    highest = a[np.minimum(np.searchsorted(log_ratio, shift), a.size - 1)]
    off = np.concatenate([[1.0], value[:-1] + last * highest[:-1]]) / np.append(gap, gap[-1:] if gap.size else 1.0)
    with np.errstate(divide="ignore"):
        return Ramps(shift, np.log(np.maximum(before - after, 0.0) + 32.0 * ULP * (before + after + off)))
