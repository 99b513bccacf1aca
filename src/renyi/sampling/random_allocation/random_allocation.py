"""Random allocation: every record is used in exactly one of the steps of an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.errors import UnsupportedError
from renyi.events.mechanism import Trend
from renyi.events.sampling import Laws, Sampling
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.ratio_law import RatioLaw
from renyi.laws.relation import Relation
from renyi.numerics.rounding import raised
from renyi.sampling.random_allocation.epoch_law import listed_epoch
from renyi.sampling.random_allocation.moments import AddMoments, RemoveMoments
from renyi.sampling.random_allocation.pair import AllocationPair
from renyi.sampling.random_allocation.real_moments import RealMoments

Array = NDArray[np.float64]

_MOST_POINTS = 1_000_000
"""Points of the law of Gaussian noise; a smaller noise, or a higher order, that needs more is left to joint convexity."""

_RELATIVE_ERROR = 1e-10
"""Relative error allowed for a divergence; tests find it below 1e-11 against integrals of 30 digits."""


@dataclass(frozen=True, slots=True)
class RandomAllocation(Sampling):
    """Each record goes to one of ``steps`` steps, chosen uniformly and independently, and is used in that step alone.

    One unit of sampling is an **epoch**: ``Gaussian(1.0).on(RandomAllocation(1000)) * 10`` is ten epochs of a thousand steps,
    allocated anew each time. A partial epoch costs as much as a whole one. The inner event is what each step runs.
    """

    words: ClassVar[str] = "with each record in 1 random step of {steps}"
    turn: ClassVar[str] = "epoch"
    monotone = {"steps": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "random allocation: in every epoch each record independently goes to one of the steps, uniformly, who went where stays "
        "secret, and one repetition is one epoch",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Feldman & Shenfeld (2025), arXiv:2502.08202, Corollary 6.2 (removing); docs/samplers/random_allocation.md (adding)",
    )

    steps: int

    def __post_init__(self) -> None:
        check.fields(self, steps=partial(check.whole, 1))

    @classmethod
    def examples(cls) -> tuple[RandomAllocation, ...]:
        return (cls(100),)

    def renyi(self, inner: Laws, relation: Relation) -> RenyiCurve:
        if self.steps == 1:
            return inner.renyi(relation)
        self._expect(relation)
        base = inner.renyi(relation)
        if base.mass > 0.0:
            raise UnsupportedError(
                f"{self} of an event with a failure mass has no theorem here: use Poisson(rate=...)."
            )
        pair = inner.pair(relation)
        known = pair if pair is None or relation.record_first else pair.reversed()  # (with the record, without it)
        if known is None or known.largest_order < 4.0:
            raise UnsupportedError(
                f"{self} of an event known only by its Renyi curve has no theorem here for adding a record, which "
                f"needs the law of the loss. Use Poisson(rate={1.0 / self.steps:g}) if records are drawn independently in "
                "every step."
            )
        listed = self._listed(known)
        if listed is not None and listed.infinite_mass == 0.0 == listed.reversed().infinite_mass:
            return (listed if relation.record_first else listed.reversed()).renyi()
        law = partial(_law, known)
        if not relation.record_first:
            return RenyiCurve(
                partial(_least, (AddMoments(self.steps, law),), base), limit=base.limit, max_order=math.inf
            )
        moments = RemoveMoments(self.steps, base), RealMoments(self.steps, law, base.at(2.0))
        return RenyiCurve(partial(_least, moments, base), limit=base.limit, max_order=math.inf, kinked=True)

    def pair(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """The pair of an epoch; None where one step is only known by its Renyi curve."""
        pair = inner.pair(relation)
        if self.steps == 1 or pair is None:
            return pair
        self._expect(relation)
        known = pair if relation.record_first else pair.reversed()  # (with the record, without it)
        listed = self._listed(known)
        if listed is not None:
            return listed if relation.record_first else listed.reversed()
        return AllocationPair(known, self.steps, adding=not relation.record_first)

    def _listed(self, known: DominatingPair) -> FiniteLossPair | None:
        """The pair of an epoch with all its outcomes, where these are few."""
        return None if known.finite is None else listed_epoch(known.finite, self.steps)

    def _expect(self, relation: Relation) -> None:
        if relation is Relation.REPLACE and self.steps > 1:
            raise UnsupportedError(
                f"{self} has no theorem here for replace-one neighbours. It is analysed for add-or-remove and zero-out: "
                "ask for those, or use WithoutReplacement(batch=..., dataset=...) if batches are drawn anew in every step."
            )


def _law(pair: DominatingPair, order: float) -> RatioLaw | None:
    """The law of one step, or None where Gaussian noise is so small that the law would have millions of points."""
    if isinstance(pair, GaussianPair) and max(order, 4.0) ** 1.5 > _MOST_POINTS * pair.noise * pair.noise:
        return None
    return pair.ratio_law(min(order, pair.largest_order))


def _least(moments: tuple[Callable[[Array], Array], ...], base: RenyiCurve, order: Array) -> Array:
    """The best of the moments and joint convexity, by which an epoch costs no more than one step on all records."""
    found = [raised(one(order), _RELATIVE_ERROR) for one in moments]
    return np.minimum.reduce([*found, base(order)])
