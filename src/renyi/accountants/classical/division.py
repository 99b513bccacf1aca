"""How delta is divided between releases and their composition: every step spends the same, and the best such share is taken.

A release offers a smaller epsilon for every larger delta of its own, and what the releases spend is missing for their
composition. Each division is a valid answer, so a search that misses the best one costs tightness and never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from renyi.accountants.classical.level_composition import Bound, Levels, composed_delta, composed_epsilon
from renyi.accountants.classical.release import Release
from renyi.composing.question import EpsilonAt, Question
from renyi.errors import TooLarge
from renyi.numerics.rounding import ULP, raised

Releases = Sequence[tuple[Release, int]]

_PER_E = 16
"""Shares that are tried within a factor of e: the answer is flat about the best one, so closer ones change the third digit."""

_RUNGS = 12
"""Steps of the first, coarse ladder of shares; it is halved about the best one."""

_SMALLEST_SHARE = 1e-10
"""Of the largest delta that a step may spend: with less, no epsilon that matters is smaller."""

_LARGEST_FAILURE = 0.5
"""The largest delta of a step that is tried where delta is what is asked for."""


def divided(question: Question, levels: Levels, spent: float, free: Releases) -> Bound:
    """The smallest answer found for fixed levels, which spend a budget -log(1 - delta), and free releases."""
    count = sum(number for _, number in free)
    high, low = _LARGEST_FAILURE, 5e-324
    if isinstance(question, EpsilonAt):
        left = _budget(question.delta) - spent
        if left <= 0.0:
            return Bound.above(math.inf, "a failure as probable as delta")
        high = -math.expm1(-left / count) * (1.0 - 1e-12)  # so that all of them stay within delta
        low = max(_SMALLEST_SHARE * high, 5e-324)
    first, last = math.ceil(-_PER_E * math.log(max(high, 5e-324))), math.floor(-_PER_E * math.log(low))
    seen: dict[int, Bound] = {}

    def look(places: Iterable[int]) -> None:
        for place in places:
            if first <= place <= last and place not in seen:
                seen[place] = _spending(question, levels, spent, free, place, closely=False)

    stride = max((last - first) // _RUNGS, 1)
    try:
        look(range(first, max(last, first) + 1, stride))
        while stride > 1:
            stride = (stride + 1) // 2
            best = min(seen, key=lambda place: seen[place].interval.upper)
            look((best - stride, best + stride))
        best = min(seen, key=lambda place: seen[place].interval.upper, default=first)
        seen[best] = _spending(question, levels, spent, free, best, closely=True)
    except TooLarge:  # every division that was tried holds
        pass
    return min(
        seen.values(), key=lambda bound: bound.interval.upper, default=Bound.above(question.unknown.upper, "none")
    )


def least_epsilon(delta: float, levels: Levels, free: Releases) -> float:
    """Below every division's epsilon: each release, and the composition, spends all of delta."""
    spending = [(one.least_epsilon(-math.expm1(math.log1p(-delta) / count)), count) for one, count in free]
    return composed_epsilon([*levels, *spending], delta).interval.upper


def _spending(question: Question, levels: Levels, spent: float, free: Releases, place: int, *, closely: bool) -> Bound:
    """The answer where every step of the free releases spends e^(-place/16) of delta."""
    count, share = sum(number for _, number in free), math.exp(-place / _PER_E)
    composed = [*levels, *((_level(one, share), number) for one, number in free)]
    budget = raised(spent + count * _budget(share), 8.0 * ULP)
    if isinstance(question, EpsilonAt):
        left = _budget(question.delta) * (1.0 - 4.0 * ULP) - budget
        if left < 0.0:
            return Bound.above(math.inf, "a failure as probable as delta")
        return composed_epsilon(composed, -math.expm1(-left) * (1.0 - 4.0 * ULP), closely=closely)
    found = composed_delta(composed, question.epsilon, closely=closely)
    upper = found.interval.upper
    if upper >= 1.0:
        return found
    value = raised(-math.expm1(-raised(budget + _budget(upper), 4.0 * ULP)), 8.0 * ULP)
    return replace(found, interval=Bound.above(min(max(value, 5e-324), 1.0), "").interval)


@lru_cache(maxsize=1024)  # a search asks for the same few shares again and again
def _level(one: Release, share: float) -> float:
    return one.epsilon(share)


def _budget(delta: float) -> float:
    """-log(1 - delta): in these the failures of independent steps add."""
    return -math.log1p(-delta) if delta < 1.0 else math.inf
