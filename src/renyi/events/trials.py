"""The number of runs of a search, K: truncated negative binomial or Poisson, parametrised by its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.errors import InvalidInput
from renyi.numerics.rounding import ULP, raised

Array = NDArray[np.float64]

_MEAN_ERROR = 1e-13
"""Relative, by which a mean is raised so that its parameter errs to the costly side: ten times the rounding of ``_mean``."""

_LARGEST_LEVEL = 700.0
"""Of -log gamma: beyond it gamma itself would underflow."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The law of K as a search needs it: through the slope f' of its generating function f(x) = E[x^K].

    A run that another one beats with probability u is the best of K with a density f'(1 - u) times its own, which falls from
    E[K] at u = 0 to Pr[K = 1] at u = 1. With b = (1 - gamma)/gamma,

        truncated negative binomial of shape eta:  f'(1 - u) = E[K] (1 + b u)^(-1 - eta),
        Poisson (``shape`` infinite):              f'(1 - u) = E[K] e^(-E[K] u).

    ``odds``, b, is rounded up, and everything below rises with it.
    """

    mean: float
    shape: float
    odds: float

    @classmethod
    def of(cls, mean: float, shape: float) -> Trials:
        """The law with this mean."""
        return cls(mean, shape, math.inf if math.isinf(shape) else math.expm1(_level_above(mean, shape)))

    def log_drop(self, beaten: Array) -> Array:
        """log of f'(1)/f'(1 - u), for u in [0, 1]: never negative, and rising with u."""
        if math.isinf(self.shape):
            return self.mean * beaten
        return (1.0 + self.shape) * np.log1p(self.odds * beaten)

    def drop_error(self, log_drop: Array) -> Array:
        """A bound on the absolute error of ``log_drop``, for u with an error of two roundings."""
        if math.isinf(self.shape):
            return 4.0 * ULP * log_drop
        return 4.0 * ULP * (log_drop + (1.0 + self.shape))

    def at_drops(self, log_drops: Array) -> Array:
        """The u at which ``log_drop`` has these values, as near as floats allow."""
        if math.isinf(self.shape):
            return log_drops / self.mean
        return np.expm1(log_drops / (1.0 + self.shape)) / self.odds

    def any_unlike(self, unlike: float) -> float:
        """1 - f(1 - u), rounded up: the probability that any of K runs differs, where each does with probability u."""
        if math.isinf(self.shape):
            value = -math.expm1(-self.mean * unlike)
        else:
            here, whole = math.log1p(self.odds * unlike), math.log1p(self.odds)
            if (
                abs(self.shape) * whole < 1e-8
            ):  # the ratio below tends to this, with a relative difference of half of that
                value = raised(here / whole, 1e-8)
            else:
                value = math.expm1(-self.shape * here) / math.expm1(-self.shape * whole)
        return min(raised(value, 16.0 * ULP), raised(self.mean * unlike, 2.0 * ULP), 1.0)


def mean_of(gamma: float, shape: float) -> float:
    """The mean of the truncated negative binomial law of shape eta > -1: eta (1/gamma - 1)/(1 - gamma^eta); 0 < gamma < 1."""
    return _mean(math.log(1.0 / gamma), shape)


def gamma_of(mean: float, shape: float) -> float:
    """The gamma in (0, 1] that gives a mean >= 1; 1 for the Poisson law, which has no such parameter."""
    return 1.0 if math.isinf(shape) or mean == 1.0 else math.exp(-_level(mean, shape))


def gamma_below(mean: float, shape: float) -> float:
    """The same, rounded down: the smaller gamma is, the more a search costs."""
    return 1.0 if math.isinf(shape) or mean == 1.0 else math.exp(-_level_above(mean, shape))


def _level_above(mean: float, shape: float) -> float:
    """-log gamma, rounded up."""
    try:
        return raised(_level(raised(mean, _MEAN_ERROR), shape), 4.0 * ULP)
    except InvalidInput:  # the mean itself is the largest that there is
        return _LARGEST_LEVEL


def _level(mean: float, shape: float) -> float:
    """-log gamma, in which the mean rises from 1."""
    low, high = 0.0, 1.0
    while _mean(high, shape) < mean:
        low, high = high, 2.0 * high
        if high > _LARGEST_LEVEL:
            raise InvalidInput(
                f"no truncated negative binomial law of shape {shape!r} has a mean as large as {mean!r} "
                "and a gamma that a float can hold; take a larger shape."
            )
    while high - low > 2e-16 * high:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _mean(middle, shape) < mean else (low, middle)
    return high


def _mean(level: float, shape: float) -> float:
    """The mean with gamma = e^-level; near shape 0, the logarithmic law, by the first terms of the series."""
    if abs(shape * level) < 1e-8:
        return math.expm1(level) / (level * (1.0 - 0.5 * shape * level))
    return shape * math.expm1(level) / -math.expm1(-shape * level)
