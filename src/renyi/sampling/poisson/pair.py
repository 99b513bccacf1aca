"""The dominating pair of a Poisson sample: a mixture of the base pair's two laws against the second."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import LOSS_ROUNDING, DominatingPair, FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.ratio_law import RatioLaw, log_mixed
from renyi.laws.transform import LossTransform
from renyi.numerics.logspace import log1mexp
from renyi.numerics.rounding import ULP
from renyi.sampling.poisson.gaussian.transform import SampledGaussianTransform
from renyi.sampling.poisson.law_transform import SampledLawTransform

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PoissonPair(DominatingPair):
    """((1-q) Q + q P, Q) for a base pair (P, Q) and 0 <= q < 1; ``adding``, (Q, (1-q) Q + q P).

    Zhu, Dong & Wang (2022), arXiv:2106.08567v4, Theorem 11. The profiles follow from the base pair's in closed form.
    """

    base: DominatingPair
    rate: float
    adding: bool = False

    @property
    def attained(self) -> bool:
        return self.base.attained

    def below(self) -> PoissonPair | None:
        base = self.base.below()
        if base is None or base is self.base:
            return self if self.attained else None
        return replace(self, base=base)

    @property
    def max_loss(self) -> float:
        base = self.base.reversed().max_loss if self.adding else self.base.max_loss
        mixed = float(log_mixed(np.array([-base if self.adding else base]), self.rate)[0]) if self.rate else 0.0
        return -mixed if self.adding else mixed

    def reversed(self) -> PoissonPair:
        return PoissonPair(self.base, self.rate, not self.adding)

    def profile_error(self, epsilon: float) -> float:
        # The base is asked at another level, which may be much larger: its error there counts.
        shifted = math.log1p(math.expm1(min(max(epsilon, 0.0), 600.0)) / self.rate) if self.rate else 0.0
        return 1e-12 + self.base.profile_error(shifted)

    @property
    def loss_error(self) -> float:
        """The error of the base's losses, damped by how much they move the mixed ones, plus the rounding of the mixing."""
        largest = self.max_loss
        if math.isinf(largest) or self.rate == 0.0:
            return 0.0
        if self.adding:
            # d(-log(1 - q + q e^x)) <= q e^x/(1 - q), of x <= 0 that is known up to LOSS_ROUNDING |x|.
            return LOSS_ROUNDING * (
                abs(largest) + min(abs(self.base.reversed().max_loss), self.rate / (1.0 - self.rate))
            )
        base = self.base.max_loss
        share = math.exp(min(math.log(self.rate) + base - largest, 0.0))
        return LOSS_ROUNDING * (abs(largest) + share * abs(base)) + share * self.base.loss_error

    def log_profile(self, epsilon: Array) -> Array:
        return self._log_adding(epsilon) if self.adding else self._log_removing(epsilon)

    def _log_removing(self, epsilon: Array) -> Array:
        """log of q H_{e^e'}(P || Q) with e^e' = 1 + (e^epsilon - 1)/q; of 1 - e^epsilon where e^e' would not be positive."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Below log(1 - q) every outcome has a larger ratio, so the test accepts everything.
            low = -np.expm1(np.minimum(epsilon, 0.0)) >= self.rate
            shifted = np.log1p(np.expm1(np.minimum(epsilon, 600.0)) / self.rate)
            shifted = np.where(epsilon > 600.0, epsilon - np.log(self.rate), shifted)
            inner = np.log(self.rate) + self.base.log_profile(np.where(low, 0.0, shifted))
            return np.where(low, np.log(-np.expm1(np.minimum(epsilon, 0.0))), inner)

    def _log_adding(self, epsilon: Array) -> Array:
        """log of c H_{e^e'}(Q || P) with c = 1 - e^epsilon (1-q), e^e' = q e^epsilon/c = 1 + (e^epsilon - 1)/c.

        The profile is 0 where c <= 0.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            reach = -(epsilon + np.log1p(-self.rate))
            log_c = log1mexp(np.maximum(reach, 0.0))
            rise = np.expm1(np.minimum(epsilon, 600.0)) * np.exp(-log_c)
            # Two forms of log e^e': for small losses the terms of the second would cancel.
            inner = np.where(np.abs(rise) < 0.5, np.log1p(rise), epsilon + np.log(self.rate) - log_c)
            inner = np.where(reach > 0.0, inner, 0.0)
            return np.where(reach > 0.0, log_c + self.base.reversed().log_profile(inner), -np.inf)

    @property
    def infinite_mass(self) -> float:
        return 0.0 if self.adding else self.rate * self.base.infinite_mass

    @property
    def mass_error(self) -> float:
        return self.base.mass_error + (0.0 if self.base.infinite_mass in (0.0, 1.0) else ULP)

    @cached_property
    def transform(self) -> LossTransform | None:
        if self.rate == 0.0:
            return None
        if isinstance(self.base, GaussianPair) and self.base.noise > 0.0:
            return SampledGaussianTransform(self.rate, self.base.noise, self.adding)
        if self.finite is not None:
            return self.finite.transform
        return SampledLawTransform(self.base, self.rate, self.adding) if self.base.resolved_law(1.0, 0.0) else None

    @cached_property
    def finite(self) -> FiniteLossPair | None:
        base = self.base.finite
        if base is None or self.rate == 0.0:
            return None
        mixed = log_mixed(base.losses, self.rate)
        # Not log_q + mixed: of a large loss, both are large where their sum is not.
        log_p = np.logaddexp(math.log1p(-self.rate) + base.log_q, math.log(self.rate) + base.log_p)
        pair = FiniteLossPair(
            mixed,
            log_p,
            base.log_q,
            self.attained,
            _mixed_rounding(base.rounding, base.losses, mixed, self.rate),
            (self.rate * base.infinite_mass, 0.0)
            if base.infinite_mass in (0.0, 1.0) and base.mass_error == 0.0
            else None,
        )
        return pair.reversed() if self.adding else pair

    @property
    def largest_order(self) -> float:
        return 0.0 if self.adding or self.rate == 0.0 else self.base.largest_order

    def ratio_law(self, max_order: float) -> RatioLaw:
        return self.base.ratio_law(max_order).mixed(self.rate)


def _mixed_rounding(rounding: float, losses: Array, mixed: Array, rate: float) -> float:
    """The relative error of mixed losses: the derivative of log(1 - q + q e^x) in x is q e^x/(1 - q + q e^x)."""
    known = np.isfinite(losses) & (mixed != 0.0)
    with np.errstate(under="ignore"):
        share = np.exp(np.minimum(math.log(rate) + losses[known] - mixed[known], 0.0))
    amplified = float(np.max(share * np.abs(losses[known] / mixed[known]), initial=0.0))
    return LOSS_ROUNDING + (rounding + LOSS_ROUNDING) * amplified
