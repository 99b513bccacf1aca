"""A profile that is dear to evaluate, or known above by a formula only, as a finite pair: chords between well-chosen levels."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.dots.dots import dots, upper_masses
from renyi.laws.pair import FiniteLossPair
from renyi.numerics.work import spend

Array = NDArray[np.float64]
LogProfile = Callable[[Array], Array]

_LADDER = np.append(0.0, np.geomspace(1e-12, 1e15, 217))
"""The first levels: eight to a decade, from where a loss is nothing to where it is taken for infinite."""

_FAINT = -750.0
"""log of a delta that no float holds: levels beyond are not needed."""

_LEVEL = 1e-12
"""By how much the logarithm of a profile may still fall where it counts as constant."""

_STEEPEST, _STEEPER = 0.05, 0.01
"""By how much the logarithm L of a profile may fall between neighbouring levels: 0.05 + 0.01 |L|.

Where it falls by d, a chord lies above it by at most d^2/8 of it, so that a delta of 1e-6 is raised by 0.4 %, which is
1e-3 of a typical epsilon at most; a thousand levels reach the smallest float.
"""

_ROUNDS = 12
"""Rounds of refinement, each four times as fine: enough from a step of the ladder to 1e-7 of it."""

_MOST_LEVELS = 6_000
"""Levels of one side, ten times what was needed for any law that was tried."""

_LOST = 1e-6
"""Of the whole mass: less may be missing by rounding, and a law that lacks more is none."""

_UNHELD_MASS = 2e-323
"""Charged as infinite loss for what underflows: four times the smallest float, so that its half is not lost."""


def tabled(forward: LogProfile, backward: LogProfile, largest: tuple[float, float]) -> FiniteLossPair:
    """The pair whose profile connects levels of ``forward`` for (P, Q), and of ``backward`` for (Q, P), both from 0 on.

    Both are logarithms of valid deltas, at levels >= 0. ``largest`` are the levels from which on they are 0.
    """
    (right, log_right), (left, log_left) = _levels(forward, largest[0]), _levels(backward, largest[1])
    # At level 0 both are bounds on the same number, the total variation distance.
    log_right[0] = min(log_right[0], log_left[0])
    x = np.concatenate([-left[:0:-1], right])
    log_v = np.concatenate([log_left[:0:-1] - left[:0:-1], log_right])
    masses = upper_masses(dots(x, log_v))
    if not float(np.sum(np.exp(masses.log_p))) + masses.infinite >= 1.0 - _LOST:
        raise ConvergenceError("losses are so large that rounding has lost the masses between them.")
    infinite, behind = (
        mass if limit < math.inf else min(mass + _UNHELD_MASS, 1.0)
        for mass, limit in zip((masses.infinite, masses.behind), largest, strict=True)
    )
    return FiniteLossPair.of_masses(masses.x, masses.log_p, infinite, behind, attained=False, looked_up=True)


def _levels(log_profile: LogProfile, largest: float) -> tuple[Array, Array]:
    """Levels from 0 on, close where the profile is steep, and the logarithms of the profile there."""
    x = np.unique(np.minimum(_LADDER, largest))
    log_v = _known(log_profile, x)
    for _ in range(_ROUNDS):
        before, after = log_v[:-1], log_v[1:]
        steep = (before > _FAINT) & (before - after > _STEEPEST - _STEEPER * before)
        start, width = x[:-1][steep], np.diff(x)[steep]
        more = np.unique(start[:, None] + width[:, None] * np.array([0.25, 0.5, 0.75]))
        more = more[~np.isin(more, x)]
        if not more.size or x.size + more.size > _MOST_LEVELS:
            break
        order = np.argsort(np.concatenate([x, more]))
        x, log_v = np.concatenate([x, more])[order], np.concatenate([log_v, _known(log_profile, more)])[order]
    # Further levels are not needed once what is left is the mass at infinite loss, or nothing; but for where a profile ends.
    ended = np.flatnonzero(log_v <= max(log_v[-1] + _LEVEL, _FAINT))
    kept = np.arange(x.size) <= ended[0]
    kept[-1] = kept[-1] or largest < math.inf
    return x[kept], log_v[kept]


def _known(log_profile: LogProfile, x: Array) -> Array:
    """The logarithms of a profile that falls, 0 where its own formula fails."""
    spend(20.0 * x.size, calls=20)
    with np.errstate(all="ignore"):
        return np.minimum(np.nan_to_num(log_profile(x), nan=0.0, posinf=0.0, neginf=-math.inf), 0.0)
