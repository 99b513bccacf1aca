"""Laplace noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.dots.dots import dots, excess, upper_masses
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.relation import Relation

Array = NDArray[np.float64]

_MOST_LISTED = 4_000
"""Outcomes that are listed one by one; any number from a thousand to a hundred thousand serves."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Mechanism):
    """Adds an integer x with probability proportional to ``e^(-|x|/scale)`` to a statistic of integer ``sensitivity``.

    The loss takes ``sensitivity`` + 1 values, so every answer is a finite sum. A vector of integers with noise on each
    coordinate is covered too, if ``sensitivity`` bounds how far it moves in L1 norm: at every level the worst case is the whole
    shift in one coordinate (docs/several-dimensions.md).
    """

    words: ClassVar[str] = "discrete Laplace noise (scale {scale}, sensitivity {sensitivity})"
    monotone = {"scale": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "discrete noise: one record moves the integer-valued statistic by at most the sensitivity (a vector: in L1 norm), and "
        "sampling is exact",
    )
    references: ClassVar[tuple[str, ...]] = ("Ghosh, Roughgarden & Sundararajan (2009), STOC: the geometric mechanism",)

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check.fields(self, scale=check.nonnegative, sensitivity=partial(check.whole, 1))

    @classmethod
    def examples(cls) -> tuple[DiscreteLaplace, ...]:
        return cls(1.0), cls(5.0, sensitivity=3)

    def for_group(self, size: int) -> DiscreteLaplace | None:
        moved = self.sensitivity * size
        return DiscreteLaplace(self.scale, moved) if moved <= check.LARGEST_COUNT else None

    def pair(self, relation: Relation) -> DominatingPair:
        """The law about the shift m against that about 0: all x <= 0 share a loss, all x >= m another, m - 1 lie between."""
        shift = self.sensitivity * relation.distance
        if self.scale < 1e-300:
            return FiniteLossPair.apart()
        if shift > _MOST_LISTED:
            return LongDiscreteLaplacePair(self.scale, shift)
        step = 1.0 / self.scale
        tail = -math.log1p(math.exp(-step))  # P(x <= 0) under the law about 0
        point = _log_at_centre(step)
        inner = range(1, shift)
        return FiniteLossPair(
            losses=(-shift * step, *((2 * x - shift) * step for x in inner), shift * step),
            log_p=(tail - shift * step, *(point - (shift - x) * step for x in inner), tail),
            log_q=(tail, *(point - x * step for x in inner), tail - shift * step),
        )


@dataclass(frozen=True, slots=True)
class LongDiscreteLaplacePair(DominatingPair):
    """The pair for shifts of thousands, whose profile is summed in closed form."""

    scale: float
    shift: int

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return float(self.shift) / self.scale

    @property
    def infinite_mass(self) -> float:
        return 1.0 / (1.0 + math.exp(-1.0 / self.scale)) if math.isinf(self.max_loss) else 0.0

    def reversed(self) -> LongDiscreteLaplacePair:
        return self  # mirror the integers about shift/2: x -> shift - x

    def log_profile(self, epsilon: Array) -> Array:
        """log of the profile, a sum of positive terms.

        Let k be the first x whose loss (2 x - m) u, u = 1/scale, exceeds epsilon. All x >= m give 1 - e^(epsilon - m u), and x
        from k to m - 1 a geometric sum. Together (1 + e^-u) times the profile is

            1 - e^(epsilon - m u) + e^-u (1 - e^(-(m - k) u)) (1 - e^(epsilon - (k - 1) u)).
        """
        if math.isinf(self.max_loss):
            return np.where(epsilon < math.inf, 0.0, math.log(self.infinite_mass))
        u, m, largest = 1.0 / self.scale, float(self.shift), self.max_loss
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            k = np.clip(np.floor(0.5 * (epsilon * self.scale + m)) + 1.0, 1.0, m)
            inner = np.expm1(-(m - k) * u) * np.expm1(np.minimum(epsilon - (k - 1.0) * u, 0.0))
            total = math.exp(-u) * inner - np.expm1(np.minimum(epsilon - largest, 0.0))
            inside = np.log(total) - math.log1p(math.exp(-u))
            return np.where(epsilon < -largest, np.log(-np.expm1(np.minimum(epsilon, 0.0))), inside)

    @property
    def largest_order(self) -> float:
        return math.inf

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law whose profile connects points of this one from above: divergences are at most a ten-millionth larger."""
        if math.isinf(self.max_loss):
            return RatioLaw(np.array([-math.inf]), np.array([0.0]), missing=1.0)
        return self._dotted_law

    @cached_property
    def _dotted_law(self) -> RatioLaw:
        """Masses at a few thousand losses whose profile interpolates the pair's from above."""
        largest = self.max_loss
        # Most mass has a loss within a few units of either end, or anywhere if all losses are small: points are dense at the
        # ends and even between them.
        near = largest - np.geomspace(1e-4 * min(largest, 1.0), largest, _MOST_LISTED // 2)
        half = np.unique(np.concatenate([np.linspace(0.0, largest, _MOST_LISTED // 2), near]))
        x = np.unique(np.concatenate([-half, half]))
        masses = upper_masses(dots(x, excess(self, x)))
        return RatioLaw(masses.x, masses.log_p - masses.x, masses.infinite)


def _log_at_centre(step: float) -> float:
    """log of the probability of 0: tanh(step/2)."""
    return math.log(math.tanh(0.5 * step)) if step > 1e-300 else -math.inf
