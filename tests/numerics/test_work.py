"""An allowance counts what is computed, and ends at the same place every time."""

from __future__ import annotations

import pytest

from renyi.errors import ConvergenceError, TooLarge
from renyi.numerics.work import allowance, remembered, share, spend


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


def test_every_question_pays_once_for_what_is_remembered():
    computed = []

    @remembered(maxsize=8, numbers=1e6)
    def doubled(x: int) -> int:
        computed.append(x)
        spend(6e4)
        return 2 * x

    for _ in range(2):  # the second question finds the value, and has as little left as the first
        with allowance(1e5):
            assert doubled(7) == doubled(7) == 14
            with share(0.5):
                assert doubled(7) == 14  # paid for further out
            with pytest.raises(TooLarge):
                spend(4e4)
            spend(3e4)
    assert doubled(7) == 14
    assert computed == [7]


def test_what_is_remembered_does_not_depend_on_who_asks_first():
    """It is computed within a limit of its own: whoever has less left gets the value, and has nothing left."""

    @remembered(maxsize=8, numbers=1e6)
    def steps_within_the_limit(size: float) -> int:
        for step in range(1000):
            try:
                spend(size)
            except TooLarge:
                return step
        return 1000

    assert steps_within_the_limit(1e5) == 9
    for _ in range(2):
        with allowance(2e5):
            assert steps_within_the_limit(1e5) == 9
            with pytest.raises(TooLarge):
                spend(0.0)
            with pytest.raises(TooLarge):
                steps_within_the_limit(2e5)
        steps_within_the_limit.cache_clear()


def test_a_refusal_is_paid_for_as_well():
    @remembered(maxsize=8, numbers=1e4)
    def too_much() -> None:
        spend(1e9)

    with allowance(1.5e4):
        for _ in range(2):
            with pytest.raises(TooLarge):
                too_much()
        with pytest.raises(TooLarge):
            spend(0.0)
