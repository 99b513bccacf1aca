"""The numbered results of Zhu & Wang (2019), "Poisson Subsampled Renyi Differential Privacy", PMLR 97, and its supplement.

Every theorem is about a mechanism on a Poisson sample and an integer order alpha = ``order``. gamma = ``rate`` is the
probability with which a record is drawn, and eps = ``curve`` maps a float64 array of integer orders >= 2 to upper bounds on the
divergence of the unsampled mechanism, in **both** directions. The returned number bounds the divergence of the sampled
mechanism, also in both directions. It is the value of the formula to about 12 digits (10 beyond an order of 1000), not raised
by its rounding error. The accountants use sampling/poisson/poisson.py, which is at least as sharp.

The weights W_l = C(alpha,l) gamma^l (1-gamma)^(alpha-l) sum to one, so each formula is the logarithm of one plus a sum of
positive terms: nothing cancels, and an answer of 1e-30 keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi import check
from renyi.errors import InvalidInput
from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log_expm1, log_sum_exp
from renyi.numerics.rounding import TINY
from renyi.papers.zhu_wang.binomial_block import log_block_excess
from renyi.sampling.poisson.general_bound import poisson_log_moment

Array = NDArray[np.float64]
Curve = Callable[[Array], Array]

_MONOTONE_SLACK = 1e-12
"""Relative amount by which rounding may make a curve fall without its being refused."""


class Sides(NamedTuple):
    """The two sides of an identity, or of an inequality left <= right unless the lemma says otherwise."""

    left: float
    right: float


def theorem_5(order: int, *, rate: float, curve: Curve) -> float:
    """The general bound with a factor 3: an upper bound for every mechanism, 1/(alpha-1) times the logarithm of

        (1-gamma)^(alpha-1) (alpha gamma - gamma + 1) + W_2 e^eps(2) + 3 sum_{l=3..alpha} W_l e^((l-1) eps(l))

    At rate 1 that is eps(alpha) + log(3)/(alpha-1) from order 3 on: the factor stays. ``theorem_6`` is sharper.
    """
    order, rate = check.whole(2, order=order), check.rate(rate=rate)
    if rate in (0.0, 1.0):
        return _unsampled(order, rate, curve, factor=3.0)
    ell = np.arange(2.0, order + 1.0)
    return _divergence(order, _log_terms(order, rate, ell, _values(curve, ell), factor=3.0))


def theorem_6(order: int, *, rate: float, curve: Curve) -> float:
    """The bound with coefficient 1, 1/(alpha-1) times the logarithm of

        sum_{l=0..alpha} W_l e^((l-1) eps(l))        (factor 1 at l = 0, 1)

    The paper shows that a mechanism whose pair attains eps(l) in the order (with the record, without it) costs no less:
    it is the exact divergence of Gaussian, Laplace and randomized response. docs/poisson-general-bound.md shows that no
    mechanism costs more, in either direction.
    """
    order, rate = check.whole(2, order=order), check.rate(rate=rate)
    if rate in (0.0, 1.0):
        return _unsampled(order, rate, curve, factor=1.0)
    return poisson_log_moment(order, rate=rate, curve=lambda ell: _values(curve, ell)) / (order - 1)


def theorem_8(order: int, *, rate: float, curve: Curve, condition_holds: bool) -> float:
    """The value of ``theorem_6``, as an upper bound for mechanisms that meet the paper's condition (4).

    The condition: E_Q (P/Q - 1)^l >= 0 at every odd l from 3 to alpha, for the laws P, Q of the unsampled output on every two
    neighbours, in both orders. Gaussian and Laplace meet it (Proposition 10), randomized response too. The caller
    vouches for it with ``condition_holds``. By docs/poisson-general-bound.md it is not needed; ``theorem_6`` does without it.
    """
    if not (isinstance(condition_holds, (bool, np.bool_)) and condition_holds):
        raise InvalidInput(
            "Theorem 8 needs its condition (4), E_Q (P/Q - 1)^l >= 0 at every odd l from 3 to the order, for every two "
            f"neighbours in both orders; got condition_holds={condition_holds!r}. Without it use theorem_6, whose bound is "
            "proved for every mechanism in docs/poisson-general-bound.md, or theorem_5."
        )
    return theorem_6(order, rate=rate, curve=curve)


def theorem_11(order: int, *, rate: float, tau: int, curve: Curve) -> float:
    """An upper bound on ``theorem_6`` from 2 tau values of a nondecreasing curve, for 2 <= tau <= alpha/2.

    The lowest and highest orders are kept, and the orders between them are raised to the largest of them:

        W_0 + W_1 + sum_{l=2..tau} W_l e^((l-1) eps(l)) + sum_{l=tau+1..alpha-tau} W_l e^((l-1) eps(alpha-tau))
            + sum_{l=alpha-tau+1..alpha} W_l e^((l-1) eps(l))

    The paper prints it with signs, by the binomial theorem; the positive form has the same value and keeps its digits.
    It equals ``theorem_6`` if alpha - 2 tau <= 1, because then no order is raised.
    """
    order, rate, tau = _tau_domain(order, rate, tau)
    return _tau_bound(order, rate=rate, tau=tau, top=tau, curve=curve, factor=1.0)


def theorem_11_appendix(order: int, *, rate: float, tau: int, curve: Curve) -> float:
    """Theorem 11 as the supplement proves it: every order above tau is raised to alpha. Never below ``theorem_11``.

    Takes tau values of the nondecreasing curve, at 2..tau and at alpha, for 2 <= tau <= alpha/2.
    """
    order, rate, tau = _tau_domain(order, rate, tau)
    return _tau_bound(order, rate=rate, tau=tau, top=0, curve=curve, factor=1.0)


def theorem_20(order: int, *, rate: float, tau: int, curve: Curve) -> float:
    """An upper bound on ``theorem_5`` from tau values of a nondecreasing curve, for 2 <= tau <= alpha (supplement):

        W_0 + W_1 + W_2 e^eps(2) + 3 sum_{l=3..tau} W_l e^((l-1) eps(l)) + 3 sum_{l>tau} W_l e^((l-1) eps(alpha))

    takes the place of the sum there, and equals it at tau = alpha.
    """
    order, rate, tau = check.whole(2, order=order), check.rate(rate=rate), check.whole(2, tau=tau)
    if tau > order:
        raise InvalidInput(f"Theorem 20 needs 2 <= tau <= order; got tau={tau}, order={order}. Lower tau.")
    return _tau_bound(order, rate=rate, tau=tau, top=0, curve=curve, factor=3.0)


def lemma_9(order: int, *, p: ArrayLike, q: ArrayLike) -> Sides:
    """An identity for pi = ``p``, mu = ``q`` and every n = ``order`` >= 1 (left = right):

    E_mu (pi/mu - 1)^n = E_pi (pi/mu - 1)^(n-1) - E_mu (pi/mu - 1)^(n-1).
    """
    n, pair = check.whole(1, order=order), _Pair.of(p, q)
    return Sides(pair.moment(n), pair.mean(lambda _, w: w ** (n - 1), under_p=True) - pair.moment(n - 1))


def lemma_13(order: int, *, p: ArrayLike, q: ArrayLike) -> Sides:
    """An identity for mu_1 = ``p``, mu_0 = ``q``, R = mu_1/mu_0 and l = ``order`` from 1 to 1000 (left = right; supplement):

    E_{mu_0} (2 - R)^l = E_{mu_0} R^l - 2 sum over odd j <= l of C(l,j) E_{mu_0} (R - 1)^j.
    """
    ell, pair = check.whole(1, order=order), _Pair.of(p, q)
    if ell > 1000:
        raise InvalidInput(
            f"lemma_13 adds up binomial coefficients, which overflow; got order={ell}. Pass at most 1000."
        )
    odd = [math.comb(ell, j) * pair.moment(j) for j in range(1, ell + 1, 2)]
    return Sides(pair.mean(lambda _, w: (1.0 - w) ** ell), pair.mean(lambda r, _: r**ell) - 2.0 * math.fsum(odd))


def lemma_14(order: int, *, p: ArrayLike, q: ArrayLike) -> Sides:
    """An inequality for mu_1 = ``p``, mu_0 = ``q``, R = mu_1/mu_0 and every l = ``order`` >= 2 (left <= right; supplement):

    E_{mu_0} (2 - R)^l <= e^(l eps(l+1)) for odd l, <= e^((l-1) eps(l)) + e^(l eps(l+1)) for even l,
    where eps(l) is the larger of the pair's two divergences of order l.
    """
    ell, pair = check.whole(2, order=order), _Pair.of(p, q)
    right = pair.larger_moment(ell + 1) + (pair.larger_moment(ell) if ell % 2 == 0 else 0.0)
    return Sides(pair.mean(lambda _, w: (1.0 - w) ** ell), right)


def lemma_15(order: int, *, p: ArrayLike, q: ArrayLike) -> Sides:
    """An inequality for mu_1 = ``p``, mu_0 = ``q``, R = mu_1/mu_0 and every l = ``order`` >= 2 (left <= right; supplement):

    E_{mu_0} (2 - R)^l <= c e^((l-1) eps(l)) with c = 2 for odd l and c = 3 for even l,
    where eps(l) is the larger of the pair's two divergences of order l. From here comes the factor 3 of Theorem 5.
    """
    ell, pair = check.whole(2, order=order), _Pair.of(p, q)
    factor = 3.0 if ell % 2 == 0 else 2.0
    return Sides(pair.mean(lambda _, w: (1.0 - w) ** ell), factor * pair.larger_moment(ell))


def lemma_16(order: int, *, p: ArrayLike, q: ArrayLike) -> Sides:
    """An inequality for pi = ``p``, mu = ``q`` and every odd n = ``order`` >= 3 (left >= right; supplement):

    E_mu (pi/mu)^2 (pi/mu - 1)^(n-2) >= E_mu (pi/mu - 1)^(n-2).
    """
    n, pair = check.whole(3, order=order), _Pair.of(p, q)
    if n % 2 == 0:
        raise InvalidInput(
            f"Lemma 16 needs an odd order >= 3; got order={n}. At even orders it can fail; pass {n + 1}."
        )
    return Sides(pair.mean(lambda r, w: r * r * w ** (n - 2)), pair.moment(n - 2))


class _Pair(NamedTuple):
    """Two laws on finitely many outcomes, the first absolutely continuous with respect to the second."""

    p: Array
    q: Array

    @classmethod
    def of(cls, p: ArrayLike, q: ArrayLike) -> _Pair:
        first, second = np.array(check.probabilities(p=p)), np.array(check.probabilities(q=q))
        if first.shape != second.shape:
            raise InvalidInput(
                f"p and q must list the same outcomes; got {first.size} and {second.size} probabilities. Pad with zeros."
            )
        if (first[second == 0.0] > 0.0).any():
            raise InvalidInput("the lemmas need p/q to be finite; got an outcome with p > 0 and q = 0. Leave it out.")
        return cls(first[second > 0.0], second[second > 0.0])

    def mean(self, function: Callable[[Array, Array], Array], *, under_p: bool = False) -> float:
        """The expectation under q (or p) of a function of r = p/q and w = p/q - 1; the sum itself is correctly rounded."""
        with np.errstate(over="ignore", invalid="ignore"):
            products = (self.p if under_p else self.q) * function(self.p / self.q, (self.p - self.q) / self.q)
            size = np.sum(np.abs(products))
        if not np.isfinite(size):
            raise InvalidInput(
                "a moment of p/q overflows; pass a smaller order, or laws that are closer to each other."
            )
        return math.fsum(products)

    def moment(self, n: int) -> float:
        """E_q (p/q - 1)^n."""
        return self.mean(lambda _, w: w**n)

    def larger_moment(self, order: int) -> float:
        """e^((k-1) eps(k)) for k = ``order``: the larger of E_q (p/q)^k and E_p (q/p)^k."""
        with np.errstate(over="ignore", divide="ignore"):
            forward = float(np.sum(self.q * (self.p / self.q) ** order))
            return max(forward, float(np.sum(self.q * (self.q / self.p) ** (order - 1))))


def _tau_domain(order: int, rate: float, tau: int) -> tuple[int, float, int]:
    order, rate, tau = check.whole(2, order=order), check.rate(rate=rate), check.whole(2, tau=tau)
    if 2 * tau > order:
        raise InvalidInput(
            f"Theorem 11 needs 2 <= tau <= order/2; got tau={tau}, order={order}. "
            "Lower tau, or use theorem_6, which evaluates the curve at every order."
        )
    return order, rate, tau


def _tau_bound(order: int, *, rate: float, tau: int, top: int, curve: Curve, factor: float) -> float:
    """The bound with orders 2..tau and the ``top`` highest kept, and those between raised to the order alpha - top."""
    if rate in (0.0, 1.0):
        return _unsampled(order, rate, curve, factor)
    ell = np.concatenate([np.arange(2.0, tau + 1.0), np.arange(float(order - top), order + 1.0)])
    values = _values(curve, ell)
    if (values[1:] < values[:-1] * (1.0 - _MONOTONE_SLACK)).any():
        at = int(np.argmax(values[1:] < values[:-1] * (1.0 - _MONOTONE_SLACK)))
        raise InvalidInput(
            f"the bounds with tau need a curve that never falls; got {values[at]!r} at order {ell[at]:.0f} and "
            f"{values[at + 1]!r} at order {ell[at + 1]:.0f}. A Renyi divergence rises with its order: take the running "
            "minimum of the curve from the right, or use theorem_6."
        )
    raised_to = tau - 1  # the index of alpha - top in ``ell``
    kept = np.delete(np.arange(ell.size), raised_to)
    block = log_block_excess(  # empty if alpha - top is already among 2..tau
        order, rate=rate, first=tau + 1, last=order - top, slope=float(values[raised_to]), offset=math.log(factor)
    )
    terms = _log_terms(order, rate, ell[kept], values[kept], factor)
    return _divergence(order, np.append(terms, block))


def _log_terms(order: int, rate: float, ell: Array, values: Array, factor: float) -> Array:
    """log of W_l (c e^((l-1) eps(l)) - 1), c = ``factor`` from l = 3 on."""
    offset = np.where(ell >= 3.0, math.log(factor), 0.0)
    return log_binomial_weight(order, ell, rate) + log_expm1((ell - 1.0) * values + offset)


def _divergence(order: int, log_terms: Array) -> float:
    """log(1 + sum of the terms)/(alpha-1); a positive value never underflows to 0."""
    log_excess = float(log_sum_exp(log_terms))
    return max(float(np.logaddexp(0.0, log_excess)) / (order - 1), TINY if log_excess > -math.inf else 0.0)


def _unsampled(order: int, rate: float, curve: Curve, factor: float) -> float:
    """The bound at rate 0, where nobody is drawn, and at rate 1, where only the term l = alpha is left."""
    if rate == 0.0:
        return 0.0
    return float(_values(curve, np.array([float(order)]))[0]) + (math.log(factor) if order >= 3 else 0.0) / (order - 1)


def _values(curve: Curve, ell: Array) -> Array:
    """The curve at these orders, as one nonnegative number for each."""
    possible = "a function from an array of orders to one divergence >= 0 for each"
    if not callable(curve):
        raise InvalidInput(f"curve must be {possible}; got {curve!r} of type {type(curve).__name__}.")
    values = check.array(possible, curve=curve(ell))
    if values.shape != ell.shape or (values < 0.0).any():
        raise InvalidInput(f"curve must be {possible}; got {values!r} for the orders {ell!r}.")
    return values
