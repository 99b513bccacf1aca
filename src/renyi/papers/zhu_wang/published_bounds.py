"""Bounds of other papers, with which the papers compare their own.

None of them is used for accounting: the exact divergence (sampling/poisson/gaussian/renyi.py) is smaller and has no conditions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi import check
from renyi.errors import InvalidInput
from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log_expm1, log_sum_exp
from renyi.numerics.rounding import TINY

Array = NDArray[np.float64]

_EXACT = "renyi.divergence(Gaussian(noise).on(Poisson(rate)), order=order) is exact without conditions."


def abadi(order: int, *, rate: float, noise: float) -> float:
    """The moments bound of the first DP-SGD accountant, with the terms that its statement hides in O(...).

    Abadi et al. (2016), arXiv:1607.00133v2, Lemma 3 and its proof: q = ``rate``, sigma = ``noise``, lambda = alpha - 1. If
    sigma >= 1, q < 1/(16 sigma) and lambda <= sigma^2 log(1/(q sigma)), the divergence of order alpha of the sampled
    Gaussian is at most 1/lambda times the logarithm of

        1 + alpha lambda q^2/((1-q) sigma^2) + sum_{t=3..alpha} C(alpha,t) [
            (2q)^t (t-1)!! / (2 (1-q)^(t-1) sigma^t) + q^t / ((1-q)^t sigma^(2t))
            + (2q)^t e^((t^2-t)/(2 sigma^2)) (sigma^t (t-1)!! + t^t) / (2 (1-q)^(t-1) sigma^(2t)) ]

    It is for comparison only: the lemma states no constant for its remainder, and this sum, which spells out the steps of the
    proof, was an upper bound at every point that was tried. Returns the value of the formula, not raised by its rounding error.
    """
    order, rate, noise = check.whole(2, order=order), check.rate(rate=rate), check.nonnegative(noise=noise)
    if noise < 1.0:
        raise InvalidInput(f"the bound of Abadi et al. needs noise >= 1; got noise={noise!r}. {_EXACT}")
    if rate == 0.0:
        return 0.0
    if not rate * noise < 1.0 / 16.0:
        raise InvalidInput(
            f"the bound of Abadi et al. needs rate < 1/(16 noise); got rate={rate!r}, noise={noise!r}. {_EXACT}"
        )
    highest = 1.0 - noise * noise * (math.log(rate) + math.log(noise))
    if order > highest:
        raise InvalidInput(
            f"the bound of Abadi et al. needs order <= 1 + noise^2 log(1/(rate noise)) = {highest:.6g}; "
            f"got order={order}. {_EXACT}"
        )
    log_sigma, log_rest = math.log(noise), math.log1p(-rate)
    second = math.log(order) + math.log(order - 1.0) + 2.0 * (math.log(rate) - log_sigma) - log_rest
    t = np.arange(3.0, order + 1.0)
    log_weight = log_binomial_weight(order, t, rate) - (order - t) * log_rest  # log of C(alpha,t) q^t
    doubled = log_weight + (t - 1.0) * math.log(2.0) - (t - 1.0) * log_rest
    double_factorial = _log_double_factorial(t - 1.0)
    terms = [
        np.array([second]),
        doubled + double_factorial - t * log_sigma,
        log_weight - t * (log_rest + 2.0 * log_sigma),
        doubled
        + t * (t - 1.0) / (2.0 * noise * noise)
        + np.logaddexp(t * log_sigma + double_factorial, t * np.log(t))
        - 2.0 * t * log_sigma,
    ]
    return max(float(np.logaddexp(0.0, log_sum_exp(np.concatenate(terms)))) / (order - 1), TINY)


def bun(order: float, *, rate: float, noise: float) -> float:
    """6 q^2 alpha/sigma^2 with q = ``rate``, sigma = ``noise``: an upper bound for every real order 1 < alpha up to its limit.

    Bun, Dwork, Rothblum & Steinke (2018), "Composable and versatile privacy via truncated CDP", as restated by Mironov,
    Talwar & Zhang (2019), arXiv:1908.10530v1, Table 1, for samples of a fixed size and neighbours that replace one record.
    It needs q <= 1/10, sigma >= sqrt(5) and alpha <= (sigma^2/2) log(1/q). The value is not raised by its rounding error.
    """
    order, rate, noise = _order(order), check.rate(rate=rate), check.nonnegative(noise=noise)
    if rate > 0.1:
        raise InvalidInput(f"the bound of Bun et al. needs rate <= 1/10; got rate={rate!r}. {_EXACT}")
    if noise < math.sqrt(5.0):
        raise InvalidInput(f"the bound of Bun et al. needs noise >= sqrt(5); got noise={noise!r}. {_EXACT}")
    if rate == 0.0:
        return 0.0
    highest = -0.5 * noise * noise * math.log(rate)
    if order > highest:
        raise InvalidInput(
            f"the bound of Bun et al. needs order <= noise^2 log(1/rate) / 2 = {highest:.6g}; got order={order!r}. {_EXACT}"
        )
    return max(6.0 * order * (rate / noise) * (rate / noise), TINY)


def claim_24(order: float, *, rate: float, divergence: float) -> float:
    """Amplification by convexity alone: log(1 + r (e^((alpha-1) rho) - 1))/(alpha-1), an upper bound for every mechanism.

    "Great but Manageable Expectations", notes on Renyi differential privacy, part 2, Claim 24: lambda = alpha = ``order``, any
    real number above 1; r = ``rate``; rho = ``divergence`` of the unsampled mechanism at the same order. It holds for samples
    of the fixed size r n and neighbours that replace one record, and for Poisson samples of rate r. It is linear in r, so very
    loose.
    """
    order, rate, rho = _order(order), check.rate(rate=rate), check.nonnegative(divergence=divergence)
    if rate in (0.0, 1.0):
        return rate * rho
    log_excess = math.log(rate) + float(log_expm1((order - 1.0) * rho))
    return max(float(np.logaddexp(0.0, log_excess)) / (order - 1.0), TINY if rho > 0.0 else 0.0)


def _order(order: float) -> float:
    result = check.real("a finite number > 1", order=order)
    if result <= 1.0:
        raise InvalidInput(f"order must be a finite number > 1; got {order!r}.")
    return result


def _log_double_factorial(n: Array) -> Array:
    """log n!! for integers n >= 0: 2^(n/2) Gamma(n/2 + 1), times sqrt(2/pi) for odd n."""
    odd = np.where(n % 2.0 == 1.0, 0.5 * math.log(2.0 / math.pi), 0.0)
    return np.asarray(0.5 * n * math.log(2.0) + gammaln(0.5 * n + 1.0) + odd)
