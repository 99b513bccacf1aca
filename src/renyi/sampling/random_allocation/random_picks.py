"""Random allocation to several steps: every record is used in k of the t steps of an epoch."""

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
from renyi.sampling.random_allocation.random_allocation import RandomAllocation


@dataclass(frozen=True, slots=True)
class RandomPicks(Sampling):
    """Each record goes to ``picks`` of the ``steps`` steps of an epoch, a uniformly random set of them, chosen independently.

    Cut the steps, in a random order, into k blocks of t/k steps, rounded up or down, and take one step of each block: a
    uniformly random set of k steps. To say which step is in which block only helps an onlooker, so an epoch costs no more than
    the composition of (t mod k) allocations to ceil(t/k) steps and the others to floor(t/k) steps. There is no lower end.
    """

    words: ClassVar[str] = "with each record in {picks} random steps of {steps}"
    turn: ClassVar[str] = "epoch"
    monotone = {"picks": Trend(rising=True)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "random picks: in every epoch each record independently goes to a uniformly random set of steps, who went where stays "
        "secret, and one repetition is one epoch",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Feldman & Shenfeld (2025), arXiv:2502.08202: k of t steps by blocks; docs/samplers/random_allocation.md",
    )

    steps: int
    picks: int

    def __post_init__(self) -> None:
        check.fields(self, steps=partial(check.whole, 1), picks=partial(check.whole, 1))
        if self.picks > self.steps:
            raise InvalidInput(f"picks must be at most steps; got {self.picks} picks of {self.steps} steps.")

    @classmethod
    def examples(cls) -> tuple[RandomPicks, ...]:
        return (cls(21, 3),)

    def blocks(self) -> tuple[tuple[RandomAllocation, int], ...]:
        """The allocations whose composition costs at least as much, with their counts; none for one pick, which has a law."""
        return () if self.picks == 1 else self._parts()

    def _parts(self) -> tuple[tuple[RandomAllocation, int], ...]:
        size, longer = divmod(self.steps, self.picks)
        counted = ((RandomAllocation(size + 1), longer), (RandomAllocation(size), self.picks - longer))
        return tuple((block, count) for block, count in counted if count)

    def renyi(self, inner: Laws, relation: Relation) -> RenyiCurve:
        self._expect(relation)
        return RenyiCurve.sum(block.renyi(inner, relation) * count for block, count in self._parts())

    def pair(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """That of the only block; None where there are several, whose pairs are composed."""
        self._expect(relation)
        ((block, count), *others) = self._parts()
        pair = block.pair(inner, relation) if not others else None
        return None if pair is None else pair.repeated(count)

    def _expect(self, relation: Relation) -> None:
        if relation is Relation.REPLACE and self.picks < self.steps:
            raise UnsupportedError(
                f"{self} has no theorem here for replace-one neighbours. It is analysed for add-or-remove and zero-out: "
                "ask for those, or use WithoutReplacement(batch=..., dataset=...) if batches are drawn anew in every step."
            )
