"""Sampling without replacement: batches of a fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.mechanism import Trend
from renyi.events.sampling import Laws, Sampling
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.relation import Relation
from renyi.sampling.replacing.fixed_size_pair import FixedSizePair
from renyi.sampling.replacing.ternary_bound import ternary_curve


@dataclass(frozen=True, slots=True)
class WithoutReplacement(Sampling):
    """A uniformly random set of ``batch`` of the ``dataset`` records, drawn anew each time.

    The size of the dataset is public, so neighbours replace one record by another. A record that is not drawn leaves its place
    to another one, which is why this costs more than a Poisson sample of the same rate, sometimes much more.
    """

    words: ClassVar[str] = "on random samples of {batch} of {dataset} records"
    monotone = {"batch": Trend(rising=True), "dataset": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "sampling without replacement: every set of batch records is equally likely in every draw, who was drawn stays "
        "secret, and the size of the dataset is public",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Balle, Barthe & Gaboardi (2018), arXiv:1807.01647v2, Theorem 9, as a symmetric profile: "
        "Zhu, Dong & Wang (2022), arXiv:2106.08567v4, Theorem 11",
        "Wang, Balle & Kasiviswanathan (2019), arXiv:1808.00087v1, Theorem 9",
    )

    batch: int
    dataset: int

    def __post_init__(self) -> None:
        check.fields(self, batch=partial(check.whole, 0), dataset=partial(check.whole, 1))
        if self.batch > self.dataset:
            raise InvalidInput(
                f"batch must be at most dataset; got batch={self.batch!r} of dataset={self.dataset!r} records."
            )

    @classmethod
    def examples(cls) -> tuple[WithoutReplacement, ...]:
        return (cls(10, 1000),)

    @property
    def rate(self) -> float:
        """The probability that a given record is in the sample."""
        return self.batch / self.dataset

    def renyi(self, inner: Laws, relation: Relation) -> RenyiCurve:
        if self.batch == 0:
            return RenyiCurve.zero()
        self._expect(relation)
        if self.batch == self.dataset:
            return inner.renyi(relation)
        curve = inner.renyi(Relation.REPLACE)
        if curve.mass > 0.0:
            raise UnsupportedError(
                f"{self} of an event with a failure mass has no theorem here: use Poisson(rate=...)."
            )
        return ternary_curve(self.rate, curve, curve, self.pair(inner, relation))

    def pair(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """The symmetric profile of ``FixedSizePair``, which dominates but is not attained."""
        self._expect(relation)
        if self.batch == self.dataset:
            return inner.pair(relation)
        base = inner.pair(Relation.REPLACE)
        return None if base is None or self.batch == 0 else FixedSizePair(base, self.rate)

    def _expect(self, relation: Relation) -> None:
        if relation is not Relation.REPLACE and self.batch > 0:
            raise UnsupportedError(
                f"{self} has no theorem here for the relation {relation.value}: in a sample of fixed size another "
                "record takes the place of one that is absent. Ask for adjacency=Adjacency.REPLACE_ONE; or, if every record is "
                "drawn independently, use Poisson(rate=...), which is another sampler and another number."
            )
