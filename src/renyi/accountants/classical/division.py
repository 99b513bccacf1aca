"""How delta is divided between releases and their composition: every step spends the same, and the best such share is taken.

A release offers a smaller epsilon for every larger delta of its own, and what the releases spend is missing for their
composition. Each division is a valid answer, so a search that misses the best one costs tightness and never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from renyi.accountants.classical.level_composition import Bound, Levels, composed_delta, composed_epsilon
from renyi.accountants.classical.release import Release
from renyi.composing.question import EpsilonAt, Question
from renyi.errors import TooLarge
from renyi.numerics.rounding import ULP, raised

Releases = Sequence[tuple[Release, int]]

_RUNGS, _FINER_RUNGS, _ZOOMS = 13, 5, 2
"""Shares that are tried at first, and then between the neighbours of the best, twice: more change the third digit at most."""

_SMALLEST_SHARE = 1e-10
"""Of the largest delta that a step may spend: with less, no epsilon that matters is smaller."""

_LARGEST_FAILURE = 0.5
"""The largest delta of a step that is tried where delta is what is asked for."""


def divided(question: Question, levels: Levels, spent: float, free: Releases) -> Bound:
    """The smallest answer found for fixed levels, which spend a budget -log(1 - delta), and free releases."""
    count = sum(number for _, number in free)
    if isinstance(question, EpsilonAt):
        left = _budget(question.delta) - spent
        if left <= 0.0:
            return Bound.above(math.inf, "a failure as probable as delta")
        high = -math.expm1(-left / count) * (1.0 - 1e-12)  # so that all of them stay within delta
        low = _SMALLEST_SHARE * high
    else:
        low, high = 5e-324, _LARGEST_FAILURE
    best, best_share = Bound.above(question.unknown.upper, "nothing"), low
    try:
        for rungs in (_RUNGS, *(_FINER_RUNGS,) * _ZOOMS):
            shares = np.geomspace(max(low, 5e-324), max(high, 5e-324), rungs)
            for share in shares.tolist():
                found = _spending(question, levels, spent, free, share, closely=False)
                if found.interval.upper < best.interval.upper:
                    best, best_share = found, share
            place = int(np.argmin(np.abs(shares - best_share)))
            low, high = float(shares[max(place - 1, 0)]), float(shares[min(place + 1, rungs - 1)])
        return min(best, _spending(question, levels, spent, free, best_share, closely=True), key=_upper)
    except TooLarge:  # every division that was tried holds
        return best


def least_epsilon(delta: float, levels: Levels, free: Releases) -> float:
    """Below every division's epsilon: each release, and the composition, spends all of delta."""
    spending = [(one.least_epsilon(-math.expm1(math.log1p(-delta) / count)), count) for one, count in free]
    return composed_epsilon([*levels, *spending], delta).interval.upper


def _spending(
    question: Question, levels: Levels, spent: float, free: Releases, share: float, *, closely: bool
) -> Bound:
    """The answer where every step of the free releases spends this share of delta."""
    count = sum(number for _, number in free)
    composed = [*levels, *((one.epsilon(share), number) for one, number in free)]
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


def _budget(delta: float) -> float:
    """-log(1 - delta): in these the failures of independent steps add."""
    return -math.log1p(-delta) if delta < 1.0 else math.inf


def _upper(bound: Bound) -> float:
    return bound.interval.upper
