"""The exposition's three routes to the (epsilon, delta) of DP-SGD, corrected, and the accountants beside them.

"Great but Manageable Expectations", notes on Renyi differential privacy, part 2. A run of k = ``epochs`` epochs of Gaussian
noise sigma = ``noise`` on Poisson samples of rate r = ``rate`` takes T = k/r steps.

1. ``route_1_delta``: the tail of one Gaussian, amplified by sampling, composed by Azuma's inequality.
2. ``route_2_delta``: k releases on all of the data by the moments of the Gaussian. Another algorithm: it does not sample.
3. ``route_3_delta``: the moment of the sampled Gaussian at one order, which Claim 26 bounds by a constant (claim_26.py).

All bound delta from above (each number is raised by its rounding error), and the accountants give far less than any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from renyi import check
from renyi.accountants.classical.composition_theorems import azuma_tail, kl_bound
from renyi.accountants.exact import Exact
from renyi.accountants.rdp import Rdp
from renyi.composing.closed import one_step_delta
from renyi.composing.event_laws import renyi_curve
from renyi.errors import InvalidInput
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation
from renyi.mechanisms.gaussian import Gaussian
from renyi.numerics.roots.bisection import bisect
from renyi.numerics.roots.minimise import minimise
from renyi.numerics.rounding import ULP, raised
from renyi.papers.exposition.chernoff import chernoff_delta, gaussian_chernoff_delta
from renyi.sampling.poisson.poisson import Poisson

_SMALLEST_POSITIVE = 5e-324
"""The smallest positive float: a bound that underflows is raised to it, because 0 would be a false claim."""


class Route3(NamedTuple):
    """The statement of Claim 28: this delta after at most this many steps."""

    steps: int
    delta: float


class Routes(NamedTuple):
    """Deltas of one run at one epsilon; all except ``route_2`` are about the same T sampled steps."""

    route_1: float
    route_1_exact: float
    """Route 1 from the exact profile of one Gaussian."""
    route_2: float
    """Route 2 on k releases without sampling."""
    route_2_sampled: float
    """Route 2 on the T sampled steps, each of which costs no more than an unsampled one."""
    route_3: float
    """Route 3 at the best order, with the moment of the run itself."""
    renyi: float
    exact: float


def route_1_delta(*, noise: float, rate: float, epochs: int, epsilon: float) -> float:
    """The smallest, over e with T a(e) < epsilon, of

        exp(-(epsilon - T a(e))^2 / (2 T (e + a(e))^2)) + k delta_1(b),     b = log(1 + (e^e - 1)/r):

    each step is (e, r delta_1(b))-DP, by Chernoff's bound delta_1 on one Gaussian at b and by Lemma 4, and T of them compose by
    Azuma's inequality (``azuma_tail``, where a is). 1 where no e gives less.
    """
    return _route_1(noise, rate, epochs, epsilon, lambda b: gaussian_chernoff_delta(noise=noise, epsilon=b))


def route_1_delta_exact(*, noise: float, rate: float, epochs: int, epsilon: float) -> float:
    """Route 1 with the exact profile of one Gaussian instead of Chernoff's bound, which is much smaller."""
    pair = GaussianPair(check.nonnegative(noise=noise))
    return _route_1(noise, rate, epochs, epsilon, lambda b: one_step_delta(pair, b).upper)


def route_2_delta(*, noise: float, epochs: int, epsilon: float) -> float:
    """exp(-(k/2) (epsilon sigma/k - 1/(2 sigma))^2) for k releases on all of the data; 1 where epsilon <= k/(2 sigma^2)."""
    return gaussian_chernoff_delta(noise=noise, epsilon=epsilon, count=epochs)


def route_3_delta(*, order: float, steps: int, epsilon: float, log_constant: float) -> float:
    """exp(T log C - (lambda - 1) epsilon), at most 1, for T = ``steps`` steps whose moments of order lambda are at most C.

    Claim 28, corrected (it is printed with T C and lambda instead of T log C and lambda - 1). ``log_constant`` may be the
    moment of the run itself (``claim_27``, ``claim_26_moment``) or C(c1, c2) (``claim_26_constant``).
    """
    order = check.real("a finite number > 1", order=order)
    steps, epsilon = check.count(steps=steps), check.epsilon(epsilon=epsilon)
    log_constant = check.nonnegative(log_constant=log_constant)
    if order <= 1.0:
        raise InvalidInput(f"order must be > 1; got {order!r}.")
    gain, cost = (order - 1.0) * epsilon, steps * log_constant
    return _exponential(cost - gain + 4.0 * ULP * (cost + gain))


