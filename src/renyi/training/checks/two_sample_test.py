"""Whether two random things follow one law, with no assumption about the law: by the ranks of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from renyi.training.clipping.rounding import OTHER_SIZE_HALF

DRAWS = 16  # of each, by which two laws are compared
ALARM = 1e-7  # chance of calling samples different that are not


def told_apart(one: Callable[[], Sequence[float]], other: Callable[[], Sequence[float]]) -> int | None:
    """Draw from both in turn, and say which of the numbers that they give follows different laws, if any."""
    samples = [(one(), other()) for _ in range(DRAWS)]
    for number in range(len(samples[0][0])):
        first, second = ([pair[side][number] for pair in samples] for side in (0, 1))
        if unlike(first, second, margin=OTHER_SIZE_HALF.losses):
            return number
    return None


def unlike(one: Sequence[float], other: Sequence[float], *, margin: float) -> bool:
    """Whether one sample lies above the other so much that chance would do it once in ten million times.

    The statistic of Mann and Whitney (1947): the number of pairs in which one exceeds the other, here by more than the
    margin, relative to the larger of the two. Counting fewer pairs than there are can only make the alarm rarer.
    """
    wins = sum(a - b > margin * max(abs(a), abs(b)) for a in one for b in other)
    losses = sum(b - a > margin * max(abs(a), abs(b)) for a in one for b in other)
    return max(wins, losses) >= _enough(len(one), len(other))


@cache
def _enough(first: int, second: int) -> int:
    """The least number of pairs that is reached by chance, on either side, with a probability below the alarm's."""
    counts = _arrangements(first, second)
    total, tail = math.comb(first + second, first), 0
    for pairs in range(first * second, -1, -1):
        tail += counts[pairs]
        if 2 * tail > ALARM * total:
            return pairs + 1
    return 0


def _arrangements(first: int, second: int) -> list[int]:
    """How many orders of two samples have each number of pairs: the coefficients of the Gaussian binomial."""
    counts = [1] + [0] * (first * second)
    for size in range(1, first + 1):
        for pairs in range(len(counts) - 1, second + size - 1, -1):
            counts[pairs] -= counts[pairs - second - size]
        for pairs in range(size, len(counts)):
            counts[pairs] += counts[pairs - size]
    return counts
