"""One Gaussian release that costs about as much as many on Poisson samples: where a search for their noise begins.

A long run's loss is nearly normal (Dong, Roth & Su 2019, arXiv:1905.02383v3, section 5), so the run is nearly one Gaussian
release, of a mean mu in units of its noise. The one here has the same Renyi divergence of order two, mu^2 of which closed
forms are known both ways. Its cost is a guess; but beside it the true one varies so little that two values give the third.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import erfcx

_MOST_NEWTON_STEPS = 40
"""Steps after which no guess is given. Each is at most 1 in log mu, so that a start that is far off needs some."""

_MILLS = math.sqrt(0.5 * math.pi)
"""Mills' ratio: (1 - Phi(a))/phi(a) is this times erfcx(a/sqrt(2))."""

_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
"""-log of the standard normal density at 0."""


@dataclass(frozen=True, slots=True)
class EquivalentGaussian:
    """For ``steps`` Gaussian releases on Poisson samples of this ``rate``."""

    rate: float
    steps: int

    def log_mean(self, noise: float) -> float:
        """log mu of the run with this noise: mu^2 = steps log(1 + rate^2 (e^(1/noise^2) - 1))."""
        log_divergence = _log_log1p_exp(_log_expm1_exp(-2.0 * math.log(noise)) + 2.0 * math.log(self.rate))
        return 0.5 * (log_divergence + math.log(self.steps))

    def noise(self, log_mean: float) -> float:
        """The noise at which the run has this log mu."""
        log_divergence = 2.0 * log_mean - math.log(self.steps)
        return math.exp(-0.5 * _log_log1p_exp(_log_expm1_exp(log_divergence) - 2.0 * math.log(self.rate)))


def _log_expm1_exp(y: float) -> float:
    """log(e^(e^y) - 1)."""
    return y if y < -37.0 else math.log(math.expm1(math.exp(y))) if y < 6.0 else math.exp(min(y, 700.0))


def _log_log1p_exp(z: float) -> float:
    """log(log(1 + e^z)), the inverse of ``_log_expm1_exp``."""
    return z if z < -37.0 else math.log(math.log1p(math.exp(z))) if z < 700.0 else math.log(z)


def log_mean_at(epsilon: float, delta: float) -> float:
    """log mu of the Gaussian release that costs ``epsilon`` at ``delta``, both positive; NaN where it is not found.

    Newton's method on log delta, of which the derivative by log mu is mu phi(a)/delta, a = epsilon/mu - mu/2.
    """
    depth = -2.0 * math.log(delta)
    log_mean = math.log(2.0 * epsilon / (math.sqrt(depth + 2.0 * epsilon) + math.sqrt(depth)))
    for _ in range(_MOST_NEWTON_STEPS):
        mean = math.exp(log_mean)
        a = epsilon / mean - 0.5 * mean
        # delta/phi(a), plainly: ``GaussianPair.log_profile`` keeps the digits that cancel here for small means, at a hundred
        # times the cost, and a guess does not need them. The smallest means are not found.
        share = _MILLS * float(erfcx(a * math.sqrt(0.5)) - erfcx((a + mean) * math.sqrt(0.5)))
        if not 0.0 < share < math.inf:
            return math.nan
        log_delta = math.log(share) - 0.5 * a * a - _LOG_NORMAL
        step = (math.log(delta) - log_delta) * share / mean
        log_mean += min(max(step, -1.0), 1.0)
        if abs(step) < min(1e-12 + 1e-15 / mean, 1e-10):
            return log_mean
    return math.nan
