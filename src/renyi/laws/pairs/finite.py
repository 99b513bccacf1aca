"""A pair of laws on finitely many outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import LOSS_ROUNDING, DominatingPair
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.transform import AtomsTransform
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_MOST_AT_ONCE = 500_000  # terms of a profile, at four megabytes


@dataclass(frozen=True, slots=True)
class FiniteLossPair(DominatingPair):
    """Outcomes with log-probabilities ``log_p`` under P and ``log_q`` under Q, and their losses log(P/Q).

    Outcomes are kept in the order of their losses, so that a pair whose outcomes can be matched to exchange P and Q
    equals its own reversal. The losses are given beside the probabilities because a loss near 0 is known more exactly
    than the difference of two logarithms. An outcome that Q cannot produce has loss +inf, one that P cannot -inf.
    ``rounding`` is the relative error of the finite losses; ``missing``, where it is known, the mass of the infinite ones
    under P and under Q, of which the logarithms have lost the last digits.
    """

    losses: tuple[float, ...]
    log_p: tuple[float, ...]
    log_q: tuple[float, ...]
    attained: bool = True
    rounding: float = LOSS_ROUNDING
    missing: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        spend(150.0 * len(self.losses))
        outcomes = sorted(zip((loss + 0.0 for loss in self.losses), self.log_p, self.log_q, strict=True))
        for name, column in zip(("losses", "log_p", "log_q"), zip(*outcomes, strict=True), strict=True):
            object.__setattr__(self, name, column)

    @classmethod
    def apart(cls) -> FiniteLossPair:
        """Two laws that have no outcome in common."""
        return cls((math.inf, -math.inf), (0.0, -math.inf), (-math.inf, 0.0))

    @property
    def max_loss(self) -> float:
        return max((loss for loss, p in zip(self.losses, self.log_p, strict=True) if p > -math.inf), default=0.0)

    @property
    def infinite_mass(self) -> float:
        if self.missing is not None:
            return self.missing[0]
        return math.fsum(math.exp(p) for loss, p in zip(self.losses, self.log_p, strict=True) if loss == math.inf)

    @property
    def mass_error(self) -> float:
        logs = [p for loss, p in zip(self.losses, self.log_p, strict=True) if loss == math.inf]
        return 0.0 if self.missing is not None or not any(logs) else 2e-15 - 2.4e-16 * max(min(logs), -750.0)

    @property
    def loss_error(self) -> float:
        return self.rounding * abs(self.largest_finite_loss)

    @property
    def largest_finite_loss(self) -> float:
        """Of the losses that have a probability."""
        rows = zip(self.losses, self.log_p, strict=True)
        return max((loss for loss, p in rows if p > -math.inf and loss < math.inf), default=0.0)

    def finite(self) -> FiniteLossPair:
        return self

    def transform(self) -> AtomsTransform:
        law = self.ratio_law(math.inf)
        return AtomsTransform(law.log_ratio, law.log_weight, law.missing)

    def reversed(self) -> FiniteLossPair:
        missing = None if self.missing is None else self.missing[::-1]
        losses = tuple(-loss for loss in self.losses)
        return FiniteLossPair(losses, self.log_q, self.log_p, self.attained, self.rounding, missing)

    def profile_error(self, epsilon: float) -> float:
        return 1e-13

    def log_profile(self, epsilon: Array) -> Array:
        """P - e^epsilon Q = P (1 - e^(epsilon - loss)) where the loss exceeds epsilon."""
        losses, log_p = np.array(self.losses), np.array(self.log_p)
        flat = epsilon.ravel()
        result = np.empty(flat.shape)
        rows = max(1, _MOST_AT_ONCE // losses.size)
        for start in range(0, flat.size, rows):
            part = slice(start, start + rows)
            gap = np.maximum(losses - flat[part, None], 0.0)
            with np.errstate(divide="ignore"):
                result[part] = log_sum_exp(log_p + np.log(-np.expm1(-gap)))
        return result.reshape(epsilon.shape)

    @property
    def largest_order(self) -> float:
        return math.inf

    def ratio_law(self, max_order: float) -> RatioLaw:
        log_q = np.array(self.log_q)
        kept = log_q > -math.inf
        missing = math.fsum(math.exp(p) for p, q in zip(self.log_p, self.log_q, strict=True) if q == -math.inf)
        return RatioLaw(np.array(self.losses)[kept], log_q[kept], missing)
