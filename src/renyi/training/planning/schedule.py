"""Schedules: factors that change over the steps of a run, fixed before it starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from renyi import check
from renyi.errors import InvalidInput

LEVELS = 100
"""Levels into which a smooth schedule is cut: the time to account for a run grows with the number of different noises."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A factor for every step, as runs of equal values: ((steps, factor), ...). The last factor also holds after its run.

    >>> Schedule.pieces((100, 1.0), (50, 0.5)).at(120)
    0.5
    """

    runs: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        try:
            pairs = [(steps, factor) for steps, factor in self.runs]
        except (TypeError, ValueError):
            raise InvalidInput(
                "a schedule is pairs of a number of steps and a factor, such as ((100, 1.0), (50, 0.5)); got "
                f"{self.runs!r}."
            ) from None
        if not pairs:
            raise InvalidInput(
                "a schedule needs at least one pair of a number of steps and a factor, such as (100, 1.0)."
            )
        checked = tuple((check.whole(1, steps=steps), check.nonnegative(factor=factor)) for steps, factor in pairs)
        object.__setattr__(self, "runs", checked)

    @classmethod
    def pieces(cls, *runs: tuple[int, float]) -> Self:
        """Runs of equal factors, one after another."""
        return cls(runs)

    @classmethod
    def linear(cls, start: float, end: float, *, steps: int, levels: int = LEVELS) -> Self:
        """From one factor to another along a straight line, in ``levels`` levels."""
        return cls(tuple(_cut(steps, levels, lambda share: start + (end - start) * share)))

    @classmethod
    def cosine(cls, start: float, end: float, *, steps: int, levels: int = LEVELS) -> Self:
        """From one factor to another along half a cosine, in ``levels`` levels."""
        return cls(tuple(_cut(steps, levels, lambda share: end + (start - end) * (1 + math.cos(math.pi * share)) / 2)))

    def then(self, other: Schedule) -> Schedule:
        """This schedule followed by another, such as a warm-up followed by a decay."""
        return Schedule(self.runs + other.runs)

    def at(self, step: int) -> float:
        """The factor of one step, counted from zero."""
        for length, factor in self.runs:
            if step < length:
                return factor
            step -= length
        return self.runs[-1][1]

    def between(self, start: int, stop: int) -> Iterator[tuple[int, float]]:
        """The runs of equal factors among the steps from ``start`` to ``stop``, the latter not included."""
        first = 0
        for length, factor in self.runs:
            count = min(first + length, stop) - max(first, start)
            if count > 0:
                yield count, factor
            first += length
        if stop > max(first, start):
            yield stop - max(first, start), self.runs[-1][1]


def _cut(steps: int, levels: int, value: Callable[[float], float]) -> Iterator[tuple[int, float]]:
    steps, levels = check.whole(1, steps=steps), min(check.whole(1, levels=levels), steps)
    edges = [round(i * steps / levels) for i in range(levels + 1)]
    for i, (low, high) in enumerate(pairwise(edges)):
        yield high - low, value(i / max(levels - 1, 1))