def claim_28(*, c2: float, noise: float, epsilon: float, log_constant: float) -> Route3:
    """Claim 28 as it is printed: exp(-c2 sigma^2 epsilon/2) after up to T = c2 epsilon sigma^2/(2C) steps.

    C is e^``log_constant``. It is true only if T >= 1 and T (C - log C) >= epsilon, that is c2 sigma^2 >= 2C/(C - log C), for
    which 3.17 always suffices; the claim states neither condition. ``route_3_delta`` needs none and is smaller.
    """
    noise, epsilon = check.nonnegative(noise=noise), check.epsilon(epsilon=epsilon)
    c2, log_constant = check.nonnegative(c2=c2), check.nonnegative(log_constant=log_constant)
    order = c2 * noise * noise
    # C/(C - log C), without overflow.
    share = 1.0 / (1.0 - log_constant * math.exp(-log_constant))
    if order < 2.0 * share * (1.0 + 4.0 * ULP):
        raise InvalidInput(
            f"Claim 28 needs c2 noise^2 >= 2C/(C - log C) = {2.0 * share:.6g}; got c2 noise^2 = {order:.6g}. "
            "Below it the printed delta is too small; use route_3_delta."
        )
    steps = 0.5 * order * epsilon * math.exp(-log_constant) * (1.0 - 8.0 * ULP)
    if steps < 1.0:
        raise InvalidInput(
            f"Claim 28 needs T = c2 epsilon noise^2/(2C) >= 1; got T = {steps:.6g}, for C = {math.exp(log_constant):.6g}. "
            "Raise epsilon or the noise, or lower c2; or use route_3_delta."
        )
    return Route3(math.floor(steps), _exponential(-0.5 * order * epsilon * (1.0 - 4.0 * ULP)))


def routes(*, noise: float, rate: float, epochs: int, epsilon: float) -> Routes:
    """Every route and the accountants, side by side."""
    steps = _steps(rate, epochs)
    event = (Gaussian(noise).on(Poisson(rate)) * steps).canonical()
    return Routes(
        route_1=route_1_delta(noise=noise, rate=rate, epochs=epochs, epsilon=epsilon),
        route_1_exact=route_1_delta_exact(noise=noise, rate=rate, epochs=epochs, epsilon=epsilon),
        route_2=route_2_delta(noise=noise, epochs=epochs, epsilon=epsilon),
        route_2_sampled=route_2_delta(noise=noise, epochs=steps, epsilon=epsilon),
        route_3=chernoff_delta(renyi_curve(event, Relation.REMOVE), epsilon=epsilon),
        renyi=Rdp().delta(event, epsilon=epsilon).upper,
        exact=Exact().delta(event, epsilon=epsilon).upper,
    )


def _route_1(noise: float, rate: float, epochs: int, epsilon: float, base: Callable[[float], float]) -> float:
    noise, epsilon, steps = check.nonnegative(noise=noise), check.epsilon(epsilon=epsilon), _steps(rate, epochs)
    if steps == 0:
        return 0.0
    if noise == 0.0 or epsilon == 0.0:
        return 1.0
    share = epsilon / steps
    largest = (
        share
        if share >= math.log(2.0)
        else float(
            bisect(lambda e: e * np.expm1(e) < share, np.array([0.0]), np.array([1.0]), 1e-17 * max(share, 1e-9))[0]
        )
    )
    largest *= 1.0 - 1e-12  # the bound needs T a(e) < epsilon strictly, also after rounding

    def bound(step: float) -> float:
        if not step > 0.0 or steps * kl_bound(epsilon=step) >= epsilon:
            return 1.0
        grown = math.log1p(math.expm1(step) / rate) if step < 700.0 else step - math.log(rate)
        spent = raised(steps * rate * base(grown * (1.0 - 8.0 * ULP)), 4.0 * ULP)
        return min(raised(azuma_tail(epsilon=epsilon, step_epsilon=step, count=steps) + spent, 0.0), 1.0)

    # The bound has kinks and plateaus at 1, so a ladder finds the neighbourhood of its minimum first.
    ladder = np.geomspace(1e-6 * largest, largest, 300).tolist()
    values = [bound(step) for step in ladder]
    best = int(np.argmin(values))
    found = list(values)

    def log_bound(step: float) -> float:
        found.append(bound(step))
        return math.log(found[-1])

    minimise(log_bound, ladder[max(best - 1, 0)], ladder[min(best + 1, len(ladder) - 1)], 1e-10)
    return min(found)


def _steps(rate: float, epochs: int) -> int:
    rate, epochs = check.rate(rate=rate), check.count(epochs=epochs)
    if rate == 0.0:
        raise InvalidInput(
            "a run of k epochs takes k/rate steps; got rate=0. Pass the rate at which records are drawn."
        )
    steps = round(epochs / rate)
    if abs(steps * rate - epochs) > 1e-9 * epochs:
        raise InvalidInput(
            f"{epochs} epochs at rate={rate!r} take {epochs / rate:.6g} steps, which is not a whole number. "
            f"Pass epochs={math.ceil(epochs / rate)}*rate, or a rate that divides them."
        )
    return steps


def _exponential(log_value: float) -> float:
    """e^x rounded up and at most 1; a bound that underflows does not become 0."""
    return 1.0 if log_value >= 0.0 else max(raised(math.exp(log_value), 2.0 * ULP * -log_value), _SMALLEST_POSITIVE)
