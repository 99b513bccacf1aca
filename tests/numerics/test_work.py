"""An allowance counts what is computed, and ends at the same place every time."""

from __future__ import annotations

import pytest

from renyi.errors import ConvergenceError, TooLarge
from renyi.numerics.work import allowance, spend


def spent_until_refused(numbers: float, most: float) -> int:
    with allowance(most):
        for times in range(10_000):
            try:
                spend(numbers)
            except TooLarge:
                return times
    raise AssertionError("nothing was refused")


def test_without_an_allowance_everything_is_allowed():
    spend(1e30)


def test_work_is_counted_not_timed():
    assert spent_until_refused(1000.0, 1e5) == spent_until_refused(1000.0, 1e5) == 83
    assert issubclass(TooLarge, ConvergenceError)  # so that whoever tries several methods goes on with the next


def test_an_allowance_within_another_takes_no_more_than_is_left():
    with allowance(1e5):
        with allowance(1e9), pytest.raises(TooLarge):
            spend(2e5)
        with pytest.raises(TooLarge):  # what was taken inside is gone outside
            spend(1.0)


def test_an_allowance_ends_with_its_block():
    with allowance(10.0), pytest.raises(TooLarge):
        spend(1e3)
    spend(1e30)
