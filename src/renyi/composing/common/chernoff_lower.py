"""A lower bound on delta that is near 1 where epsilon lies far below the losses.

For 0 < s < 1, (1 - e^-z)_+ >= 1 - e^(-s z) at every z, so delta >= 1 - M(-s) e^(s epsilon), whatever escapes included; and
M(-s) is the product of every step's.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.composing.composition import composition
from renyi.composing.steps import Steps
from renyi.errors import ConvergenceError
from renyi.laws.pair import DominatingPair

Array = NDArray[np.float64]

_ORDERS = np.concatenate([np.geomspace(1e-6, 0.03, 12), np.linspace(0.05, 0.95, 18)])
"""Small ones for large losses; of which none is 1/2, where some closed forms are 0/0."""

_LEVELS = np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 600)])
"""At which a profile is looked at."""

_ENOUGH = 1e-11
"""How near to 1 nobody asks for more."""


def chernoff_lower(steps: Steps, epsilon: float) -> float:
    """A delta that the composition surely exceeds or equals; 0 where the bound says nothing."""
    transforms = [(pair.transform, pair, count) for pair, count in steps.counted]
    known = composition([(transform, count) for transform, _, count in transforms if transform is not None])
    try:
        total = known.small_cumulants(-_ORDERS)
    except ConvergenceError:
        total = np.zeros(_ORDERS.shape)  # each step's M(-s) is at most 1
    if (found := _one_less(total, epsilon)) < 1.0 - _ENOUGH:
        for transform, pair, count in transforms:
            if transform is None:
                total += count * profile_cumulants_upper(pair, _ORDERS)
        found = _one_less(total, epsilon)
    return found


def _one_less(cumulants: Array, epsilon: float) -> float:
    log_missed = float(np.nanmin(cumulants + _ORDERS * epsilon + 1e-9 + 1e-11 * np.abs(cumulants)))
    return min(0.0 - math.expm1(min(log_missed, 0.0)), math.nextafter(1.0, 0.0))


def profile_cumulants_upper(pair: DominatingPair, order: Array) -> Array:
    """log M(-s) at orders 0 < s < 1, from above, by the profile alone.

    1 - M(-s) is s (1 - s) times the integral over x > 0 of e^(-s x) H_x(P || Q) + e^((s - 1) x) H_x(Q || P) (Sason & Verdu
    2016, arXiv:1508.00335, Proposition 3). Profiles fall, so on every interval the value at its right end is a lower bound.
    """
    total = np.zeros(order.shape)
    for one, power in ((pair, order), (pair.reversed(), 1.0 - order)):
        error = one.profile_error(0.0)
        height = np.exp(one.log_profile(_LEVELS[1:])) * max(1.0 - error, 0.0)
        weight = np.exp(-power[:, None] * _LEVELS)
        total += (weight[:, :-1] - weight[:, 1:]) @ np.nan_to_num(height) / power
    return np.log1p(-np.minimum(order * (1.0 - order) * total * (1.0 - 1e-12), 1.0 - 1e-12))
