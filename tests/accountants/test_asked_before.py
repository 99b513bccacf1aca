"""The answer to a question does not depend on what was asked before it in the same process."""

from __future__ import annotations

import functools
import gc
import math

import pytest

import renyi
from renyi import ZCDP, Classical, ExponentialMechanism, FromDensities, Laplace, Poisson, Rdp
from renyi.numerics import work
from tests import examples

LOG_TWO_PI = math.log(2.0 * math.pi)

HEAVY = ZCDP(0.00020512091493171593, xi=0.10294888237183095) * 95_148
"""A run for which the composition of levels uses up the work that it is given."""


def forget() -> None:
    """Empty every cache, as if the process had just begun."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()


@pytest.mark.parametrize("before", [Classical(), Rdp(), None], ids=repr)
def test_a_delta_that_takes_all_the_work_is_the_same_whatever_was_asked_before(before):
    level = 2323.3300803629713
    forget()
    fresh = renyi.delta(HEAVY, epsilon=level)
    forget()
    (renyi.delta if before is None else before.delta)(HEAVY, epsilon=level)
    assert renyi.delta(HEAVY, epsilon=level) == fresh


def standard(x):
    return -0.5 * x * x - 0.5 * LOG_TWO_PI


def shifted(x):
    return standard(x - 1.0)


def work_of(event) -> float:
    """What a question is charged."""
    with work.allowance(1e12):
        renyi.epsilon(event, delta=1e-6)
        return 1e12 - work._account.get().left


@pytest.mark.parametrize(
    "event",
    [
        ZCDP(0.5),
        ZCDP(0.01, xi=0.1).on(Poisson(0.1)) * 3,
        ExponentialMechanism(0.3) * 5 + Laplace(3.0),
        FromDensities(shifted, standard, -9.0, 10.0),
        HEAVY,
    ],
    ids=examples.label,
)
def test_a_question_is_charged_as_much_the_second_time(event):
    """But for calls that are too small to matter."""
    forget()
    first = work_of(event)
    assert work_of(event) == pytest.approx(first, rel=1e-3, abs=1e5)
