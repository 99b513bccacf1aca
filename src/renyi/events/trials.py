"""The number of runs of a search: the truncated negative binomial law, parametrised by its mean."""

from __future__ import annotations

import math

from renyi.errors import InvalidInput


def mean_of(gamma: float, shape: float) -> float:
    """The mean of the truncated negative binomial law of shape eta > -1: eta (1/gamma - 1)/(1 - gamma^eta); 0 < gamma < 1."""
    return _mean(math.log(1.0 / gamma), shape)


def gamma_of(mean: float, shape: float) -> float:
    """The gamma in (0, 1] that gives a mean >= 1; 1 for the Poisson law, which has no such parameter."""
    if math.isinf(shape) or mean == 1.0:
        return 1.0
    # The search is in -log gamma, in which the mean rises from 1; beyond 700, gamma itself would underflow.
    low, high = 0.0, 1.0
    while _mean(high, shape) < mean:
        low, high = high, 2.0 * high
        if high > 700.0:
            raise InvalidInput(
                f"no truncated negative binomial law of shape {shape!r} has a mean as large as {mean!r} "
                "and a gamma that a float can hold; take a larger shape."
            )
    while high - low > 2e-16 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _mean(middle, shape) < mean else (low, middle)
    return math.exp(-high)


def _mean(level: float, shape: float) -> float:
    """The mean with gamma = e^-level; near shape 0, the logarithmic law, by the first terms of the series."""
    if abs(shape * level) < 1e-8:
        return math.expm1(level) / (level * (1.0 - 0.5 * shape * level))
    return shape * math.expm1(level) / -math.expm1(-shape * level)
