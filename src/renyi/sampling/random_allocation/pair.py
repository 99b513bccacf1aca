"""The dominating pair of one epoch of random allocation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.transform import LossTransform
from renyi.numerics.work import apart
from renyi.sampling.random_allocation.epoch_law import epoch_law
from renyi.sampling.random_allocation.gaussian.transform import AllocatedGaussianTransform

Array = NDArray[np.float64]

_LEAST_NOISE = 0.1
"""Gaussian noise below which there is no transform: ratios of e^50 and more leave nothing to integrate."""

_MOST_STEPS = 10**9
"""Steps beyond which there is no transform, whose logarithm is so small that rounding beside 1 counts, and no law."""


_LAW_WORK = 1.5e8
"""Numbers that one law on a lattice may compute: one to two seconds of them."""


@dataclass(frozen=True, slots=True)
class AllocationPair(DominatingPair):
    """The record in one of ``steps`` steps, each with the pair ``base`` (with the record, without it), against nowhere.

    Without the record (Q) the steps have independent ratios W_i, and P/Q is their mean S. Steps may depend on what earlier ones
    released: given that, the ratio of the last step lies below W in convex order, so replacing it by W raises E f(S) for every
    convex f; then the step before it, and so on.

    Removing, the pair is (P, Q), ``adding`` it is (Q, P). The profile is that of a law on a lattice, ``above`` the truth or
    below it (``epoch_law``). The transform, which there is for Gaussian noise, is that of S itself; it serves both.
    """

    base: DominatingPair
    steps: int
    adding: bool = False
    above: bool = True

    @property
    def attained(self) -> bool:
        return False

    def below(self) -> AllocationPair | None:
        """The law below, where one step's pair is attained or has one below."""
        base = self.base.below()
        return None if base is None else replace(self, base=base, above=False)

    @property
    def closed_form(self) -> bool:
        return False

    @property
    def _side(self) -> DominatingPair:
        """One step on all records, which costs more at every level (joint convexity), and has the same largest loss."""
        return self.base.reversed() if self.adding else self.base

    @property
    def max_loss(self) -> float:
        return self._side.max_loss

    @property
    def loss_error(self) -> float:
        return self._side.loss_error

    @property
    def exact_max_loss(self) -> Fraction:
        return self._side.exact_max_loss

    @property
    def infinite_mass(self) -> float:
        """Removing: that of the one step with the record. Adding: all steps must show that there is none."""
        mass = self._side.infinite_mass
        return mass**self.steps if self.adding else mass

    @property
    def mass_error(self) -> float:
        error = self._side.mass_error
        return (self.steps + 1.0) * error if self.adding else error

    def reversed(self) -> AllocationPair:
        return replace(self, adding=not self.adding)

    def log_profile(self, epsilon: Array) -> Array:
        """By the law on a lattice at losses from 0 on; below, by that of the other direction: H(y) = 1 - y + y H'(1/y)."""
        result = np.empty(epsilon.shape)
        right = epsilon >= 0.0
        if right.any():
            result[right] = self._right(epsilon[right])
        if not right.all():
            left = epsilon[~right]
            with np.errstate(divide="ignore"):
                result[~right] = np.logaddexp(np.log(-np.expm1(left)), left + self.reversed()._right(-left))
        return result

    def _right(self, epsilon: Array) -> Array:
        law = _law(self)
        if law is None:
            return self._side.log_profile(epsilon) if self.above else np.full(epsilon.shape, -np.inf)
        return np.minimum(law.log_profile(epsilon), self._side.log_profile(epsilon))

    @cached_property
    def transform(self) -> LossTransform | None:
        base = self.base
        if isinstance(base, GaussianPair) and base.noise >= _LEAST_NOISE and self.steps <= _MOST_STEPS:
            return AllocatedGaussianTransform(base.noise, self.steps, self.adding)
        return None


@lru_cache(maxsize=4)  # some ten megabytes each
def _law(pair: AllocationPair) -> FiniteLossPair | None:
    """The law on a lattice; None where it takes too much work."""
    if pair.steps > _MOST_STEPS:
        return None
    try:
        with apart(_LAW_WORK), np.errstate(all="ignore"):
            return epoch_law(pair.base, pair.steps, adding=pair.adding, upper=pair.above)
    except (ConvergenceError, ArithmeticError, ValueError, IndexError):
        return None
