"""Amplification by convexity alone; Claim 24 itself is in published_bounds.py.

"Great but Manageable Expectations", notes on Renyi differential privacy, part 2, Claim 25 and Example 4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from renyi import check
from renyi.errors import InvalidInput
from renyi.papers.zhu_wang.zhu_wang import Sides


def claim_25(order: float, *, p: ArrayLike, q: ArrayLike) -> Sides:
    """(sum p_i)^lambda / (sum q_i)^(lambda-1) <= sum p_i^lambda / q_i^(lambda-1) for real p_i >= 0 and q_i > 0.

    Printed for integers; lambda = ``order`` > 1 is any real number.
    """
    power = check.real("a finite number > 1", order=order)
    first, second = (check.array("a vector of numbers", **{name: x}) for name, x in (("p", p), ("q", q)))
    if power <= 1.0 or first.shape != second.shape or (first < 0.0).any() or (second <= 0.0).any():
        raise InvalidInput(
            "Claim 25 needs an order > 1 and two vectors of one length, p_i >= 0 and q_i > 0; "
            f"got order={order!r}, p={first.tolist()!r}, q={second.tolist()!r}."
        )
    left = math.fsum(first) ** power / math.fsum(second) ** (power - 1.0)
    return Sides(left, math.fsum(second * (first / second) ** power))


def example_4(order: float, *, rate: float, noise: float, bound: float) -> float:
    """r rho (e^a - 1)/a with rho = lambda/(2 sigma^2): Claim 24 for Gaussian noise, linear in the rate r.

    It needs (lambda - 1) rho <= a = ``bound``: only then is it O(r lambda/sigma^2). It is never below ``claim_24``.
    """
    order, rate = check.real("a finite number > 1", order=order), check.rate(rate=rate)
    noise, bound = check.nonnegative(noise=noise), check.nonnegative(bound=bound)
    if order <= 1.0 or noise == 0.0 or bound == 0.0:
        raise InvalidInput(f"Example 4 needs order > 1, noise > 0 and bound > 0; got {order!r}, {noise!r}, {bound!r}.")
    rho = 0.5 * order / noise / noise
    if (order - 1.0) * rho > bound:
        raise InvalidInput(
            f"Example 4 needs (order - 1) order/(2 noise^2) <= bound; got {(order - 1.0) * rho:.6g} > {bound!r}. "
            "Raise the bound or the noise, or lower the order; claim_24 needs no such condition."
        )
    return float(rate * rho * (np.expm1(bound) / bound))
