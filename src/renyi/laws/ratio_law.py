"""The law of a likelihood ratio, held as nodes and weights: atoms, or a quadrature of a density."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.remainder import log_one_plus, log_remainder

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RatioLaw:
    """The law of log(P/Q) under Q: nodes ``log_ratio`` with weights e^``log_weight``.

    ``missing`` is the mass that P has where Q has none, so that the mean of P/Q under Q is one minus it; ``error`` is the
    relative error of divergences that comes from the nodes, where they are a quadrature that is not exact to rounding. Every
    divergence is a sum over nodes of nonnegative terms (numerics/remainder.py), so it keeps its relative accuracy even where
    weights are off in the last digit.
    """

    log_ratio: Array
    log_weight: Array
    missing: float = 0.0
    error: float = 0.0

    def divergence(self, order: Array) -> Array:
        """D_order(P || Q) at each finite order."""
        if self.missing > 0.0:
            return np.full(order.shape, np.inf)
        x = np.maximum(self.log_ratio, -745.0)  # e^x kappa(s, x) is 1 from here down to -inf
        return _expectation(order - 1.0, self.log_weight + x, x)

    def reverse_divergence(self, order: Array) -> Array:
        """D_order(Q || P) at each finite order."""
        if np.isneginf(self.log_ratio).any():
            return np.full(order.shape, np.inf)
        return _expectation(order - 1.0, self.log_weight, -self.log_ratio, self.missing)

    def mixed(self, rate: float) -> RatioLaw:
        """The law of log(((1 - rate) Q + rate P)/Q) under Q, for 0 < rate <= 1."""
        return RatioLaw(log_mixed(self.log_ratio, rate), self.log_weight, rate * self.missing, self.error)


def _expectation(s: Array, log_weight: Array, x: Array, extra: float = 0.0) -> Array:
    """log1p(s E)/s with E the weighted sum of kappa(s, x) plus ``extra``, some orders at a time."""
    rows = max(1, 200_000 // max(x.size, 1))
    parts = [log_sum_exp(log_weight + log_remainder(s[i : i + rows, None], x)) for i in range(0, s.size, rows)]
    log_mean = np.concatenate(parts)
    return log_one_plus(s, np.logaddexp(log_mean, np.log(extra)) if extra > 0.0 else log_mean)


def log_mixed(log_ratio: Array, rate: float | Array) -> Array:
    """log(1 + rate (e^x - 1)) without overflow; an array of rates must lie below 1."""
    if isinstance(rate, float) and rate == 1.0:
        return log_ratio
    x = np.minimum(log_ratio, 600.0)
    change = rate * np.expm1(x)
    # Rates near 1 and small ratios: 1 + change would cancel, while (1 - rate) + rate e^x adds positive terms.
    near = np.where(change < -0.5, np.log((1.0 - rate) + rate * np.exp(x)), np.log1p(np.maximum(change, -0.5)))
    if np.max(log_ratio, initial=0.0) < 600.0:
        return near
    far = np.logaddexp(log_ratio + np.log(rate), np.log1p(-rate))
    return np.where(log_ratio < 600.0, near, far)
