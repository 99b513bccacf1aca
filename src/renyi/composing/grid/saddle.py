"""The tilt at which to look at a composition: the saddle point of its Laplace integral."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from renyi.composing.question import EpsilonAt, Question
from renyi.numerics.lattices.tilted_fft import LatticeLaw, Moments, moments

_STEEPEST = 1e9
"""The largest product of a loss and a tilt: rounding it moves delta by 1e-7 of itself, relatively."""

_LOG_SMALLEST_MASS = -740.0
"""log of a mass that a float can just hold."""


@dataclass(frozen=True, slots=True)
class Saddle:
    """The tilt, where it looks at, and about what delta is there."""

    tilt: float
    epsilon: float
    log_delta: float
    here: Moments


def found_saddle(
    laws: Sequence[LatticeLaw], question: Question, start: float = 1.0, step: float = 2.0
) -> Saddle | None:
    """The minimum over c of K(c) - eps c - log c - log(1 + c); None where every law is infinite loss alone.

    With eps = K'(c) - 1/c - 1/(1 + c) it is a curve in c along which delta falls, so either question finds its c by bisection.
    """
    if any(not np.any(law.log_mass > -math.inf) for law in laws):
        return None

    def at(log_c: float) -> Saddle:
        c = math.exp(log_c)
        here = moments(laws, c)
        epsilon = here.mean - 1.0 / c - 1.0 / (1.0 + c)
        curvature = here.variance + c**-2.0 + (1.0 + c) ** -2.0
        log_delta = here.log - c * epsilon - log_c - math.log1p(c) - 0.5 * math.log(2.0 * math.pi * curvature)
        return Saddle(c, epsilon, log_delta, here)

    def miss(point: Saddle) -> float:
        """Positive where a larger c is needed."""
        if isinstance(question, EpsilonAt):
            return max(point.log_delta - question.log_delta, -point.epsilon)
        return question.epsilon - point.epsilon

    reach = sum(
        law.count * float(np.max(np.abs(law.x[law.log_mass > _LOG_SMALLEST_MASS]), initial=1e-300)) for law in laws
    )
    most = math.log(_STEEPEST / reach)
    low = high = min(math.log(start), most)
    found = at(high)
    first = miss(found)
    while high > -80.0 and (high < most or first <= 0.0):
        low, high = high, min(high + math.copysign(step, first), most)
        found = at(high)
        step *= 2.0
        if (miss(found) > 0.0) != (first > 0.0):
            break
    else:
        return _settled(found, question)
    if low > high:
        low, high = high, low
    while high - low > 3e-3:
        middle = 0.5 * (low + high)
        found = at(middle)
        if miss(found) > 0.0:
            low = middle
        else:
            high = middle
    return _settled(found, question)


def _settled(found: Saddle, question: Question) -> Saddle:
    if isinstance(question, EpsilonAt):
        return replace(found, epsilon=max(found.epsilon, 0.0), log_delta=min(found.log_delta, question.log_delta))
    return replace(found, epsilon=question.epsilon)
