"""How many runs a search makes: K, drawn from the very law that ``Tuned`` is priced for.

With 256 random bits behind a number U in [0, 1), K is the first k at which Pr[K <= k] exceeds U. Probabilities are decimals
of 60 digits, one from the one before (Papernot & Steinke 2022, arXiv:2110.03620v2, Definitions 1 and 3):

    truncated negative binomial:  Pr[1] = (1 - gamma) eta / (gamma^-eta - 1),  Pr[k + 1]/Pr[k] = (1 - gamma) (k + eta)/(k + 1),
    its limit at shape eta = 0:   Pr[1] = (1 - gamma)/log(1/gamma),
    Poisson of mean mu:           Pr[0] = e^-mu,                               Pr[k + 1]/Pr[k] = mu/(k + 1),

so that the law that is drawn from and the law that is priced differ by less than 1e-50 in total variation.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache

from renyi.errors import InvalidInput
from renyi.events.nodes import Tuned
from renyi.training.randomness.chance import WIDTH, Chance

DIGITS = 60
"""Of every probability: sums of a million of them keep more than fifty."""

CANCELLED = 340
"""Digits that gamma^-eta - 1 may lose: log10 of the smallest positive float, which eta may be, and some more."""

MOST = 1e6
"""Largest mean of a Poisson number, and largest 1/gamma, the number of runs about which other laws end: a draw is quick."""

NARROWEST = 1e-9
"""Of 1 - gamma: below it the float gamma would say too little about the mean."""

ROUNDED = 1e-14
"""Relative, by which gamma is rounded up: three times the rounding of e^-x at x = 14, where gamma is a millionth."""

NEVER = Decimal("1e-80")
"""Probability of one k beyond the mode from which on no random bits lead further: about 2^-256."""


def gamma_for(search: Tuned) -> float:
    """The gamma of the law, rounded up, towards fewer runs: the price is that of a gamma which was rounded down."""
    return search.gamma * (1.0 + ROUNDED)


def expect_drawable(search: Tuned) -> None:
    """Refuse laws whose draws could be too large for any search, or that floats do not describe."""
    if search.shape == math.inf:
        if search.mean > MOST:
            raise InvalidInput(f"a search makes at most {MOST:g} runs on average; got mean={search.mean!r}.")
    elif search.mean > 1.0:
        gamma = gamma_for(search)
        if gamma < 1.0 / MOST:
            raise InvalidInput(
                f"a number of runs of mean {search.mean!r} and shape {search.shape!r} may be as large as {1.0 / gamma:.3g}: to "
                f"stop earlier would be another law, and at most about {MOST:g} are drawn. Take a larger shape or less mean."
            )
        if 1.0 - gamma < NARROWEST:
            raise InvalidInput(
                f"floats do not describe the law of mean {search.mean!r} and shape {search.shape!r}: its gamma is 1 but for "
                f"{1.0 - gamma:.3g}. Take mean=1 for a single run, or shape=math.inf for a Poisson number of runs."
            )


def number_of_runs(search: Tuned, chance: Chance) -> int:
    """Draw K. It stays secret: whoever knows it knows more than the price covers."""
    if search.shape < math.inf and search.mean == 1.0:
        return 1
    with localcontext(_digits(DIGITS)):
        left = Decimal(chance.bits()) / (1 << WIDTH)
        number, probability, slope, constant = _law(search)
        while (left := left - probability) >= 0:
            ratio = (slope * number + constant) / (number + 1)
            if probability < NEVER and ratio < 1:
                break
            number, probability = number + 1, probability * ratio
        return number


@lru_cache(maxsize=64)
def _law(search: Tuned) -> tuple[int, Decimal, Decimal, Decimal]:
    """The least K, its probability, and a and b where Pr[k + 1]/Pr[k] = (a k + b)/(k + 1)."""
    with localcontext(_digits(DIGITS + CANCELLED)):
        if search.shape == math.inf:
            mean = Decimal(search.mean)
            return 0, (-mean).exp(), Decimal(0), mean
        gamma, shape = Decimal(gamma_for(search)), Decimal(search.shape)
        weight = -1 / gamma.ln() if shape == 0 else shape / ((-shape * gamma.ln()).exp() - 1)
        return 1, (1 - gamma) * weight, 1 - gamma, (1 - gamma) * shape


def _digits(count: int) -> Context:
    return Context(prec=count, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
