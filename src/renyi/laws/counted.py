"""A part of a composition: one pair and how often it is repeated."""

from __future__ import annotations

from dataclasses import dataclass

from renyi.laws.pair import DominatingPair


@dataclass(frozen=True, slots=True)
class Part:
    """``count`` independent repetitions of one pair.

    ``upper`` dominates what every two neighbours give; ``lower`` is dominated by what some two neighbours give under
    composition, and None where no such pair is known. Where the pair is known exactly and attained, they are the same.
    """

    upper: DominatingPair
    lower: DominatingPair | None
    count: int
