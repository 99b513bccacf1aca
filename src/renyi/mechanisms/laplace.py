"""Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.decay import Decay, Windows
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.ratio_law import RatioLaw, log_mixed
from renyi.laws.relation import Relation
from renyi.laws.transform import LossTransform
from renyi.numerics.contours.complex_remainder import phi
from renyi.numerics.contours.power_sums import complex_log1p
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.quadrature import graded_edges, on_panels
from renyi.numerics.remainder import exp_remainder
from renyi.numerics.rounding import TINY, ULP, raised

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_MOST_PANELS = 3000
"""Panels of one law; frequencies that need more have no law here."""

_SMALLEST_SCALE = 1e-3
"""Scale below which the segment between the centres, panels of one scale each, would take more than a thousand of them."""

_NODES_PER_PANEL = 20
"""Gauss-Legendre nodes on each panel."""

_WINDOW_PANELS = 16
"""Panels of the law from which windows are made, at least: between the ends of neighbouring windows little decay shows."""

_MOST_WINDOWS = 48
"""Windows from either end of a law with many panels."""


@dataclass(frozen=True, slots=True)
class Laplace(Mechanism):
    """Adds Laplace noise of scale ``noise_multiplier`` times the largest L1 norm of one contribution.

    In any dimension, at every level, the worst case is the whole shift in one coordinate. The density p is log-concave, so
    min(p(x), e^a p(x - D)) is jointly log-concave in (x, D), and its integral over x is log-concave in D (Prekopa). One minus
    this integral is the hockey-stick divergence at the level e^a. It is therefore quasi-convex in the shift D and largest at an
    extreme point of the L1 ball, that is on an axis. A pair that dominates at every level also dominates under composition and
    sampling (docs/several-dimensions.md).
    """

    words: ClassVar[str] = "Laplace noise (multiplier {noise_multiplier})"
    monotone = {"noise_multiplier": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "Laplace noise: each record's contribution has L1 norm at most the bound that noise_multiplier is relative to, "
        "and the noise is drawn afresh from a secure source",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Mironov (2017), arXiv:1702.07476v3, Proposition 6",
        "in several dimensions: Prekopa (1973), Acta Sci. Math. 34, and docs/several-dimensions.md",
    )

    noise_multiplier: float

    def __post_init__(self) -> None:
        check.fields(self, noise_multiplier=check.nonnegative)

    @classmethod
    def examples(cls) -> tuple[Laplace, ...]:
        return cls(0.5), cls(2.0), cls(10.0)

    def pair(self, relation: Relation) -> LaplacePair:
        return LaplacePair(self.noise_multiplier / relation.distance)


@dataclass(frozen=True, slots=True)
class LaplacePair(DominatingPair):
    """The Laplace law of scale ``scale`` about 1 against the one about 0; at scale 0 the two are disjoint."""

    scale: float

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        """1/scale, rounded up."""
        if self.scale <= 1e-300:
            return math.inf
        return math.nextafter(1.0 / self.scale, math.inf) if self._reciprocal_error > 0.0 else 1.0 / self.scale

    @property
    def loss_error(self) -> float:
        return 0.0  # the profile uses the largest loss beyond its last digit (_reciprocal_error)

    @property
    def exact_max_loss(self) -> Fraction:
        """The exact 1/scale: ten releases of scale 10 cost exactly 1, although no float equals a tenth."""
        return 1 / Fraction(self.scale)

    def reversed(self) -> LaplacePair:
        return self  # mirror the line about 1/2

    def dominates(self, other: DominatingPair) -> bool:
        return isinstance(other, LaplacePair) and self.scale <= other.scale

    def grouped(self, size: int) -> LaplacePair:
        """Half-lines are the optimal tests at every distance, so trade-offs of several shifts compose to that of their sum."""
        return self if size == 1 else LaplacePair(self.scale / size * (1.0 - 2 * ULP))

    def renyi(self) -> RenyiCurve:
        if math.isinf(self.max_loss):
            return RenyiCurve.infinite()
        return RenyiCurve(partial(_laplace_divergence_upper, self.scale), limit=self.max_loss, covers_opposite=True)

    def log_profile(self, epsilon: Array) -> Array:
        """1 - e^((epsilon - 1/b)/2) between -1/b and 1/b; 0 above, 1 - e^epsilon below."""
        if math.isinf(self.max_loss):
            return np.log(np.where(epsilon < math.inf, 1.0, 0.0))
        # Near the largest loss the gap is smaller than the rounding of 1/scale, which is therefore added back.
        gap = (1.0 / self.scale - epsilon) + self._reciprocal_error
        with np.errstate(divide="ignore"):
            inner = -np.expm1(-np.maximum(gap, 0.0) / 2.0)
            return np.log(np.where(epsilon < -1.0 / self.scale, -np.expm1(np.minimum(epsilon, 0.0)), inner))

    @cached_property
    def _reciprocal_error(self) -> float:
        """The true reciprocal of the scale minus the float 1/scale."""
        return float(1 / Fraction(self.scale) - Fraction(1.0 / self.scale))

    @property
    def infinite_mass(self) -> float:
        return 1.0 if math.isinf(self.max_loss) else 0.0

    @cached_property
    def finite(self) -> FiniteLossPair | None:
        return FiniteLossPair.apart() if math.isinf(self.max_loss) else None

    @cached_property
    def transform(self) -> LossTransform | None:
        return LaplaceTransform(self.scale) if self.finite is None else self.finite.transform

    @property
    def largest_order(self) -> float:
        return math.inf if self.scale >= _SMALLEST_SCALE or math.isinf(self.max_loss) else 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        if math.isinf(self.max_loss):
            return RatioLaw(np.array([-math.inf]), np.array([0.0]), missing=1.0)
        return _law(self.scale, max(1, math.ceil(math.log2(max_order))))

    def resolved_law(self, order: float, frequency: float) -> RatioLaw | None:
        if self.largest_order < order or math.isinf(self.max_loss):
            return None
        # Twenty nodes on a panel of one scale resolve a wave of frequency 8; twice the frequency takes half the width.
        finer = max(0, math.ceil(math.log2(max(frequency, 1.0) / 8.0)))
        if 2.0**finer > _MOST_PANELS * min(self.scale, 0.5):
            return None
        return _law(self.scale, max(1, math.ceil(math.log2(max(order, 2.0)))), finer)

    def mixed_decay(self, rate: float, tilt: float, *, adding: bool) -> Decay | None:
        return None if math.isinf(self.max_loss) else _mixed_decay(self, rate, -tilt if adding else 1.0 + tilt)


@dataclass(frozen=True, slots=True)
class LaplaceTransform(LossTransform):
    """The loss transform in closed form: the formula of the Renyi divergence at complex orders."""

    scale: float

    def cumulant(self, tilt: float) -> float:
        return tilt * float(laplace_divergence(np.array([1.0 + tilt]), self.scale)[0])

    def cumulants(self, tilt: Array) -> Array:
        return tilt * laplace_divergence(1.0 + tilt, self.scale)

    def log_decay(self, tilt: float, frequency: float) -> float:
        decay = LaplacePair(self.scale).mixed_decay(1.0, tilt, adding=False)
        return 0.0 if decay is None else decay.at(frequency)

    @property
    def known_between_poles(self) -> bool:
        return True

    def line(self, tilt: float, step: float, count: int) -> Complex:
        """log of M(t) = ((t + 1) e^(t/b) + t e^(-p/b))/(2 t + 1), p = t + 1; where M is near 1, as log1p of remainders."""
        t = np.asarray(tilt + 1j * step * np.arange(count), dtype=np.complex128)
        p = t + 1.0
        # Beyond e^30 the 1 in M - 1 is negligible and exponentials may overflow, so the largest one is taken out.
        if tilt / self.scale > 30.0:
            return t / self.scale + np.log((p + t * np.exp(-(2.0 * t + 1.0) / self.scale)) / (2.0 * t + 1.0))
        return complex_log1p((p * phi(t / self.scale) + t * phi(-p / self.scale)) / (2.0 * t + 1.0))


def laplace_divergence(order: Array, scale: float) -> Array:
    """The Renyi divergence at finite orders above 0, other than 1/2.

    (1/(alpha-1)) log[ alpha/(2 alpha - 1) e^((alpha-1)/b) + (alpha-1)/(2 alpha - 1) e^(-alpha/b) ], whose first-order
    terms cancel: written as log1p of (alpha phi((alpha-1)/b) + (alpha-1) phi(-alpha/b))/(2 alpha - 1) with
    phi(y) = e^y - 1 - y, and for large (alpha-1)/b with the exponential taken out.
    """
    s = order - 1.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # phi(s/b)/s, which tends to 0 with s.
        small = (order * exp_remainder(s / scale) / s + exp_remainder(-order / scale)) / (2.0 * order - 1.0)
        near = np.where(s != 0.0, np.log1p(s * small) / s, exp_remainder(-1.0 / scale))
        far = 1.0 / scale + (
            -np.log1p(s / order) + np.log1p(s / order * np.exp(-(2.0 * order - 1.0) / scale))
        ) / np.where(s > 0.0, s, 1.0)
    return np.where(s / scale > 1.0, far, near)


def _laplace_divergence_upper(scale: float, order: Array) -> Array:
    """The divergence, raised by the rounding of the formula."""
    return np.maximum(raised(laplace_divergence(order, scale), 64 * ULP), TINY)


@lru_cache(maxsize=128)  # a line is made longer until all its transforms have decayed
def _mixed_decay(pair: LaplacePair, rate: float, power: float) -> Decay | None:
    """Atoms at both largest losses, and between them a density whose logarithm is convex in the output, or falls.

    Between the centres the output z has the density e^(-z/b)/(2b) under Q and the loss L = (2z - 1)/b. With the ratio
    r = 1 - q + q e^L and the ``power`` p (1 + tilt removing, -tilt adding), the tilted density of log r is
    e^(-z/b) r^(p + 1)/(4 q e^L). log r is convex in z, so for p > -1 the density is largest at an end, and for p < -1 it falls:
    its variation is at most twice the sum of what it is at the ends. Windows begin with the atom at either end.
    """
    loss = pair.max_loss
    log_r = log_mixed(np.array([-loss, loss]), rate)
    log_q = np.array([0.0, -loss])  # of the output at either end, the left one's taken for 1
    atoms = float(np.logaddexp(*(log_q - math.log(2.0) + power * log_r)))
    density = log_q + (power + 1.0) * log_r - math.log(2.0 * rate) - np.array([-loss, loss])
    variation = float(np.logaddexp(*density))
    law = pair.resolved_law(abs(power), 8.0 * _WINDOW_PANELS * min(pair.scale, 0.5))
    if law is None:  # only all records have a transform then
        return Decay(LaplaceTransform(pair.scale).cumulant(power - 1.0), atoms, variation) if rate == 1.0 else None
    along = np.r_[0, 2 : law.log_ratio.size, 1]  # the left atom, the segment, the right atom
    losses = log_mixed(law.log_ratio[along], rate)
    log_mass = law.log_weight[along] + power * losses
    panels = np.unique(np.geomspace(1, (losses.size - 2) // _NODES_PER_PANEL, _MOST_WINDOWS).astype(np.intp))
    cuts = 1 + _NODES_PER_PANEL * panels
    windows = Windows.between(losses, log_mass, np.unique(np.append(cuts, losses.size - cuts)))
    return Decay(float(log_sum_exp(log_mass)), atoms, variation, windows)


# Bands of orders, both relations and both directions ask for the same law: a tenth of an Rdp answer.
@lru_cache(maxsize=16)
def _law(scale: float, levels: int, finer: int = 0) -> RatioLaw:
    """Two atoms (left of both centres, right of both) and the segment between them, by Gauss-Legendre on panels.

    The ratio is analytic within pi b/2 of the segment, so panels of width b resolve it. Powers of it concentrate within b/order
    of the ends, so panels halve towards both ends until they are that fine. For complex powers all panels are 2^``finer`` times
    narrower, so that they resolve the waves.
    """
    z, weight = on_panels(graded_edges(min(scale, 0.5) * 0.5**finer, min(scale, 1.0) * 0.5**levels), _NODES_PER_PANEL)
    log_ratio = np.concatenate([[-1.0 / scale, 1.0 / scale], (2.0 * z - 1.0) / scale])
    log_weight = np.concatenate(
        [[math.log(0.5), math.log(0.5) - 1.0 / scale], np.log(weight / (2.0 * scale)) - z / scale]
    )
    return RatioLaw(log_ratio, log_weight)
