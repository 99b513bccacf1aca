"""The pair that dominates all replace-one neighbours of a fixed-size sample, by one symmetric profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.ratio_law import RatioLaw, log_mixed
from renyi.numerics.quadrature import on_panels
from renyi.sampling.poisson.pair import PoissonPair
from renyi.sampling.replacing.symmetric_pair import SymmetricPair

Array = NDArray[np.float64]

_MOST_NODES = 24_000
"""Nodes of a Gaussian law; orders that need more have no law here."""

_NODES_PER_PANEL = 16
"""Gauss-Legendre nodes on each panel."""


@dataclass(frozen=True, slots=True)
class FixedSizePair(SymmetricPair):
    """Mixtures (1-q) C + q A against (1-q) C + q B, where ``base`` dominates A against B and A against C; 0 < q < 1.

    For y >= 1 and y' = 1 + (y - 1)/q, advanced joint convexity (Balle, Barthe & Gaboardi 2018, arXiv:1807.01647v2,
    Theorem 2) makes the profile at y equal to q H_{y'}(A || (1-b) C + b B) with b = y/y', so at most q times the base's at
    y'. With A and B exchanged the same holds, hence one symmetric profile. It dominates and is not attained: the neighbours
    that reach it at y > 1 stay below it at y < 1.
    """

    base: DominatingPair
    rate: float

    @property
    def attained(self) -> bool:
        return False

    @property
    def max_loss(self) -> float:
        return max(PoissonPair(self.base, self.rate).max_loss, 0.0)

    @property
    def infinite_mass(self) -> float:
        return self.rate * self.base.infinite_mass

    def profile_error(self, epsilon: float) -> float:
        return PoissonPair(self.base, self.rate).profile_error(epsilon)

    @property
    def loss_error(self) -> float:
        return PoissonPair(self.base, self.rate).loss_error

    @property
    def mass_error(self) -> float:
        return PoissonPair(self.base, self.rate).mass_error

    def log_right(self, epsilon: Array) -> Array:
        return PoissonPair(self.base, self.rate).log_profile(epsilon)

    @property
    def largest_order(self) -> float:
        if not isinstance(self.base, GaussianPair) or self.base.noise == 0.0:
            return self.base.largest_order
        order = 2.0**14
        while order > 1.0 and _panels(self.base.noise, order).size * _NODES_PER_PANEL > _MOST_NODES:
            order /= 2.0
        return order if order > 1.0 else 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The positive losses of the mixture against the base's second law, and their mirror images; the rest has loss 0.

        Every f-divergence is an integral of hockey-stick divergences with positive weights, so a divergence of this law bounds
        the mechanism's.
        """
        base = self.base
        if isinstance(base, GaussianPair) and base.noise > 0.0:
            # Only the half-line where the ratio exceeds 1 counts; a trapezoidal rule would be poor at its end, panels are not.
            u, weight = on_panels(_panels(base.noise, max_order), _NODES_PER_PANEL)
            law = RatioLaw((u - 0.5 / base.noise) / base.noise, np.log(weight / math.sqrt(2.0 * math.pi)) - 0.5 * u * u)
        else:
            law = base.ratio_law(max_order)
        ahead = law.log_ratio > 0.0
        x, log_weight = log_mixed(law.log_ratio[ahead], self.rate), law.log_weight[ahead]
        missing = self.rate * law.missing
        return RatioLaw(
            np.concatenate([x, -x, [-math.inf] if missing > 0.0 else []]),
            np.concatenate([log_weight, log_weight + x, [math.log(missing)] if missing > 0.0 else []]),
            missing,
            law.error,
        )

    @cached_property
    def finite(self) -> FiniteLossPair | None:
        base = self.base.finite
        if base is None:
            return None
        ahead = base.losses > 0.0
        losses, log_q = log_mixed(base.losses[ahead], self.rate), base.log_q[ahead]
        endless = losses == math.inf
        with np.errstate(invalid="ignore"):
            log_p = np.where(endless, math.log(self.rate) + base.log_p[ahead], log_q + losses)
        rest = 1.0 - math.fsum(np.exp(np.concatenate([log_p, log_q])).tolist())
        if rest < -1e-12:
            return None  # no law has this profile: its convex hull does
        log_rest = math.log(rest) if rest > 0.0 else -math.inf
        return FiniteLossPair(
            np.concatenate([losses, -losses, [0.0]]),
            np.concatenate([log_p, log_q, [log_rest]]),
            np.concatenate([log_q, log_p, [log_rest]]),
            attained=False,
        )


def _panels(noise: float, order: float) -> Array:
    """Panel edges from 1/(2 noise), where the ratio is 1, to beyond order/noise, where ratio^order has its mass."""
    # Sixteen nodes resolve half a scale of the density and of the ratio; powers of the mixed ratio bend on a scale that shrinks
    # with the root of the order.
    width = 0.5 * min(1.0, noise) / math.sqrt(1.0 + order / 16.0)
    first, last = 0.5 / noise, 0.5 / noise + 10.0 + (max(order, 2.0) + 1.0) / noise
    count = min(math.ceil((last - first) / width), _MOST_NODES)
    return np.linspace(first, last, count + 1)
