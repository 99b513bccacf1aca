"""Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation


@dataclass(frozen=True, slots=True)
class Gaussian(Mechanism):
    """Adds Gaussian noise of standard deviation ``noise_multiplier`` times the largest L2 norm of one contribution.

    In any dimension only the length of the shift counts, because the noise is spherically symmetric, and the longest shift is
    the worst. Replacing a record may move the sum twice as far as adding one.
    """

    words: ClassVar[str] = "Gaussian noise (multiplier {noise_multiplier})"
    monotone = {"noise_multiplier": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "Gaussian noise: each record's contribution has L2 norm at most the bound that noise_multiplier is relative to, "
        "and the noise is drawn afresh from a secure source",
    )
    references: ClassVar[tuple[str, ...]] = ("Mironov (2017), arXiv:1702.07476v3, Proposition 7",)

    noise_multiplier: float

    def __post_init__(self) -> None:
        check.fields(self, noise_multiplier=check.nonnegative)

    @classmethod
    def examples(cls) -> tuple[Gaussian, ...]:
        return cls(0.7), cls(1.0), cls(4.0)

    def renyi(self, relation: Relation) -> RenyiCurve:
        return self.pair(relation).renyi()

    def pair(self, relation: Relation) -> GaussianPair:
        return GaussianPair(self.noise_multiplier / relation.distance)
