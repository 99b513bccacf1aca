"""The total variation of two steps, of which the second is Gaussian noise on a Poisson sample, to ten digits.

Given the ratio v of the second step, the two of them differ by G(v) = E_Q (e^L v - 1)_+ = v H(-log v), L the loss of the first
step and H its profile: convex in v. Between two points of a grid the chord bounds G from above, and G at the conditional mean
of v from below; mass and mean of a cell are differences of normal distribution functions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.laws.ratio_law import log_mixed

Array = NDArray[np.float64]

_REACH = 9.5  # standard deviations; beyond is less than 1e-20
_CELLS = 2**20
_BLOCK = 2**16
_ERROR = 5e-11  # of the profile and of the cells


def two_step_variation(first: DominatingPair, rate: float, noise: float) -> Interval:
    """Of a step with pair ``first`` and one that releases a drawn record with Gaussian noise."""
    low, high = -_REACH, _REACH + 1.0 / noise
    upper = lower = 0.0
    edges = np.linspace(low, high, _CELLS + 1)
    for start in range(0, _CELLS, _BLOCK):
        above, below = _cells(first, rate, noise, edges[start : start + _BLOCK + 1])
        upper, lower = upper + above, lower + below
    # To the left of all cells v is at most 1 there and G is below 1; to the right of them G is at most v.
    outside = float(ndtr(-_REACH)) * 3.0
    return Interval(lower * (1.0 - _ERROR), (upper + outside) * (1.0 + _ERROR))


def _cells(first: DominatingPair, rate: float, noise: float, u: Array) -> tuple[float, float]:
    """The sums over cells between multiples ``u`` of the standard deviation, by chords and by means."""
    raw = (u - 0.5 / noise) / noise  # log of the unmixed ratio
    mass_q, mass_p = _between(u), _between(u - 1.0 / noise)
    g = _payoff(first, log_mixed(raw, rate))
    # Where in its cell the mean is, from ratios that are known relative to themselves: v - 1 = rate (e^raw - 1).
    ratio = np.exp(raw)
    mean = np.clip(mass_p / mass_q, ratio[:-1], ratio[1:])
    share = (mean - ratio[:-1]) / (ratio[1:] - ratio[:-1])
    chords = g[:-1] + share * (g[1:] - g[:-1])
    means = _payoff(first, np.log1p(rate * (mean - 1.0)))
    return float(np.sum(mass_q * chords)), float(np.sum(mass_q * means))


def _payoff(first: DominatingPair, log_v: Array) -> Array:
    return np.exp(log_v + first.log_profile(-log_v))


def _between(u: Array) -> Array:
    """Normal probabilities of cells, as differences on the side where they are small."""
    upper = np.where(u[:-1] > 0.0, ndtr(-u[:-1]) - ndtr(-u[1:]), ndtr(u[1:]) - ndtr(u[:-1]))
    return np.maximum(upper, 5e-324)
