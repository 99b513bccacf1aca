"""Equations of the supplement on which the proofs of Zhu & Wang (2019), PMLR 97, rest, beside the lemmas in zhu_wang.py.

gamma = ``rate`` is the probability with which a record is drawn, alpha = ``order``; mu_1 and mu_0 are the laws of the unsampled
output with the record and without it, R = mu_1/mu_0, mu = (1-gamma) mu_0 + gamma mu_1. Values are not raised by their rounding
error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from renyi import check
from renyi.errors import InvalidInput
from renyi.papers.zhu_wang.zhu_wang import Sides
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_add, sampled_gaussian_remove


class Moments(NamedTuple):
    """log E_1 and log E_2 of appendix D."""

    log_e1: float
    log_e2: float


def equation_5(*, rate: float, epsilon: float = math.inf) -> float:
    """-log(1 - gamma (1 - e^-epsilon)): the divergence of every order, adding a record, if the mechanism is epsilon-DP.

    Equation (5) itself, -log(1 - gamma), is the case epsilon = inf of a mechanism about which nothing is known.
    """
    rate = check.rate(rate=rate)
    kept = 1.0 if epsilon == math.inf else -math.expm1(-check.epsilon(epsilon=epsilon))
    return math.inf if rate * kept == 1.0 else -math.log1p(-rate * kept)


def equation_7(order: int, *, rate: float, p: ArrayLike, q: ArrayLike) -> Sides:
    """The decomposition that bounds the adding direction, for mu_1 = ``p`` and mu_0 = ``q`` (left <= right):

        E_{mu_0} (1-gamma + gamma R)^(1-alpha)
            <= gamma E_{mu_1} (1-gamma + gamma/R)^alpha + (1-gamma) E_{mu_0} (1+gamma - gamma R)^alpha

    It is true for even alpha, and for odd alpha if R <= (1+gamma)/gamma everywhere. Otherwise it can be false, and the printed
    proof of Theorem 5 with it; the theorem still holds, by docs/poisson-general-bound.md.
    """
    alpha, rate = check.whole(2, order=order), check.rate(rate=rate)
    first, second = _laws(p, q)
    ratio = first / second
    if alpha % 2 == 1 and float(np.max(ratio)) * rate > 1.0 + rate:
        raise InvalidInput(
            f"inequality (7) needs an even order, or p/q <= (1 + rate)/rate = {(1.0 + rate) / rate:.6g}; got order={alpha} and "
            f"p/q = {float(np.max(ratio)):.6g}. It can be false there; theorem_6 is the bound that holds at every order."
        )
    left = float(np.sum(second * (1.0 - rate + rate * ratio) ** (1 - alpha)))
    drawn = float(np.sum(first * (1.0 - rate + rate / ratio) ** alpha))
    return Sides(left, rate * drawn + (1.0 - rate) * float(np.sum(second * (1.0 + rate - rate * ratio) ** alpha)))


def appendix_d(order: float, *, rate: float, noise: float) -> Moments:
    """E_1 = E_mu (mu_0/mu)^alpha and E_2 = E_{mu_0} (mu/mu_0)^alpha of Gaussian noise, by integration, for 0 < gamma < 1.

    The larger of them is e^((alpha-1) D). E_2 is never the smaller, so E_1 is not needed.
    """
    order, rate = check.real("a finite number > 1", order=order), check.rate(rate=rate)
    noise = check.nonnegative(noise=noise)
    if order <= 1.0 or not 0.0 < rate < 1.0 or noise == 0.0:
        raise InvalidInput(
            f"appendix D is about orders > 1, rates between 0 and 1 and noise > 0; got {order!r}, {rate!r}, {noise!r}."
        )
    at = np.array([order])
    add, remove = (
        float(divergence(at, rate=rate, noise=noise)[0])
        for divergence in (sampled_gaussian_add, sampled_gaussian_remove)
    )
    return Moments((order - 1.0) * add, (order - 1.0) * remove)


def _laws(p: ArrayLike, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.array(check.probabilities(p=p)), np.array(check.probabilities(q=q))
    if first.shape != second.shape or (first == 0.0).any() or (second == 0.0).any():
        raise InvalidInput(
            f"p and q must give every outcome a positive probability; got {first.size} and {second.size} of them. "
            "Leave out what neither produces."
        )
    return first, second
