"""A mechanism known only to be Gaussian differentially private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Adjacency, Relation

_LARGEST_NOISE = 1e300
"""Stands for the noise of mu = 0, which would be infinite: what is then revealed is below any float."""


@dataclass(frozen=True, slots=True)
class GaussianDP(Mechanism):
    """A mechanism whose neighbours are no easier to tell apart than a standard normal law and its shift by ``mu``.

    Gaussian noise with noise multiplier 1/mu is one of them, and dominates them all. Lower ends are about it: a particular
    mechanism of the same mu may cost less.
    """

    name = "gaussian_dp"
    words: ClassVar[str] = "a {mu}-Gaussian-DP mechanism"
    monotone = {"mu": Trend(rising=True)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "Gaussian differential privacy: the claimed mu holds for these neighbours",
    )
    references: ClassVar[tuple[str, ...]] = ("Dong, Roth & Su (2022), arXiv:1905.02383v3, Definition 2.6",)

    mu: float
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, mu=check.nonnegative, adjacency=Adjacency.of)

    @classmethod
    def examples(cls) -> tuple[GaussianDP, ...]:
        return cls(0.5), cls(1.4)

    def renyi(self, relation: Relation) -> RenyiCurve:
        return self.pair(relation).renyi()

    def pair(self, relation: Relation) -> GaussianPair:
        self.adjacency.expect(relation, self)
        return GaussianPair(1.0 / self.mu if self.mu > 1.0 / _LARGEST_NOISE else _LARGEST_NOISE)
