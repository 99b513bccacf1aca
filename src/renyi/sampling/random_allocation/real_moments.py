"""Moments of a mean of independent likelihood ratios at real orders, between the integers.

Y = P/Q is the mean of L_1, ..., L_t, independent and of mean 1 under Q, and R(u) = E e^(-uY) - e^(-u) >= 0. For 1 <= a < 2,
with s = a - 1,

    (E Y^a - 1)/s = (1 + s)/Gamma(1 - s) integral over u > 0 of u^(-2-s) R(u) du,

because Y^a is 1/Gamma(-a) times the integral of u^(-a-1) (e^(-uY) - 1 + uY); s = 0 gives the Kullback-Leibler divergence. For
a > 2 and an integer m > a, the mean of the same kind of integral for Y^(m-(m-a)) is

    E Y^a = m!/Gamma(m - a) integral over u > 0 of u^(-a-1) Pr[N = m] du,      N a Poisson number of mean uY,

and N is the sum of t independent numbers, each Poisson of mean u L/t: its probabilities are coefficients of a t-th power. All
terms are positive. The integrals are trapezoidal sums in log u, which converge geometrically.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi.laws.ratio_law import RatioLaw
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.work import spend
from renyi.sampling.random_allocation.moments import AddMoments

Array = NDArray[np.float64]

LARGEST_REAL_ORDER = 32.0
"""Largest order that is computed; beyond it the chord between integers is at most 3e-4 above the truth, relatively."""

_SPACING = 2.0 * math.pi / 40.0
"""Distance of the points in log u: the alias Gamma(4 + 40i) is e^-46 of Gamma(4), 4 being the least m - a."""

_LOG_NEGLIGIBLE = 46.0
"""Minus the log of what is left out at the ends, relative to the moment."""

_ABSOLUTE_ERROR = 1e-12
"""Error of log E Y^a for a > 2, per factor of its products: the weights of a law are known to thirteen digits."""

_MOST_TERMS = 60_000_000
"""Nodes of the law times points times degrees; a law that needs more is left to the chord."""


class RealMoments:
    """D_a(P || Q) at real orders a from 1 to ``LARGEST_REAL_ORDER``, from the law of one step's ratio; infinite elsewhere."""

    def __init__(self, steps: int, law: Callable[[float], RatioLaw | None], log_square: float) -> None:
        self.steps, self._law, self._log_square = steps, law, log_square  # log E L^2
        self._rises = AddMoments(steps, law)

    def __call__(self, order: Array) -> Array:
        """From above, by its error, at each order."""
        result = np.full(order.shape, math.inf)
        for place in np.flatnonzero((order < 2.0) | ((order > 2.0) & (order <= LARGEST_REAL_ORDER))):
            a = float(order[place])
            result[place] = self._low(a - 1.0) if a < 2.0 else self._high(a)
        return result

    def _low(self, s: float) -> float:
        """At order 1 + s, 0 <= s < 1."""
        table = self._rises.table(1.0)
        if table is None or not math.isfinite(self._log_square):
            return math.inf
        log_u, log_rise = table
        first, spacing = float(log_u[0]), float(log_u[1] - log_u[0])
        # Before the first point R(u) <= V u^2/2 + u^3/6, V the variance of Y: the sum goes on as two geometric ones.
        log_variance = math.log(max(math.expm1(self._log_square), 1e-300) / self.steps)
        square = log_variance - math.log(2.0) + (1.0 - s) * first - math.log(math.expm1((1.0 - s) * spacing))
        cube = (2.0 - s) * first - math.log(6.0) - math.log(math.expm1((2.0 - s) * spacing))
        total = np.logaddexp(log_sum_exp(log_rise - (1.0 + s) * log_u), np.logaddexp(square, cube))
        log_mean = float(total) + math.log(spacing) + math.log1p(s) - float(gammaln(1.0 - s))
        return math.exp(log_mean) if s == 0.0 else float(np.logaddexp(0.0, math.log(s) + log_mean)) / s

    def _high(self, order: float) -> float:
        if self._counts is None:
            return math.inf
        log_u, log_count = self._counts
        most = math.ceil(order + 4.0)
        total = float(log_sum_exp(log_count[most] - order * log_u)) + math.log(_SPACING)
        log_moment = total + math.lgamma(most + 1.0) - math.lgamma(most - order)
        return max(log_moment + most * _ABSOLUTE_ERROR, 0.0) / (order - 1.0)

    @cached_property
    def _counts(self) -> tuple[Array, Array] | None:
        """log u and, by degree, the logs of the probabilities Pr[N = n]."""
        law = self._law(LARGEST_REAL_ORDER + 5.0)
        if law is None:
            return None
        most = math.ceil(LARGEST_REAL_ORDER + 4.0)
        top = max(float(np.max(law.log_ratio)) - math.log(self.steps), 0.0)
        low, high = -top - _LOG_NEGLIGIBLE / 4.0, (_LOG_NEGLIGIBLE + math.lgamma(7.0)) / 2.0
        log_u = _SPACING * np.arange(math.floor(low / _SPACING), math.ceil(high / _SPACING) + 1, dtype=np.float64)
        terms = log_u.size * law.log_ratio.size * (most + 1.0)
        if terms > _MOST_TERMS:
            return None
        spend(terms)
        log_v = log_u[:, None] - math.log(self.steps) + law.log_ratio
        mean = np.exp(np.minimum(log_v, 700.0))
        log_f = np.empty((most + 1, log_u.size))
        for k in range(most + 1):
            log_f[k] = log_sum_exp(law.log_weight + k * log_v - mean - math.lgamma(k + 1.0))
        return log_u, _log_power(log_f, self.steps, log_u, self._rises.log_first(log_u, law))


def _log_power(log_f: Array, steps: int, log_u: Array, log_first: Array) -> Array:
    """log of the coefficients of f^t, ``log_first`` that of degree 0."""
    degrees = log_f.shape[0]
    result = np.full(log_f.shape, -math.inf)
    if steps >= degrees:
        # g_n = sum over k of (k (t+1) - n)/n f_k/f_0 g_(n-k): positive terms, because t + 1 >= n.
        log_ratio = log_f - log_f[0]
        result[0] = log_first
        for n in range(1, degrees):
            k = np.arange(1.0, n + 1.0)[:, None]
            terms = np.log((k * (steps + 1.0) - n) / n) + log_ratio[1 : n + 1] + result[n - 1 :: -1][:n]
            result[n] = log_sum_exp(terms, axis=0)
        return result
    total = log_f
    for digit in f"{steps:b}"[1:]:
        total = _log_product(total, total)
        if digit == "1":
            total = _log_product(total, log_f)
    return total


def _log_product(first: Array, second: Array) -> Array:
    return np.stack([log_sum_exp(first[: n + 1] + second[n::-1], axis=0) for n in range(first.shape[0])])
