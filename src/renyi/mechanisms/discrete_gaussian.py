"""Gaussian noise on the integers.

The profile is a sum over the integers beyond a threshold. Four forms cover all scales: a direct sum; differences of tabulated
tails in extended precision; the Euler-Maclaurin formula of ``lattice_gaps`` for scales of thousands; and, for few outcomes, the
list of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.events.mechanism import Mechanism
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair, FiniteLossPair, law_error
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.relation import Relation
from renyi.laws.transform import LossTransform
from renyi.numerics import double_double as dd
from renyi.numerics.lattice_gaps import log_lattice_gap
from renyi.numerics.logspace import log_sum_exp
from renyi.numerics.rounding import TINY, raised
from renyi.numerics.theta import SMALLEST_SMOOTH_SCALE, complex_log_theta_ratio, log_theta_ratio, log_theta_zero
from renyi.numerics.work import spend

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_EXTENDED_PRECISION = np.finfo(np.longdouble).eps < 1e-18
"""Whether long doubles have more digits than doubles: not on every platform. Without them tails are summed directly."""

_LARGEST_TABLED_SCALE = 2_000.0
"""Scale up to which the profile is summed or tabulated; above it 1/scale is well below the step of 1e-3 that
``lattice_gaps`` needs."""

_TABLE_REACH = 60.0
"""Scales that a table of tails reaches: e^(-60^2/2) is below the smallest float."""

_MOST_OUTCOMES = 4_000
"""Outcomes of a finite pair; distributions with more are not listed."""

_LOG_BEYOND = -740.0
"""log of the mass that stands for all outcomes beyond the listed ones: near the smallest float, and above their e^-741."""

_SMOOTH_SCALE = 20.0
"""Scale from which a sum over every few integers equals the sum over all of them, up to rounding."""

_MOST_LAW_POINTS = 200_000
"""Points of a likelihood-ratio law; orders that need more have no law here."""


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Mechanism):
    """Adds an integer x with probability proportional to e^(-x^2/(2 ``scale``^2)) to a statistic of integer ``sensitivity``.

    Its Renyi curve never lies above that of continuous noise of the same scale; its epsilon may, by little. Neither is monotone
    in the scale when the scale is small. This is about one integer: describe a vector as the sum of its coordinates' events,
    each with its own sensitivity, or as ``ZCDP`` if only its L2 norm is bounded (docs/several-dimensions.md).
    """

    words: ClassVar[str] = "discrete Gaussian noise (scale {scale}, sensitivity {sensitivity})"
    assumptions: ClassVar[tuple[str, ...]] = (
        "discrete noise: one record moves the integer-valued statistic by at most the sensitivity, and sampling is exact",
    )
    references: ClassVar[tuple[str, ...]] = ("Canonne, Kamath & Steinke (2020), arXiv:2004.00010v5",)

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check.fields(self, scale=check.nonnegative, sensitivity=partial(check.whole, 1))

    @classmethod
    def examples(cls) -> tuple[DiscreteGaussian, ...]:
        return cls(0.4), cls(1.0), cls(5.0, sensitivity=2)

    def for_group(self, size: int) -> DiscreteGaussian | None:
        moved = self.sensitivity * size
        return DiscreteGaussian(self.scale, moved) if moved <= check.LARGEST_COUNT else None

    def pair(self, relation: Relation) -> DiscreteGaussianPair:
        return DiscreteGaussianPair(self.scale, self.sensitivity * relation.distance)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair(DominatingPair):
    """The discrete Gaussian of scale ``scale`` about the integer ``shift`` against the one about 0."""

    scale: float
    shift: int

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return math.inf

    @property
    def infinite_mass(self) -> float:
        return 1.0 if self._apart else 0.0

    def reversed(self) -> DiscreteGaussianPair:
        return self  # mirror the integers about shift/2: x -> shift - x

    def renyi(self) -> RenyiCurve:
        if self._apart:
            return RenyiCurve.infinite()
        return RenyiCurve(partial(_divergence_upper, self.scale, self.shift), covers_opposite=True)

    def log_profile(self, epsilon: Array) -> Array:
        """The sum over x beyond the threshold of P(x) (1 - e^(epsilon - loss(x))), all terms positive."""
        if self._apart:
            return np.zeros(epsilon.shape)
        flat = epsilon.ravel()
        if self.scale > _LARGEST_TABLED_SCALE:
            return self._on_fine_lattice(flat).reshape(epsilon.shape)
        # Nothing left of -fall counts, so a very negative epsilon starts there.
        first = np.floor(np.maximum(self._threshold(flat), -self._fall(0.0))) + 1.0
        tabled = first + self.shift < self._tabled
        result = np.empty(flat.shape)
        result[tabled] = self._from_tails(first[tabled], flat[tabled]) if tabled.any() else 0.0
        result[~tabled] = self._summed(first[~tabled], flat[~tabled])
        return result.reshape(epsilon.shape)

    def _threshold(self, epsilon: Array) -> Array:
        """The real x, measured from the centre of P, at which the loss is epsilon."""
        with np.errstate(over="ignore"):
            return epsilon * self.scale * (self.scale / self.shift) - 0.5 * self.shift

    def _on_fine_lattice(self, epsilon: Array) -> Array:
        """The profile in units of the scale; the normaliser is the continuous one up to a relative e^(-2 pi^2 scale^2)."""
        # Cut where arithmetic would overflow; the profile is 0 there in any case.
        far = np.minimum(epsilon, 1e300)
        threshold = self._threshold(far)
        k = self.shift / self.scale
        with np.errstate(over="ignore"):
            start = np.minimum(far / k - 0.5 * k, 1e200)
        offset = np.nan_to_num(np.floor(threshold) + 1.0 - threshold, nan=1.0)
        return log_lattice_gap(start, np.clip(offset, 0.0, 1.0), k, 1.0 / self.scale)

    @property
    def _apart(self) -> bool:
        """Whether the noise is so small that the losses overflow: the laws count as disjoint."""
        loss = float(self.shift) / self.scale if self.scale > 1e-150 else math.inf
        return not loss < 1e150

    @property
    def _tabled(self) -> float:
        """The integer up to which tails are tabulated; -inf if they are not, as when the shift exceeds the reach of a table."""
        return (
            _TABLE_REACH * self.scale
            if _EXTENDED_PRECISION and self.scale > max(4.0, self.shift / _TABLE_REACH)
            else -math.inf
        )

    def _fall(self, beyond: float) -> int:
        """The number of integers over which P falls by e^-45, starting ``beyond`` its centre: the further out, the fewer."""
        return math.ceil(90.0 * self.scale / (math.hypot(beyond / self.scale, 9.5) + beyond / self.scale)) + 2

    def _summed(self, first: Array, epsilon: Array) -> Array:
        """The profile as a sum from the integer ``first`` on, counted from the centre of P."""
        result = np.empty(first.shape)
        start = 0
        while start < first.size:
            width = self._fall(max(float(first[start]), 0.0))
            part = slice(start, start + max(1, 100_000 // width))  # as many rows as fit into one array
            beyond = float(np.min(first[part]))
            x = first[part, None] + np.arange(1.1 * self._fall(max(beyond, 0.0)) + max(-beyond, 0.0))
            gap = np.maximum(self._loss(x + self.shift) - epsilon[part, None], 0.0)
            with np.errstate(divide="ignore"):
                result[part] = log_sum_exp(self._log_mass(x) + np.log(-np.expm1(-gap)))
            start = part.stop
        return result

    def _from_tails(self, first: Array, epsilon: Array) -> Array:
        """P[x >= first] - e^epsilon Q[x >= first], in extended precision: they cancel by a factor of about the scale."""
        start, p_tail, q_tail = self._tails
        index = np.maximum(first + self.shift - start, 0.0).astype(np.int64)
        value = p_tail[index] - np.exp(epsilon.astype(np.longdouble)) * q_tail[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.maximum(value, 0.0)).astype(np.float64)

    @cached_property
    def _tails(self) -> tuple[float, NDArray[np.longdouble], NDArray[np.longdouble]]:
        """The first integer of a table, and for it and each later one the tails P[X >= x] of the laws about shift and 0."""
        reach = math.ceil((_TABLE_REACH + 10.0) * self.scale) + self.shift
        x = np.arange(-math.ceil(12.0 * self.scale), reach + 1, dtype=np.longdouble)
        spend(90.0 * x.size)
        two = np.longdouble(2.0) * np.longdouble(self.scale) ** 2
        log_normaliser = np.longdouble(self._log_normaliser)
        p, q = (np.exp(-((x - centre) ** 2) / two - log_normaliser) for centre in (self.shift, 0))
        p_tail, q_tail = (np.cumsum(mass[::-1])[::-1] for mass in (p, q))
        return float(x[0]), p_tail, q_tail

    @cached_property
    def finite(self) -> FiniteLossPair | None:
        """All outcomes within 38 scales; the mass beyond, less than e^-720, is given an infinite loss."""
        if self._apart or 38.5 * self.scale + self.shift > _MOST_OUTCOMES:
            return None
        reach = math.ceil(38.5 * self.scale) + 2
        x = np.arange(-float(reach), reach + self.shift + 1.0)
        return FiniteLossPair(
            np.concatenate([[-math.inf], self._loss(x), [math.inf]]),
            np.concatenate([[-math.inf], self._log_mass(x - self.shift), [_LOG_BEYOND]]),
            np.concatenate([[_LOG_BEYOND], self._log_mass(x), [-math.inf]]),
        )

    @cached_property
    def transform(self) -> LossTransform | None:
        if not self._apart and self.scale > SMALLEST_SMOOTH_SCALE:
            return DiscreteGaussianTransform(self.scale, self.shift)
        return None if self.finite is None else self.finite.transform

    @property
    def largest_order(self) -> float:
        if self._apart:
            return 0.0
        return max(0.0, (0.5 * _MOST_LAW_POINTS - 10.0 * self.scale) / self.shift)

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law on every few integers: by Poisson summation, a sum of a smooth function is the same on a coarser lattice."""
        stride = 1
        if self.scale >= _SMOOTH_SCALE and self.shift <= self.scale:
            stride = max(1, math.floor(self.scale * min(0.3, 2.0 / math.sqrt(max_order))))
        reach = math.ceil((max_order * self.shift + 10.0 * self.scale + 2.0) / stride)
        x = stride * np.arange(-float(reach), reach + 1.0)
        return RatioLaw(self._loss(x), self._log_mass(x) + math.log(stride))

    def _loss(self, x: Array) -> Array:
        return (2.0 * x - self.shift) * (self.shift / (2.0 * self.scale * self.scale))

    def _log_mass(self, x: Array) -> Array:
        return -0.5 * (x / self.scale) ** 2 - self._log_normaliser

    @cached_property
    def _log_normaliser(self) -> float:
        return log_theta_zero(self.scale)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianTransform(LossTransform):
    """log M(t) = t (t + 1) shift^2/(2 scale^2) + log(theta(t shift)/theta(0)), as of the divergence, at complex orders.

    Losses lie on a lattice of step shift/scale^2, so that |M| has a period in the frequency, and does not decay.
    """

    scale: float
    shift: int

    def cumulant(self, tilt: float) -> float:
        return float(self.cumulants(np.array([tilt]))[0])

    def cumulants(self, tilt: Array) -> Array:
        moved = self.shift / self.scale
        with np.errstate(over="ignore", invalid="ignore"):
            return tilt * (tilt + 1.0) * (0.5 * moved * moved) + log_theta_ratio(_offset(tilt, self.shift), self.scale)

    def small_cumulants(self, tilt: Array) -> Array:
        return self.cumulants(tilt)

    @property
    def known_between_poles(self) -> bool:
        return True

    def line(self, tilt: float, step: float, count: int) -> Complex:
        moved = self.shift / self.scale
        period = 2.0 * math.pi * self.scale / moved
        frequency = step * np.arange(count)
        periods = np.rint(frequency / period)
        frequency = frequency - periods * period
        t: Complex = np.asarray(tilt + 1j * frequency, dtype=np.complex128)
        offset = float(_offset(np.array([tilt]), self.shift)[0])
        correction = complex_log_theta_ratio(offset, self.shift * frequency, self.scale)
        # In each period every wave makes an odd number of half turns, or an even one, with the shift.
        turned = math.pi * np.mod(self.shift * periods, 2.0)
        return t * (t + 1.0) * (0.5 * moved * moved) + correction + 1j * turned


def _offset(order: Array, shift: int) -> Array:
    """How far order times shift lies above the nearest integer, or below; of a rounded product no digit might be left."""
    high, low = dd.two_product(order, float(shift))
    return (high - np.rint(high)) + low


def discrete_gaussian_divergence(order: Array, *, scale: float, shift: int) -> Array:
    """The Renyi divergence at finite orders.

    Completing the square gives alpha m^2/(2 sigma^2) + log(theta(alpha m)/theta(0))/(alpha - 1), where
    theta(c) = sum over integers x of e^(-(x-c)^2/(2 sigma^2)) has period 1 and its largest value at 0.
    """
    s = order - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.where(s > 0.0, log_theta_ratio(_offset(order, shift), scale) / s, 0.0)
    moved = shift / scale
    with np.errstate(over="ignore"):
        return order * (0.5 * moved * moved) + correction


def _divergence_upper(scale: float, shift: int, order: Array) -> Array:
    return np.maximum(raised(discrete_gaussian_divergence(order, scale=scale, shift=shift), law_error(order)), TINY)
