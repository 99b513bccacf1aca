"""Profiles of finite pairs: against exact fractions, and of many outcomes at many levels without much memory."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from renyi.laws.pair import FiniteLossPair


def pair_of(p: list[Fraction], q: list[Fraction]) -> FiniteLossPair:
    logs = [tuple(math.log(x) for x in law) for law in (p, q)]
    return FiniteLossPair(tuple(math.log(a / b) for a, b in zip(p, q, strict=True)), *logs)


def test_the_profile_is_the_sum_of_positive_differences():
    p = [Fraction(n, 21) for n in (1, 2, 3, 4, 5, 6)]
    q = [Fraction(n, 21) for n in (6, 1, 4, 3, 2, 5)]
    levels = [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(13, 10), Fraction(9, 4)]
    truth = [sum(max(a - level * b, 0) for a, b in zip(p, q, strict=True)) for level in levels]
    epsilon = np.array([math.log(level) if level else -math.inf for level in levels])
    assert np.exp(pair_of(p, q).log_profile(epsilon)) == pytest.approx([float(x) for x in truth], rel=1e-14)
    assert pair_of(p, q).log_profile(np.array([math.log(5 / 2)]))[0] < -30.0  # the largest loss, up to rounding


def test_many_levels_of_many_outcomes_do_not_fill_the_memory():
    size, levels = 4_000, 8_000
    loss = np.linspace(-3.0, 3.0, size)
    log_p = -0.5 * (loss - 0.5) ** 2
    log_p -= np.log(np.sum(np.exp(log_p)))
    pair = FiniteLossPair(tuple(loss), tuple(log_p), tuple(log_p - loss))
    epsilon = np.linspace(0.0, 2.5, levels).reshape(2, -1)
    tracemalloc.start()
    try:
        found = pair.log_profile(epsilon)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6  # all at once they are 256 MB an array
    assert found == pytest.approx(pair.in_table().log_profile(epsilon), rel=1e-12, abs=1e-12)


def test_pairs_are_equal_by_their_outcomes_and_an_exchange_of_the_laws_is_undone():
    p, q = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    pair, shuffled = pair_of(p, q), pair_of(p[::-1], q[::-1])
    assert pair == shuffled
    assert hash(pair) == hash(shuffled)
    assert pair.reversed() == pair
    assert pair.reversed().reversed() is pair
    assert pair != pair.in_table()
    assert pair != pair_of(p, [q[0], q[2], q[1]])
    with pytest.raises(ValueError, match="read-only"):
        pair.losses[0] = 0.0


@pytest.mark.parametrize("looked_up", [False, True])
def test_two_laws_without_a_common_outcome_are_told_apart_at_every_level(looked_up):
    pair = FiniteLossPair.apart().in_table() if looked_up else FiniteLossPair.apart()
    assert pair.log_profile(np.array([0.0, 1.0, 1e300])).tolist() == [0.0, 0.0, 0.0]
    assert pair.infinite_mass == 1.0
