"""The results of Mironov, Talwar & Zhang (2019), "Renyi Differential Privacy of the Sampled Gaussian Mechanism".

arXiv:1908.10530v1. Throughout alpha = ``order``, any real number above 1, q = ``rate`` and sigma = ``noise``: the
standard deviation of the noise in units of the largest contribution of one record. The accountants use the exact
divergence of sampling/poisson/gaussian/renyi.py instead.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext

import numpy as np

from renyi import check
from renyi.errors import ConvergenceError, InvalidInput
from renyi.numerics.rounding import TINY
from renyi.papers.sampled_gaussian.decimal_erfcx import erfcx

_ACCURACY = Decimal("1e-15")
"""Relative error of A - 1, and hence of the divergence, at which the series stops."""

_MOST_DIGITS = 400
"""Decimal digits that are tried; a divergence that needs more is left to the exact integral."""

_HIGHEST_ORDER = 5000.0
"""Order up to which the series, which has at least as many terms, is summed."""

_LARGEST_EXPONENT = 1e12
"""Largest exponent in a term: each power of ten costs a further decimal digit."""

_EXACT = "renyi.divergence(Gaussian(noise).on(Poisson(rate)), order=order) is exact without conditions."


def theorem_11(order: float, *, rate: float, noise: float) -> float:
    """2 q^2 alpha/sigma^2: an upper bound in both directions, about four times the truth where sigma is large.

    With L = log(1 + 1/(q (alpha-1))) it needs q <= 1/5, sigma >= 4 and

        1 < alpha <= sigma^2 L/2 - 2 log sigma,
        alpha <= (sigma^2 L^2/2 - log 5 - 2 log sigma) / (L + log(q alpha) + 1/(2 sigma^2)).

    ``largest_order`` is the largest order that meets them. Returns the value of the formula, not raised by its rounding error.
    """
    order = _order(order)
    rate, noise = _domain(rate, noise)
    if rate == 0.0:
        return 0.0
    if not _admitted(order, rate, noise):
        raise InvalidInput(
            f"Theorem 11 needs an order <= {largest_order(rate=rate, noise=noise):.10g} at rate={rate!r}, noise={noise!r}, "
            f"by its two conditions on the order; got order={order!r}. Lower the order; {_EXACT}"
        )
    return max(2.0 * order * (rate / noise) * (rate / noise), TINY)


def largest_order(*, rate: float, noise: float) -> float:
    """The largest order that ``theorem_11`` admits, by bisection to the last digit; infinite at rate 0.

    The admitted orders form an interval. Both conditions hold near 1. The slack of the first falls as alpha grows, because L
    falls. Where it holds, sigma^2 L > 2, and then the slack of the second, sigma^2 L^2/2 - log 5 - 2 log sigma minus alpha
    (log((1+t)(1+qt)/t) + 1/(2 sigma^2)) with t = alpha - 1, falls too: its derivative is negative term by term except for
    1/(t(1+qt)), which is less than half of sigma^2 L/(t(1+qt)).
    """
    rate, noise = _domain(rate, noise)
    if rate == 0.0:
        return math.inf
    low, high = 1.0, 2.0
    while _admitted(high, rate, noise):
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if _admitted(middle, rate, noise) else (low, middle)
    return low


def erfc_series(order: float, *, rate: float, noise: float) -> float:
    """The divergence of the sampled Gaussian (removing a record) by the paper's series for fractional orders, section 3.3.

    The integral of (mixture/N(0, sigma^2))^alpha is cut at z1 = 1/2 + sigma^2 log(1/q - 1), where the two parts of the
    mixture are equal, and the binomial series is used on either side. The powers of q and 1-q cancel against the
    exponentials, and with erfcx(x) = e^(x^2) erfc(x) and C(alpha,k) the binomial coefficient of the real number alpha

        A = (1-q)^alpha e^(-z1^2/(2 sigma^2)) / 2 * sum_{k>=0} C(alpha,k) [ erfcx((k - z1)/(sqrt(2) sigma))
                                                                    + erfcx((k - alpha + z1)/(sqrt(2) sigma)) ],

    and the divergence is log(A)/(alpha-1). The series is exact; it is summed in as many decimal digits as it takes for A - 1 to
    be good to 15, so the answer is good to the last digits of a float, however small it is. Beyond k = alpha the terms
    alternate and fall slowly, but they are the moments of a positive measure on [0, 1] (those of C(alpha,k) and of erfcx both
    are), so n terms accelerated by Algorithm 1 of Cohen, Rodriguez Villegas & Zagier (2000) err by at most the first one times
    2 (3 + sqrt 8)^-n.
    """
    order = _order(order)
    rate, noise = check.rate(rate=rate), check.nonnegative(noise=noise)
    if noise == 0.0:
        raise InvalidInput("erfc_series needs noise > 0; got 0. Without noise the divergence is infinite.")
    if rate in (0.0, 1.0):
        return rate * (0.5 * order / noise / noise)
    reach = noise * abs(math.log1p(-rate) - math.log(rate)) + (order + 0.5) / noise
    exponent = reach * reach
    if order > _HIGHEST_ORDER or exponent > _LARGEST_EXPONENT:
        raise ConvergenceError(
            f"the erfc series is summed up to order {_HIGHEST_ORDER:.0f} and exponents of {_LARGEST_EXPONENT:.0e}; "
            f"order={order!r}, rate={rate!r}, noise={noise!r} asks for more. {_EXACT}"
        )
    digits = 32
    while digits <= _MOST_DIGITS:
        with localcontext(Emax=MAX_EMAX, Emin=MIN_EMIN) as context:
            # Rounding an exponent of size E costs log10 E digits of its exponential, and errors of all terms add up.
            context.prec = digits + 8 + math.ceil(math.log10((1.0 + exponent) * (digits + order)))
            moment, size = _moment(Decimal(order), Decimal(rate), Decimal(noise), digits)
            error = size * Decimal(10) ** -digits
            if error <= _ACCURACY * (moment - 1):
                return max(float(moment.ln() / (Decimal(order) - 1)), TINY)
            known = moment - 1 > 2 * error
            digits += 2 + (error / (_ACCURACY * (moment - 1))).adjusted() if known else digits
    raise ConvergenceError(
        f"the erfc series needs more than {_MOST_DIGITS} digits at order={order!r}, rate={rate!r}, noise={noise!r}. {_EXACT}"
    )


def _moment(alpha: Decimal, q: Decimal, sigma: Decimal, digits: int) -> tuple[Decimal, Decimal]:
    """A, and the sum of the absolute values of its terms: the error of A is at most 10^-digits times that sum."""
    z1 = Decimal("0.5") + sigma * sigma * ((1 - q) / q).ln()
    scale = (alpha * (1 - q).ln() - z1 * z1 / (2 * sigma * sigma)).exp() / 2
    root = Decimal(2).sqrt() * sigma

    def pair(k: int) -> Decimal:
        return scale * (erfcx((k - z1) / root) + erfcx((k - alpha + z1) / root))

    whole = int(alpha)
    coefficient, total = Decimal(1), Decimal(0)
    for k in range(whole + 1):
        total += coefficient * pair(k)
        coefficient *= (alpha - k) / (k + 1)
    size = total
    if coefficient == 0:  # at an integer order the binomial series ends here
        return total, size
    count = math.ceil(1.31 * digits) + 1  # (3 + sqrt 8)^-1.31 = 0.0994
    # Algorithm 1 of Cohen, Rodriguez Villegas & Zagier, in its letters.
    d = (3 + Decimal(8).sqrt()) ** count
    d = (d + 1 / d) / 2
    b, c, tail = Decimal(-1), -d, Decimal(0)
    for i in range(count):
        k = whole + 1 + i
        term = abs(coefficient) * pair(k)
        size += term
        c = b - c
        tail += c * term
        b *= Decimal((i + count) * (i - count)) / (Decimal(i + 1) * (i + Decimal("0.5")))
        coefficient *= (alpha - k) / (k + 1)
    return total + tail / d, size


def _admitted(order: float, rate: float, noise: float) -> bool:
    return all(condition(order, rate=rate, noise=noise) >= 0.0 for condition in (condition_4, condition_5))


def condition_4(order: float, *, rate: float, noise: float) -> float:
    """Slack of the first condition of Theorem 11: alpha <= sigma^2 L/2 - 2 log sigma, L = log(1 + 1/(q (alpha-1)))."""
    return 0.5 * noise * noise * _span(order, rate) - 2.0 * math.log(noise) - order


def condition_5(order: float, *, rate: float, noise: float) -> float:
    """Slack of the second condition: alpha (L + log(q alpha) + 1/(2 sigma^2)) <= sigma^2 L^2/2 - log 5 - 2 log sigma.

    L + log(q alpha) is computed as log alpha + log(q + 1/(alpha-1)), in which nothing cancels.
    """
    span, square = _span(order, rate), noise * noise
    whole = math.log(order) + math.log(rate + 1.0 / (order - 1.0)) + 0.5 / square
    return 0.5 * square * span * span - math.log(5.0) - 2.0 * math.log(noise) - order * whole


def _span(order: float, rate: float) -> float:
    """L = log(1 + 1/(q (alpha-1)))."""
    return float(np.logaddexp(0.0, -math.log(rate) - math.log(order - 1.0)))


def _domain(rate: float, noise: float) -> tuple[float, float]:
    rate, noise = check.rate(rate=rate), check.nonnegative(noise=noise)
    if rate > 0.2:
        raise InvalidInput(f"Theorem 11 needs rate <= 1/5; got rate={rate!r}. {_EXACT}")
    if noise < 4.0:
        raise InvalidInput(f"Theorem 11 needs noise >= 4; got noise={noise!r}. {_EXACT}")
    return rate, noise


def _order(order: float) -> float:
    result = check.real("a finite number > 1", order=order)
    if result <= 1.0:
        raise InvalidInput(f"order must be a finite number > 1; got {order!r}. The limit at 1 is the KL divergence.")
    return result
