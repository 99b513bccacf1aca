"""Concentrated differential privacy in its variants: what one notion implies for another, one function per theorem.

With D_alpha the Renyi divergence of order alpha, the larger of both directions, and c = log(P/Q) the loss under P:

    (alpha, eps)-RDP      D_alpha <= eps
    (xi, rho)-zCDP        D_alpha <= xi + rho alpha  for every alpha > 1        (xi = 0: rho-zCDP)
    (rho, omega)-tCDP     D_alpha <= rho alpha       for 1 < alpha < omega
    (mu, tau)-CDP         E c <= mu and E e^(t (c - E c)) <= e^(t^2 tau^2/2)  for every real t

Mironov, Talwar & Zhang (2019), arXiv:1908.10530v1, Definition 12, with two misprints corrected: the moments of (mu, tau)-CDP
are those of the *centred* loss, and tCDP bounds the moments E e^(t c) up to t = omega - 1. Every number is raised by its
rounding error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from renyi import check
from renyi.errors import InvalidInput
from renyi.numerics.rounding import ULP, raised


class ZeroConcentrated(NamedTuple):
    """(xi, rho)-zCDP."""

    xi: float
    rho: float


class Concentrated(NamedTuple):
    """(mu, tau)-CDP."""

    mu: float
    tau: float


def pure_to_zcdp(*, epsilon: float) -> ZeroConcentrated:
    """epsilon-DP implies epsilon^2/2-zCDP: Bun & Steinke (2016), arXiv:1605.02065v1, Proposition 1.4."""
    epsilon = check.epsilon(epsilon=epsilon)
    return ZeroConcentrated(0.0, raised(0.5 * epsilon * epsilon, ULP))


def gaussian_to_zcdp(*, noise: float) -> ZeroConcentrated:
    """Gaussian noise is 1/(2 sigma^2)-zCDP, exactly: Bun & Steinke (2016), arXiv:1605.02065v1, Proposition 1.6."""
    noise = _positive("noise", noise)
    return ZeroConcentrated(0.0, raised(0.5 / noise / noise, 2.0 * ULP))


def gaussian_to_cdp(*, noise: float) -> Concentrated:
    """Gaussian noise is (1/(2 sigma^2), 1/sigma)-CDP, exactly: Dwork & Rothblum (2016), arXiv:1603.01887v2, Theorem 3.2."""
    noise = _positive("noise", noise)
    return Concentrated(raised(0.5 / noise / noise, 2.0 * ULP), raised(1.0 / noise, ULP))


def cdp_to_zcdp(*, mu: float, tau: float) -> ZeroConcentrated:
    """(mu, tau)-CDP implies (mu - tau^2/2, tau^2/2)-zCDP: Bun & Steinke (2016), arXiv:1605.02065v1, Lemma 4.2.

    log E e^(tc) <= t mu + t^2 tau^2/2 = t ((mu - tau^2/2) + (t+1) tau^2/2). The offset xi may be negative.
    """
    mu, tau = check.nonnegative(mu=mu), check.nonnegative(tau=tau)
    half = 0.5 * tau * tau
    return ZeroConcentrated(mu - half + 4.0 * ULP * (mu + half), raised(half, ULP))


def cdp_to_epsilon(*, mu: float, tau: float, delta: float) -> float:
    """mu + tau sqrt(2 log(1/delta)), the tail of a subgaussian loss: Dwork & Rothblum (2016), arXiv:1603.01887v2."""
    mu, tau, delta = check.nonnegative(mu=mu), check.nonnegative(tau=tau), _positive_delta(delta)
    return raised(mu + tau * math.sqrt(-2.0 * math.log(delta)), 4.0 * ULP)


def zcdp_to_epsilon(*, rho: float, xi: float = 0.0, delta: float) -> float:
    """xi + rho + 2 sqrt(rho log(1/delta)): Bun & Steinke (2016), arXiv:1605.02065v1, Lemma 3.5.

    The classic conversion at its best order 1 + sqrt(log(1/delta)/rho); ``Rdp`` converts better.
    """
    rho, xi, delta = check.nonnegative(rho=rho), check.real(xi=xi), _positive_delta(delta)
    value = rho + 2.0 * math.sqrt(rho * -math.log(delta))
    return max(xi + value + 8.0 * ULP * (abs(xi) + value), 0.0)


def zcdp_to_delta(*, rho: float, xi: float = 0.0, epsilon: float) -> float:
    """exp(-(epsilon - xi - rho)^2/(4 rho)), the inverse of ``zcdp_to_epsilon``; 1 if epsilon <= xi + rho."""
    rho, xi, epsilon = check.nonnegative(rho=rho), check.real(xi=xi), check.epsilon(epsilon=epsilon)
    gap = epsilon - xi - rho
    if rho == 0.0:
        return 0.0 if gap >= 0.0 else 1.0
    if gap <= 0.0:
        return 1.0
    root = gap / (2.0 * math.sqrt(rho))
    error = 8.0 * ULP * root * (epsilon + abs(xi) + rho) / math.sqrt(rho) + 4.0 * ULP
    return min(max(math.exp(min(error - root * root, 0.0)), 5e-324), 1.0)


def zcdp_to_divergence(order: float, *, rho: float, xi: float = 0.0) -> float:
    """(xi, rho)-zCDP is (alpha, xi + rho alpha)-RDP, by definition."""
    order, rho, xi = _order(order), check.nonnegative(rho=rho), check.real(xi=xi)
    return max(xi + rho * order + 4.0 * ULP * (abs(xi) + rho * order), 0.0)


def pure_to_divergence(order: float, *, epsilon: float) -> float:
    """min(epsilon, alpha epsilon^2/2): what the level itself and zCDP imply at the order alpha.

    Randomized response attains less: log(cosh((alpha - 1/2) epsilon)/cosh(epsilon/2))/(alpha - 1), the curve of ``PureDP``.
    """
    return min(check.epsilon(epsilon=epsilon), zcdp_to_divergence(order, rho=pure_to_zcdp(epsilon=epsilon).rho))


def tcdp_to_epsilon(*, rho: float, omega: float, delta: float) -> float:
    """rho + 2 sqrt(rho log(1/delta)) if the best order is below omega, else rho omega + log(1/delta)/(omega - 1).

    Bun, Dwork, Rothblum & Steinke (2018), STOC, Lemma 6: the best order is below omega if log(1/delta) <= (omega - 1)^2 rho.
    """
    rho, delta = check.nonnegative(rho=rho), _positive_delta(delta)
    omega = check.real("a finite number > 1", omega=omega)
    if omega <= 1.0:
        raise InvalidInput(
            f"omega must be above 1, because the bound holds for orders between 1 and omega; got {omega!r}."
        )
    log_inverse = -math.log(delta)
    if log_inverse <= (omega - 1.0) ** 2 * rho:
        return zcdp_to_epsilon(rho=rho, delta=delta)
    return raised(rho * omega + log_inverse / (omega - 1.0), 8.0 * ULP)


def loss_moment(order: float, *, p: ArrayLike, q: ArrayLike) -> float:
    """M_alpha = E_P e^(alpha c) of the loss c = log(P/Q): it is e^(alpha D_(alpha+1)(P || Q)).

    Mironov, Talwar & Zhang (2019), equations (13) and (14), the latter printed with P and Q exchanged. For laws ``p`` and
    ``q`` on finitely many outcomes and any real alpha; infinite if P has an outcome that Q cannot produce.
    """
    alpha = check.real(order=order)
    first, second = np.array(check.probabilities(p=p)), np.array(check.probabilities(q=q))
    if first.shape != second.shape:
        raise InvalidInput(f"p and q must list the same outcomes; got {first.size} and {second.size} probabilities.")
    kept = first > 0.0
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.sum(first[kept] * np.exp(alpha * (np.log(first[kept]) - np.log(second[kept])))))


def _positive(name: str, value: float) -> float:
    result = check.nonnegative(**{name: value})
    if result == 0.0:
        raise InvalidInput(f"{name} must be > 0; got 0. Without noise no notion holds.")
    return result


def _positive_delta(delta: float) -> float:
    delta = check.delta(delta=delta)
    if delta == 0.0:
        raise InvalidInput("a concentrated loss is unbounded, so delta must be > 0; got 0.")
    return delta


def _order(order: float) -> float:
    order = check.real("a finite number > 1", order=order)
    if order <= 1.0:
        raise InvalidInput(f"order must be a finite number > 1; got {order!r}.")
    return order
