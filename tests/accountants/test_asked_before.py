"""The answer to a question does not depend on what was asked before it in the same process."""

from __future__ import annotations

import functools
import gc

import pytest

import renyi
from renyi import ZCDP, Classical, Rdp

HEAVY = ZCDP(0.00020512091493171593, xi=0.10294888237183095) * 95_148
"""A run for which the composition of levels uses up the work that it is given."""


def forget() -> None:
    """Empty every cache, as if the process had just begun."""
    for one in gc.get_objects():
        if type(one) is functools._lru_cache_wrapper:  # isinstance would ask objects that answer with a warning
            one.cache_clear()


@pytest.mark.parametrize("before", [Classical(), Rdp(), None], ids=repr)
def test_a_delta_that_takes_all_the_work_is_the_same_whatever_was_asked_before(before):
    level = 2323.3300803629713
    forget()
    fresh = renyi.delta(HEAVY, epsilon=level)
    forget()
    (renyi.delta if before is None else before.delta)(HEAVY, epsilon=level)
    assert renyi.delta(HEAVY, epsilon=level) == fresh
