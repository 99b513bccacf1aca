"""A dominating pair: two laws whose privacy profile is at least that of every pair of neighbours."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from renyi.errors import UnsupportedError
from renyi.laws.curves.curve import CurveFunction, RenyiCurve
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.transform import LossTransform
from renyi.numerics.rounding import raised

Array = NDArray[np.float64]

LOSS_ROUNDING = 2e-15
"""Relative error of a loss computed from parameters: a few roundings."""


class DominatingPair(ABC):
    """Two laws (P, Q), the first dataset's and the second's, that bound a relation in every order.

    Zhu, Dong & Wang (2022), arXiv:2106.08567v4, Definition 7: H(P || Q) is at least H(M(D) || M(D')) at every
    level, so every divergence of the pair bounds the mechanism's.
    """

    @property
    @abstractmethod
    def attained(self) -> bool:
        """Whether neighbouring datasets really realise the pair under composition, so that lower ends hold too.

        Of a pair that stands for all mechanisms of a level: whether those of the worst such mechanism do.
        """

    def below(self) -> DominatingPair | None:
        """What neighbours surely realise: the pair itself where it is attained and known exactly; None where nothing is."""
        return self if self.attained else None

    @property
    @abstractmethod
    def max_loss(self) -> float:
        """The essential supremum of log(P/Q): the divergence of infinite order."""

    @abstractmethod
    def reversed(self) -> DominatingPair:
        """The pair (Q, P)."""

    @abstractmethod
    def log_profile(self, epsilon: Array) -> Array:
        """log of the hockey-stick divergence H_{e^epsilon}(P || Q), for every real epsilon."""

    def profile_error(self, epsilon: float) -> float:
        """Relative error of ``log_profile``'s exponential, as tested against 40 digits."""
        return 2e-12

    @property
    def loss_error(self) -> float:
        """By how much finite losses may be off, the largest too: close below it the profile is a matter of that."""
        # Of a pair below another only a part of the masses is held, so that its largest loss may be negative.
        return LOSS_ROUNDING * abs(self.max_loss) if self.max_loss < math.inf else 0.0

    @property
    def exact_max_loss(self) -> Fraction:
        """A finite largest loss, off by ``loss_error`` at most: another number than ``max_loss`` where no float is right."""
        return Fraction(self.max_loss)

    @property
    def largest_order(self) -> float:
        """The largest order for which there is a ``ratio_law``; 0 where there is none."""
        return 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law of log(P/Q) under Q, fine enough for divergences up to ``max_order``, at most ``largest_order``."""
        raise UnsupportedError(f"{self} gives no law of its likelihood ratio at order {max_order:g}.")

    def sampled_divergence(self, rate: float, *, adding: bool) -> CurveFunction | None:
        """The curve of (P, Q), the record with P, on a Poisson sample, error included; None where ``ratio_law`` serves.

        ``adding`` compares Q with the mixture, else the mixture with Q; 0 < rate < 1. It is for a pair that stands for many
        of which each order has its own worst.
        """
        return None

    @property
    def infinite_mass(self) -> float:
        """The probability, under P, of what Q cannot produce."""
        return 0.0

    @property
    def mass_error(self) -> float:
        """The relative error of that probability."""
        return 0.0 if self.infinite_mass in (0.0, 1.0) else 1e-14

    def transform(self) -> LossTransform | None:
        """The Laplace transform of the loss on vertical lines, None where it is not known exactly."""
        finite = self.finite()
        return None if finite is None else finite.transform()

    def resolved_law(self, order: float, frequency: float) -> RatioLaw | None:
        """The law of log(P/Q) under Q, exact to rounding for powers up to an order and a frequency; None where unknown."""
        return None

    def finite(self) -> DominatingPair | None:
        """The same pair as one with finitely many losses, where it is one or differs by less than e^-700."""
        return None

    def composed(self, other: DominatingPair) -> DominatingPair | None:
        """The product of two pairs where it is a pair of a known kind; None where it is not."""
        return None

    def repeated(self, count: int) -> DominatingPair | None:
        """The ``count``-fold product where it is a pair of a known kind; None where it is not."""
        return self if count == 1 else None

    def dominates(self, other: DominatingPair) -> bool:
        """Whether this pair is known to lie above another at every level."""
        return self == other

    def grouped(self, size: int) -> DominatingPair | None:
        """The pair of ``size`` such differences one after another where it is one of a known kind; None where it is not."""
        return self if size == 1 else None

    def renyi(self) -> RenyiCurve:
        """The Renyi curve of the pair, by its likelihood-ratio law."""
        return RenyiCurve(
            partial(_divergence_upper, self),
            limit=self.max_loss + self.loss_error,
            max_order=self.largest_order,
            covers_opposite=self.reversed() == self,
        )


Counted: TypeAlias = tuple[DominatingPair, int]
"""A pair and how often it is repeated, independently."""


def _divergence_upper(pair: DominatingPair, order: Array) -> Array:
    law = pair.ratio_law(float(order.max()))
    return raised(law.divergence(order), law_error(order) + law.error)


def law_error(order: Array) -> Array:
    """Relative error of a divergence computed from a likelihood-ratio law, as tested against 50 digits.

    Exponents as large as the order times a logarithm are rounded before they are exponentiated, so beyond an
    order of 1000 the error grows with the order.
    """
    return 4e-13 * np.maximum(1.0, order / 1000.0)
