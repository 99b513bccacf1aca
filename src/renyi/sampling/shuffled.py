"""Shuffled batches: the records are permuted once per epoch and cut into batches of a fixed size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from renyi import check
from renyi.errors import UnsupportedError
from renyi.events.sampling import Laws, Sampling
from renyi.events.trend import Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation

Array = NDArray[np.float64]

_THRESHOLDS = 400
"""Thresholds on the largest batch sum: twice as many raise the lower end of epsilon by less than 1e-3 of it."""

_REACH = 9.0
"""How many standard deviations of the noise around the means thresholds cover: beyond lie probabilities below 1e-18."""

_LOG_SLIGHT = -650.0
"""log of a probability below which an outcome is left out, and to which the neighbour's is raised."""

_CELL_ERROR = 1e-10
"""A bound on the relative error of a cell's probability, by which losses are lowered: a lower end must hold."""


@dataclass(frozen=True, slots=True)
class Shuffled(Sampling):
    """Every epoch the records are shuffled and cut into ``steps`` batches of a fixed size, each of which is released.

    One unit of sampling is an **epoch**: ``Gaussian(1.0).on(Shuffled(1000)) * 10`` is ten epochs of a thousand batches. The
    number of records is public, so neighbours blank a record out or replace it. No theorem shows that shuffling helps: the
    upper end is that of releasing the epoch's work once without sampling, and the lower end that of an attack on the worst data
    known. What shuffled batches really cost lies between; a number for Poisson samples may lie below both.
    """

    words: ClassVar[str] = "in {steps} shuffled batches"
    turn: ClassVar[str] = "epoch"
    monotone = {"steps": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "shuffled batches: in every epoch each record is in exactly one batch of a fixed size, by a uniformly random "
        "permutation that stays secret, the number of records is public, and one repetition is one epoch",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Chua et al. (2024), arXiv:2403.17673: the lower end; docs/choosing-a-sampler.md: both ends",
    )

    steps: int

    def __post_init__(self) -> None:
        check.fields(self, steps=partial(check.whole, 1))

    @classmethod
    def examples(cls) -> tuple[Shuffled, ...]:
        return (cls(100),)

    def renyi(self, inner: Laws, relation: Relation) -> RenyiCurve:
        """Given the permutation, the record is in one batch: by convexity an epoch costs no more than that one release."""
        self._expect(relation)
        return inner.renyi(relation)

    def pair(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """The inner pair, and below it what the largest batch sum tells of the worst data known."""
        self._expect(relation)
        base = inner.pair(relation)
        return base if base is None or self.steps == 1 else ShuffledPair(base, self.steps, relation)

    def _expect(self, relation: Relation) -> None:
        if relation in (Relation.ADD, Relation.REMOVE) and self.steps > 1:
            raise UnsupportedError(
                f"{self} has no theorem here for the relation {relation.value}: if a record leaves, others move into its "
                "place, and many batches change. Ask for adjacency=Adjacency.ZERO_OUT or Adjacency.REPLACE_ONE; or draw "
                "batches by Poisson(rate=...), which is another sampler and another number."
            )


@dataclass(frozen=True)
class ShuffledPair(DominatingPair):
    """The pair of one release, which dominates a shuffled epoch of ``steps`` of them; neighbours need not attain it."""

    base: DominatingPair
    steps: int
    relation: Relation

    @property
    def attained(self) -> bool:
        return False

    def below(self) -> DominatingPair | None:
        """The pair of the largest batch sum, of Gaussian noise; of other noises nothing is known."""
        if not isinstance(self.base, GaussianPair) or self.base.noise == 0.0:
            return None
        pair = largest_sum_pair(self.base.noise * self.relation.distance, self.steps, self.relation is Relation.REPLACE)
        return pair if self.relation.record_first else pair.reversed()

    @property
    def max_loss(self) -> float:
        return self.base.max_loss

    def reversed(self) -> ShuffledPair:
        return ShuffledPair(self.base.reversed(), self.steps, self.relation.opposite)

    def log_profile(self, epsilon: Array) -> Array:
        return self.base.log_profile(epsilon)

    def profile_error(self, epsilon: float) -> float:
        return self.base.profile_error(epsilon)

    @property
    def loss_error(self) -> float:
        return self.base.loss_error

    @property
    def exact_max_loss(self) -> Fraction:
        return self.base.exact_max_loss

    @property
    def largest_order(self) -> float:
        return self.base.largest_order

    @property
    def infinite_mass(self) -> float:
        return self.base.infinite_mass

    @property
    def mass_error(self) -> float:
        return self.base.mass_error

    def renyi(self) -> RenyiCurve:
        return self.base.renyi()

    def repeated(self, count: int) -> ShuffledPair | None:
        product = self.base.repeated(count)
        return None if product is None else ShuffledPair(product, self.steps, self.relation)


def largest_sum_pair(noise: float, steps: int, replacing: bool) -> FiniteLossPair:
    """The law of how many thresholds the largest batch sum exceeds, on two neighbouring datasets: a finite pair, attained.

    All other records contribute -1 along one axis and the record +1, or 0 if it is blanked out, or -1 if it is replaced. Up to
    a common shift the record's batch then has the sum 2, 1 or 0 and every other batch 0; so with Phi the normal law,

        P(max <= C) = Phi((C - 2)/noise) Phi(C/noise)^(steps - 1),

    and the same with 1 or 0 in the place of 2 for the neighbour. Any function of what is released gives a lower end.
    """
    middle = noise * math.sqrt(2.0 * math.log(steps))  # where the largest of so many normal numbers lies, about
    points = np.linspace(min(0.0, middle - _REACH * noise), max(2.0, middle) + _REACH * noise, _THRESHOLDS)

    def log_cells(shift: float) -> Array:
        log_below = log_ndtr((points - shift) / noise) + (steps - 1.0) * log_ndtr(points / noise)
        edges = np.concatenate([[-math.inf], log_below, [0.0]])
        with np.errstate(divide="ignore"):
            return np.asarray(edges[1:] + np.log(-np.expm1(edges[:-1] - edges[1:])))

    with np.errstate(all="ignore"):
        log_p, log_q = log_cells(2.0), log_cells(0.0 if replacing else 1.0)
    # Lowering a loss lowers what the pair reveals, and so does leaving out an outcome.
    known = log_p > _LOG_SLIGHT
    losses = log_p[known] - np.maximum(log_q[known], _LOG_SLIGHT) - _CELL_ERROR
    return FiniteLossPair(losses, log_p[known] - _CELL_ERROR, log_p[known] - _CELL_ERROR - losses)
