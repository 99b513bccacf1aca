"""Chernoff's bound on the privacy loss: from the moments of the loss to (epsilon, delta).

"Great but Manageable Expectations", notes on Renyi differential privacy, part 2, Claims 20, 21 and 23, Examples 2 and 3, with
the misprints of Claim 21.2 and Example 2 corrected. With kappa(t) = t D_(t+1) the logarithm of the moment E e^(tL) of the loss,

    delta <= exp(-kappa*(epsilon)),        kappa*(epsilon) = sup over t > 0 of (epsilon t - kappa(t)).

This is loose, because it bounds the probability that the loss exceeds epsilon, of which delta is only a part; the conversion in
laws/conversion.py is never larger. Every number is raised by its rounding error.
"""

from __future__ import annotations

import math

import numpy as np

from renyi import check
from renyi.errors import InvalidInput
from renyi.laws.conversion import classic_log_delta
from renyi.laws.curves.curve import RenyiCurve
from renyi.numerics.roots.minimise import bracket, minimise
from renyi.numerics.rounding import ULP, raised

_SMALLEST_POSITIVE = 5e-324
"""The smallest positive float: a bound that underflows is raised to it, because 0 would be a false claim."""


def chernoff_delta(curve: RenyiCurve, *, epsilon: float, count: int = 1) -> float:
    """exp(-k kappa*(epsilon/k)) for ``count`` = k releases with this Renyi curve, at the best order, found by search.

    Claims 20 and 21.2 for k = 1, Claim 23 for k > 1; the curve's failure mass must be 0.
    """
    epsilon, count = check.epsilon(epsilon=epsilon), check.count(count=count)
    if curve.mass > 0.0:
        raise InvalidInput(
            f"Chernoff's bound needs a loss that is finite; got a curve with the failure mass {curve.mass!r}. "
            "Use an accountant, which carries the mass beside the curve."
        )
    if count == 0:
        return 0.0
    total = curve * count
    seen: dict[float, float] = {}

    def log_delta(s: float) -> float:
        # The last term covers the rounding of s epsilon and s D, which may both be large.
        if s not in seen:
            seen[s] = classic_log_delta(1.0 + s, total.at(1.0 + s), epsilon) + 8.0 * ULP * s * (epsilon + 1.0)
        return min(seen[s], 1e300)

    largest = min(1e9, total.max_order - 1.0)
    low, high = bracket(
        lambda s: np.array([log_delta(float(one)) for one in s]),
        guess=min(1.0, largest),
        smallest=1e-9,
        largest=largest,
    )
    minimise(log_delta, low, high, 1e-9)
    return _exponential(min(seen.values()))


def gaussian_chernoff_delta(*, noise: float, epsilon: float, count: int = 1) -> float:
    """exp(-(k/2) (epsilon sigma/k - 1/(2 sigma))^2) for k = ``count`` Gaussian releases with sigma = ``noise``; 1 where
    epsilon <= k/(2 sigma^2).

    Example 2 (and part 1's equation (6.8) and Claim 8) for k = 1, Example 3 for k > 1: ``chernoff_delta`` in closed form.
    """
    noise, epsilon, count = _positive(noise), check.epsilon(epsilon=epsilon), check.count(count=count)
    if count == 0:
        return 0.0
    sigma = noise / math.sqrt(count)
    root = epsilon * sigma - 0.5 / sigma
    if root <= 0.0:
        return 1.0
    return _exponential(-0.5 * root * root + 8.0 * ULP * root * (epsilon * sigma + 0.5 / sigma))


def gaussian_chernoff_order(*, noise: float, epsilon: float) -> float:
    """The order 1/2 + epsilon sigma^2 at which Example 2 attains its infimum; needs epsilon > 1/(2 sigma^2).

    (Printed as (1 + 2 epsilon/sigma^2)/2, which may lie below 1.)
    """
    noise, epsilon = _positive(noise), check.epsilon(epsilon=epsilon)
    order = 0.5 + epsilon * noise * noise
    if order <= 1.0:
        raise InvalidInput(
            f"the infimum lies at an order above 1 only if epsilon > 1/(2 noise^2) = {0.5 / noise / noise:.6g}; "
            f"got epsilon={epsilon!r}. Raise epsilon or the noise; below it Chernoff's bound is 1."
        )
    return order


def sufficient_noise(*, epsilon: float, delta: float, count: int = 1) -> float:
    """sqrt(k) (sqrt(2 log(1/delta))/epsilon + 1/sqrt(2 epsilon)): noise that suffices for k = ``count`` Gaussian releases.

    Example 3, and part 1's equation (6.81) and Claim 9 for k = 1. Never below ``chernoff_noise``.
    """
    epsilon, delta, count = _target(epsilon, delta, count)
    spread = math.sqrt(-2.0 * math.log(delta))
    return raised(math.sqrt(count) * (spread / epsilon + 1.0 / math.sqrt(2.0 * epsilon)), 8.0 * ULP)


def chernoff_noise(*, epsilon: float, delta: float, count: int = 1) -> float:
    """sqrt(k) (s + sqrt(s^2 + 2 epsilon))/(2 epsilon), s = sqrt(2 log(1/delta)): the least noise for which
    ``gaussian_chernoff_delta`` is at most delta.
    """
    epsilon, delta, count = _target(epsilon, delta, count)
    spread = math.sqrt(-2.0 * math.log(delta))
    return raised(
        math.sqrt(count) * (spread + math.hypot(spread, math.sqrt(2.0 * epsilon))) / (2.0 * epsilon), 8.0 * ULP
    )


def _target(epsilon: float, delta: float, count: int) -> tuple[float, float, int]:
    epsilon, delta, count = check.epsilon(epsilon=epsilon), check.delta(delta=delta), check.count(count=count)
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value == 0.0:
            raise InvalidInput(f"Gaussian noise needs {name} > 0; got 0. No finite noise is enough for it.")
    return epsilon, delta, count


def _positive(noise: float) -> float:
    noise = check.nonnegative(noise=noise)
    if noise == 0.0:
        raise InvalidInput("noise must be > 0; got 0. Without noise no epsilon holds.")
    return noise


def _exponential(log_value: float) -> float:
    """e^x rounded up and at most 1; a bound that underflows does not become 0."""
    return 1.0 if log_value >= 0.0 else max(raised(math.exp(log_value), 2.0 * ULP * -log_value), _SMALLEST_POSITIVE)
