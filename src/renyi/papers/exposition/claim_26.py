"""Claim 26 of "Great but Manageable Expectations", notes on Renyi differential privacy, part 2: its constant, computed.

The claim is about the sampled Gaussian with r <= c1/sigma (r = ``rate``, sigma = ``noise``) at orders lambda <= c2 sigma^2. The
moment G = E_{mu_0} (1 - r + r mu_1/mu_0)^lambda, of N(1, sigma^2) = mu_1 and N(0, sigma^2) = mu_0, rises with r and with
lambda, so its largest value at a given sigma is that at r = c1/sigma, lambda = c2 sigma^2; C(c1, c2) is the largest over sigma.

The claim holds, with this C, for Poisson samples and neighbours that add or remove a record. Its printed proof does not hold:
the moment tends to exp(c1^2 c2^2/2) as sigma grows, not to 0, and is larger before that. If c2 is large, the term with j =
lambda dominates, which is largest at sigma = c1 e^((c2-1)/2); then log C is about c1^2 c2 e^(c2-1)/2, and C doubly exponential
in c2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from renyi import check
from renyi.errors import InvalidInput
from renyi.numerics.roots.minimise import minimise
from renyi.sampling.poisson.gaussian.renyi import sampled_gaussian_remove
from renyi.sampling.poisson.general_bound import poisson_log_moment


class Constant(NamedTuple):
    """A largest moment, as its logarithm, which a float can hold, and the noise and order at which it occurs."""

    log_value: float
    noise: float
    order: float

    @property
    def value(self) -> float:
        """The moment itself, infinite if it overflows."""
        return math.exp(self.log_value) if self.log_value < 709.0 else math.inf


def claim_27(order: int, *, rate: float, noise: float) -> float:
    """log G at an integer order, by the binomial sum from j = 0 to lambda (printed from 1):

        G = sum_{j=0..lambda} C(lambda,j) r^j (1-r)^(lambda-j) e^(j (j-1)/(2 sigma^2))            (9.5)

    The value is good to about 12 digits and not raised by its rounding error.
    """
    order, rate, noise = check.whole(2, order=order), check.rate(rate=rate), _positive("noise", noise)
    if rate in (0.0, 1.0):
        return rate * order * (order - 1) / (2.0 * noise * noise)
    return poisson_log_moment(order, rate=rate, curve=lambda j: j / (2.0 * noise * noise))


def claim_26_moment(*, c1: float, c2: float, noise: float) -> float:
    """log G at r = c1/sigma and lambda = c2 sigma^2, any real number above 1; needs sigma >= c1 and c2 sigma^2 > 1."""
    c1, c2, noise = _positive("c1", c1), _positive("c2", c2), _positive("noise", noise)
    rate, order = c1 / noise, c2 * noise * noise
    if rate > 1.0 or order <= 1.0:
        raise InvalidInput(
            f"Claim 26 needs a rate c1/noise <= 1 and an order c2 noise^2 > 1; got rate={rate:.6g}, order={order:.6g}. "
            f"Pass a noise above {max(c1, 1.0 / math.sqrt(c2)):.6g}."
        )
    whole = round(order)
    if whole >= 2 and abs(order - whole) <= 1e-14 * order:
        return claim_27(whole, rate=rate, noise=noise)
    if rate == 1.0:
        return order * (order - 1.0) / (2.0 * noise * noise)
    return (order - 1.0) * float(sampled_gaussian_remove(np.array([order]), rate=rate, noise=noise)[0])


def claim_26_constant(*, c1: float, c2: float) -> Constant:
    """C(c1, c2): the largest moment over all sigma, found by search (no published number depends on it)."""
    c1, c2 = _positive("c1", c1), _positive("c2", c2)
    least = max(c1, (1.0 + 1e-9) / math.sqrt(c2))
    # The search covers sigma from its smallest value to far beyond the peak of the dominating term.
    peak = c1 * math.exp(0.5 * (c2 - 1.0))
    most = 30.0 * max(least, peak)

    def log_moment(noise: float) -> float:
        return claim_26_moment(c1=c1, c2=c2, noise=min(max(noise, least), most))

    ladder = np.geomspace(least, most, 120).tolist()
    values = [log_moment(noise) for noise in ladder]
    best = int(np.argmax(values))
    noise = minimise(lambda x: -log_moment(x), ladder[max(best - 1, 0)], ladder[min(best + 1, 119)], 1e-7)
    noise = max((noise, ladder[best]), key=log_moment)
    found = Constant(log_moment(noise), noise, c2 * noise * noise)
    limit = 0.5 * c1 * c1 * c2 * c2
    return found if found.log_value >= limit else Constant(limit, math.inf, math.inf)


def claim_26_constant_integer(*, c1: float, c2: float, highest_order: int = 140) -> Constant:
    """The largest moment over sigma^2 = lambda/c2 for the integer orders lambda from 2 to ``highest_order``."""
    c1, c2, highest = _positive("c1", c1), _positive("c2", c2), check.whole(2, highest_order=highest_order)
    noises = [(order, math.sqrt(order / c2)) for order in range(2, highest + 1)]
    found = [
        Constant(claim_27(order, rate=c1 / noise, noise=noise), noise, float(order))
        for order, noise in noises
        if noise >= c1
    ]
    if not found:
        raise InvalidInput(
            f"the rate c1/noise exceeds 1 at every order up to {highest}; got c1={c1!r}, c2={c2!r}. "
            f"Raise highest_order above {c1 * c1 * c2:.6g}."
        )
    return max(found)


def claim_26_printed_sum(n: int, *, c1: float, c2: float) -> float:
    """log of the sum printed in the proof of Claim 26, kept for the record; it equals the moment only if c2 = 1.

        sum_{j=0..n} C(n,j) (c1/sqrt n)^j (1 - c1/sqrt n)^(n-j) e^(c2 j (j-1)/(2n))

    With n = lambda = c2 sigma^2 the rate should be c1 sqrt(c2/n): for c2 > 1 the sum is too small. Needs c1 <= sqrt(n).
    """
    n, c1, c2 = check.whole(2, n=n), _positive("c1", c1), _positive("c2", c2)
    if c1 * c1 > n:
        raise InvalidInput(f"the sum needs c1 <= sqrt(n), because c1/sqrt(n) is a probability; got c1={c1!r}, n={n}.")
    return claim_27(n, rate=c1 / math.sqrt(n), noise=math.sqrt(n / c2))


def _positive(name: str, value: float) -> float:
    result = check.nonnegative(**{name: value})
    if result == 0.0:
        raise InvalidInput(f"{name} must be > 0; got 0.")
    return result
