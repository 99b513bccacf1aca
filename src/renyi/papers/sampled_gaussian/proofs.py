"""The results behind Theorem 11 of Mironov, Talwar & Zhang (2019), arXiv:1908.10530v1: Theorem 5, Lemmas 6 and 8 to 10.

alpha = ``order``, q = ``rate``, sigma = ``noise``. Both sides of each inequality are returned, not raised by their rounding
error.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from renyi import check
from renyi.errors import InvalidInput
from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log_sum_exp
from renyi.papers.sampled_gaussian.mironov_talwar_zhang import largest_order
from renyi.papers.zhu_wang.zhu_wang import Sides


def theorem_5(order: float, *, rate: float, p: ArrayLike, q: ArrayLike) -> Sides:
    """D_alpha((1-q) Q + q P || Q) >= D_alpha(Q || (1-q) Q + q P) for laws exchanged by a measure-preserving map.

    On finitely many outcomes that means: every outcome (a, b) of ``p`` and ``q`` has a partner (b, a). (The printed condition,
    a map that is its own inverse, does not suffice.) Corollary 7 is the case of Gaussian noise: ``appendix_d`` of
    zhu_wang/proofs.py.
    """
    alpha, rate = _order(order), check.rate(rate=rate)
    first, second = np.array(check.probabilities(p=p)), np.array(check.probabilities(q=q))
    if first.shape != second.shape or (second == 0.0).any() or not _symmetric(first, second):
        raise InvalidInput(
            "Theorem 5 needs p and q that are exchanged by a permutation of the outcomes, all of positive probability; "
            f"got p={first.tolist()!r}, q={second.tolist()!r}. For others use renyi.divergence in each direction."
        )
    x = np.log1p(rate * (first - second) / second)
    removing = log_sum_exp(np.log(second) + alpha * x) / (alpha - 1.0)
    return Sides(float(removing), float(log_sum_exp(np.log(second) + (1.0 - alpha) * x) / (alpha - 1.0)))


def lemma_6(order: float, *, rate: float, u: float, v: float) -> Sides:
    """The inequality behind Theorem 5, for u, v > 0 (left >= right):

    v y^alpha + u z^alpha >= v y^(1-alpha) + u z^(1-alpha),     y = 1-q + q u/v,   z = 1-q + q v/u.
    """
    alpha, rate, u, v = _order(order), check.rate(rate=rate), _positive("u", u), _positive("v", v)
    y, z = 1.0 - rate + rate * u / v, 1.0 - rate + rate * v / u
    return Sides(v * y**alpha + u * z**alpha, v * y ** (1.0 - alpha) + u * z ** (1.0 - alpha))


def equation_3(order: float, *, w: float) -> Sides:
    """(1+w)^alpha <= 1 + alpha w + alpha (alpha-1) w^2 for -1 < w <= 1/(alpha-1) (Lemma 15 of Bun et al. 2018)."""
    alpha, w = _order(order), check.real(w=w)
    if not -1.0 < w <= (1.0 + 1e-15) / (alpha - 1.0):
        raise InvalidInput(
            f"the inequality needs -1 < w <= 1/(order - 1) = {1.0 / (alpha - 1.0):.6g}; got w={w!r}. Beyond it, it can fail."
        )
    return Sides((1.0 + w) ** alpha, 1.0 + alpha * w + alpha * (alpha - 1.0) * w * w)


def lemma_8(order: float, *, rate: float, x: float, y: float) -> Sides:
    """For 1/r0 <= x/y <= r0 = 1 + 1/(q (alpha-1)) (left <= right):

    x (1 + q (y-x)/x)^alpha + y (1 + q (x-y)/y)^alpha <= x + y + q^2 alpha (alpha-1) (x^2/y + y^2/x - x - y).
    """
    alpha, rate, x, y = _order(order), check.rate(rate=rate), _positive("x", x), _positive("y", y)
    highest = math.inf if rate == 0.0 else 1.0 + 1.0 / (rate * (alpha - 1.0))
    if max(x / y, y / x) > highest * (1.0 + 1e-15):
        raise InvalidInput(
            f"Lemma 8 needs x/y and y/x <= 1 + 1/(rate (order - 1)) = {highest:.6g}; got x={x!r}, y={y!r}. Lower the order."
        )
    left = x * (1.0 + rate * (y - x) / x) ** alpha + y * (1.0 + rate * (x - y) / y) ** alpha
    return Sides(left, x + y + rate * rate * alpha * (alpha - 1.0) * (x * x / y + y * y / x - x - y))


def lemma_9(order: int, *, rate: float, noise: float) -> Sides:
    """A^(1) <= 1 + q^2 alpha (alpha-1) (e^(1/sigma^2) - 1), without conditions; at integer orders, for 0 < q < 1.

    A^(1) is the part of the moment A = E (mu/mu_0)^alpha below z_0 = 1/2 + sigma^2 log(1 + 1/(q (alpha-1))).
    """
    below, _ = _parts(order, rate, noise)
    return Sides(below, 1.0 + rate * rate * order * (order - 1) * math.expm1(1.0 / (noise * noise)))


def lemma_10(order: int, *, rate: float, noise: float) -> Sides:
    """A^(2) <= 0.9 q^2 alpha (alpha-1)/sigma^2 for the part above z_0, under the conditions of Theorem 11."""
    highest = largest_order(rate=rate, noise=noise)
    if order > highest:
        raise InvalidInput(
            f"Lemma 10 needs an order <= {highest:.6g} at rate={rate!r}, noise={noise!r}, by conditions (4) and (5); "
            f"got order={order!r}. Lower the order."
        )
    _, above = _parts(order, rate, noise)
    return Sides(above, 0.9 * rate * rate * order * (order - 1) / (noise * noise))


def _parts(order: int, rate: float, noise: float) -> tuple[float, float]:
    """The two parts of the moment: sums of W_k e^(k (k-1)/(2 sigma^2)) times the normal probability of each side of z_0."""
    order, rate, noise = check.whole(2, order=order), check.rate(rate=rate), _positive("noise", noise)
    if not 0.0 < rate < 1.0:
        raise InvalidInput(f"the lemma is about rates between 0 and 1; got rate={rate!r}.")
    z0 = 0.5 + noise * noise * math.log1p(1.0 / (rate * (order - 1.0)))
    k = np.arange(order + 1.0)
    terms = log_binomial_weight(order, k, rate) + k * (k - 1.0) / (2.0 * noise * noise)
    below, above = (float(log_sum_exp(terms + log_ndtr(side * (z0 - k) / noise))) for side in (1.0, -1.0))
    return math.exp(min(below, 709.0)), math.exp(above) if above < 709.0 else math.inf


def _symmetric(p: np.ndarray, q: np.ndarray) -> bool:
    """Whether every outcome (a, b) has a partner (b, a), up to the rounding of normalised laws."""
    left = list(zip(q.tolist(), p.tolist(), strict=True))
    for a, b in zip(p.tolist(), q.tolist(), strict=True):
        partner = next((one for one in left if np.allclose(one, (a, b), rtol=1e-9, atol=0.0)), None)
        if partner is None:
            return False
        left.remove(partner)
    return True


def _positive(name: str, value: float) -> float:
    result = check.nonnegative(**{name: value})
    if result == 0.0:
        raise InvalidInput(f"{name} must be > 0; got 0.")
    return result


def _order(order: float) -> float:
    order = check.real("a finite number > 1", order=order)
    if order <= 1.0:
        raise InvalidInput(f"order must be a finite number > 1; got {order!r}.")
    return order
