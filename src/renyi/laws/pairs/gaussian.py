"""The pair of a Gaussian and its shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.transform import GaussianTransform, LossTransform
from renyi.numerics.quadrature import gauss_legendre
from renyi.numerics.rounding import TINY, ULP, raised
from renyi.numerics.work import spend

Array = NDArray[np.float64]

_INTEGRALS_AT_ONCE = 2048
"""Integrals in one array: larger arrays only take more memory."""

_NO_NOISE = 1e-155
"""Noise below which the losses, about 1/noise^2, are beyond the largest float: the laws count as disjoint."""

_NO_TRANSFORM = 1e-150
"""Noise below which the cumulants overflow at the tilts that a contour asks for."""


@dataclass(frozen=True, slots=True)
class GaussianPair(DominatingPair):
    """P = N(1, noise^2) against Q = N(0, noise^2); noise 0 separates them wholly.

    Products of such pairs are again such pairs: the squared reciprocals of the noises add.
    """

    noise: float

    def __post_init__(self) -> None:
        if self.noise < _NO_NOISE:
            object.__setattr__(self, "noise", 0.0)

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return math.inf

    def reversed(self) -> GaussianPair:
        return self  # mirror the line about 1/2

    def composed(self, other: DominatingPair) -> DominatingPair | None:
        if not isinstance(other, GaussianPair):
            return None
        small, large = sorted((self.noise, other.noise))
        # Rounded down, for less noise costs more.
        return (
            GaussianPair(small / math.hypot(1.0, small / large) * (1.0 - 4 * ULP)) if small > 0.0 else GaussianPair(0.0)
        )

    def repeated(self, count: int) -> GaussianPair:
        return self if count == 1 else GaussianPair(self.noise / math.sqrt(count) * (1.0 - 2 * ULP))

    def dominates(self, other: DominatingPair) -> bool:
        return isinstance(other, GaussianPair) and self.noise <= other.noise

    def grouped(self, size: int) -> GaussianPair:
        """Dong, Roth & Su (2019), arXiv:1905.02383v3, Theorem 2.14: trade-offs of shifts compose to that of their sum."""
        return self if size == 1 else GaussianPair(self.noise / size * (1.0 - 2 * ULP))

    @property
    def infinite_mass(self) -> float:
        return 1.0 if self.noise == 0.0 else 0.0

    @cached_property
    def finite(self) -> FiniteLossPair | None:
        return FiniteLossPair.apart() if self.noise == 0.0 else None

    @cached_property
    def transform(self) -> LossTransform | None:
        if self.noise > _NO_TRANSFORM:
            return GaussianTransform(self.noise)
        return None if self.finite is None else self.finite.transform

    def renyi(self) -> RenyiCurve:
        """Alpha / (2 noise^2): Mironov (2017), arXiv:1702.07476v3, Proposition 7."""
        if self.noise * self.noise < 1e-300:
            return RenyiCurve.infinite()
        return RenyiCurve(partial(_gaussian_divergence_upper, self.noise), covers_opposite=True)

    def profile_error(self, epsilon: float) -> float:
        """That of erfcx; and a = 1/(2 noise) - epsilon noise is off by rounding, also of the noise, times its terms."""
        if self.noise == 0.0:
            return 0.0
        size = 0.5 / self.noise + abs(epsilon) * self.noise
        return 2e-12 + 64 * ULP * size * (1.0 + abs(0.5 / self.noise - abs(epsilon) * self.noise))

    def log_profile(self, epsilon: Array) -> Array:
        """Balle & Wang (2018), arXiv:1805.06530v2, Theorem 8: Phi(a) - e^epsilon Phi(c).

        With a = 1/(2 noise) - epsilon noise and c = a - 1/noise. For epsilon < 0 the symmetry of the pair gives
        1 - e^epsilon + e^epsilon H(-epsilon), a sum of positive terms.
        """
        if self.noise == 0.0:
            return np.zeros(epsilon.shape)
        # Beyond it the profile is 0 by any measure.
        size = np.minimum(np.abs(epsilon), max(1e150 / self.noise, min(10.0 / self.noise / self.noise, 1e308)))
        gap = 1.0 / self.noise
        a = 0.5 * gap - size * self.noise
        far = a < 0.5
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # For a < 1/2 factor out the normal density (e^epsilon phi(c) = phi(a)); otherwise 1/noise >= 1 and nothing cancels.
            forward = np.empty(a.shape)
            forward[far] = (
                -0.5 * a[far] ** 2 + _log_erfcx_drop(-a[far] / math.sqrt(2.0), gap / math.sqrt(2.0)) - math.log(2.0)
            )
            if not far.all():
                # e^epsilon Phi(c) = phi(a) Phi(c)/phi(c): epsilon and c^2/2, both large, are not subtracted from each other.
                b = a[~far]
                forward[~far] = np.log(ndtr(b) - 0.5 * np.exp(-0.5 * b * b) * erfcx((gap - b) / math.sqrt(2.0)))
            behind = epsilon < 0.0
            if behind.any():
                forward = np.where(behind, np.logaddexp(np.log(-np.expm1(-size)), forward - size), forward)
            return forward

    @property
    def largest_order(self) -> float:
        return math.inf

    def ratio_law(self, max_order: float) -> RatioLaw:
        """A trapezoidal rule wide enough for ``max_order`` in both directions: the generic twin of the sampled fast path."""
        if self.noise == 0.0:
            return RatioLaw(np.array([-math.inf]), np.array([0.0]), missing=1.0)
        step = min(0.3 * self.noise, 0.3, 2.0 / math.sqrt(max_order) * self.noise)
        reach = 10.0 + (max(max_order, 2.0) + 1.0) / self.noise
        u = step * np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1, dtype=np.float64)
        ratio = (u - 0.5 / self.noise) / self.noise
        return RatioLaw(ratio, -0.5 * u * u + math.log(step / math.sqrt(2.0 * math.pi)))


def gaussian_divergence(order: Array, noise: float) -> Array:
    """Order / (2 noise^2)."""
    return order / (2.0 * noise * noise)


def _gaussian_divergence_upper(noise: float, order: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return np.maximum(raised(gaussian_divergence(order, noise), 4 * ULP), TINY)


def _log_erfcx_drop(x: Array, gap: float) -> Array:
    """log(erfcx(x) - erfcx(x + gap)) for x > -1/2.

    Where the two are close the difference is the integral of -erfcx' = (4/sqrt(pi)) * integral over t of
    t e^(-t^2 - 2xt): over the gap, (2/sqrt(pi)) * integral of e^(-t^2 - 2xt) (1 - e^(-2 gap t)), all positive.
    """
    close = gap < 0.2 * np.maximum(np.abs(x), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.log(erfcx(x) - erfcx(x + gap))
        places = np.flatnonzero(close)
        for start in range(0, places.size, _INTEGRALS_AT_ONCE):
            place = places[start : start + _INTEGRALS_AT_ONCE]
            result[place] = _log_erfcx_fall(x[place], gap)
    return result


def _log_erfcx_fall(x: Array, gap: float) -> Array:
    spend(150.0 * x.size)
    node, weight = gauss_legendre(96)
    scale = 1.0 / (1.0 + np.maximum(x, 0.0))
    t = 22.0 * node * scale[:, None]
    integrand = np.exp(-t * t - 2.0 * x[:, None] * t) * -np.expm1(-2.0 * gap * t)
    return np.asarray(np.log(22.0 * scale * np.sum(weight * integrand, axis=-1) * (2.0 / math.sqrt(math.pi))))
