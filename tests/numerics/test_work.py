"""An allowance counts what is computed, and ends at the same place every time."""

from __future__ import annotations

import pytest

from renyi.errors import ConvergenceError, TooLarge
from renyi.numerics.work import allowance, share, spend


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
        with allowance(1e9):
            spend(6e4)
            with pytest.raises(TooLarge):
                spend(6e4)
        with pytest.raises(TooLarge):  # what was computed inside is gone outside
            spend(6e4)
        spend(3e4)  # and what was refused is not


def test_a_share_is_a_part_of_what_is_left_and_calls_count():
    with allowance(1e5):
        spend(5e4)
        with share(0.5), pytest.raises(TooLarge):
            spend(3e4)
        spend(3e4)
        with pytest.raises(TooLarge):
            spend(0.0, calls=1000)
    with share(0.5):
        spend(1e30)


def test_an_allowance_ends_with_its_block():
    with allowance(10.0), pytest.raises(TooLarge):
        spend(1e3)
    spend(1e30)
