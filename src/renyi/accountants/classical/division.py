"""How delta is divided between releases and their composition: every step spends the same, and the best such share is taken.

A release offers a smaller epsilon for every larger delta of its own, and what the releases spend is missing for their
composition. Each division is a valid answer, so a search that misses the best one costs tightness and never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from renyi.accountants.classical.level_composition import Bound, Levels, composed_epsilon
from renyi.accountants.classical.release import Release
from renyi.errors import TooLarge
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import remembered

Releases = Sequence[tuple[Release, int]]

_PER_E = 16
"""Shares that are tried within a factor of e: the answer is flat about the best one, so closer ones change the third digit."""

_FIRST_STRIDE = 1024
"""Places between the shares of the first, coarse ladder, a power of two; it is halved about the best one. Places are
multiples of the stride whatever delta is, so that neighbouring questions ask the releases about the same shares."""

_FAINTEST = 1e-300
"""A delta below which none is looked for, and no step spends less."""

_HALVINGS = 24
"""Of the logarithm of delta, which has a range of 690: it is then known to 4e-5."""

_LEVEL_WORK = 1e8
"""What one level of one release may take, in computed numbers."""


def divided_delta(epsilon: float, levels: Levels, spent: float, free: Releases) -> Bound:
    """The smallest delta found at which some division stays within ``epsilon``."""
    low, high = math.log(_FAINTEST), 0.0
    best = Bound.above(1.0, "a delta of 1 promises nothing")
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = divided_epsilon(math.exp(middle), levels, spent, free)
        if found.interval.upper <= epsilon:
            high, best = middle, Bound.above(math.exp(middle), found.theorem)
        else:
            low = middle
    return best


def divided_epsilon(delta: float, levels: Levels, spent: float, free: Releases) -> Bound:
    """The smallest epsilon found for fixed levels, which spend a budget -log(1 - delta), and free releases."""
    count = sum(number for _, number in free)
    left = _budget(delta) - spent
    if left <= 0.0:
        return Bound.above(math.inf, "a failure as probable as delta")
    high = -math.expm1(-left / count) * (1.0 - 1e-12)  # so that all of them stay within delta
    low = max(min(_FAINTEST, 1e-10 * high), 5e-324)
    first, last = math.ceil(-_PER_E * math.log(max(high, 5e-324))), math.floor(-_PER_E * math.log(low))
    seen: dict[int, Bound] = {}
    pure = Bound.above(math.inf, "basic composition")

    def look(places: Iterable[int]) -> None:
        for place in places:
            if first <= place <= last and place not in seen:
                seen[place] = _spending(delta, levels, spent, free, math.exp(-place / _PER_E), closely=False)

    stride = _FIRST_STRIDE
    try:
        pure = _spending(delta, levels, spent, free, 0.0, closely=True)  # where a release's loss is bounded
        look((first, *range(-(-first // stride) * stride, last + 1, stride)))
        while stride > 1:
            stride //= 2
            below = min(seen, key=lambda place: seen[place].interval.upper, default=first) // stride * stride
            look((below - stride, below, below + stride))
        best = min(seen, key=lambda place: seen[place].interval.upper, default=first)
        seen[best] = _spending(delta, levels, spent, free, math.exp(-best / _PER_E), closely=True)
    except TooLarge:  # every division that was tried holds
        pass
    return min(pure, *seen.values(), key=lambda bound: bound.interval.upper) if seen else pure


def least_epsilon(delta: float, levels: Levels, free: Releases) -> float:
    """Below every division's epsilon: each release, and the composition, spends all of delta."""
    spending = [(one.least_epsilon(-math.expm1(math.log1p(-delta) / count)), count) for one, count in free]
    return composed_epsilon([*levels, *spending], delta).interval.upper


def _spending(delta: float, levels: Levels, spent: float, free: Releases, share: float, *, closely: bool) -> Bound:
    """The answer where every step of the free releases spends a delta of ``share``."""
    count = sum(number for _, number in free)
    composed = [*levels, *((_level(one, share), number) for one, number in free)]
    left = _budget(delta) * (1.0 - 4.0 * ULP) - raised(spent + count * _budget(share), 8.0 * ULP)
    if left < 0.0:
        return Bound.above(math.inf, "a failure as probable as delta")
    return composed_epsilon(composed, -math.expm1(-left) * (1.0 - 4.0 * ULP), closely=closely)


@remembered(maxsize=1024, numbers=_LEVEL_WORK)  # a search asks for the same few shares again and again
def _level(one: Release, share: float) -> float:
    return one.epsilon(share)


def _budget(delta: float) -> float:
    """-log(1 - delta): in these the failures of independent steps add."""
    return -math.log1p(-delta) if delta < 1.0 else math.inf
