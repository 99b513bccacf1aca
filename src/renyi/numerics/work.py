"""How much work a question may take: counted in numbers that are computed, never in seconds.

Whatever takes long says what it is about to do (``spend``); whoever asks sets a limit (``allowance``) and goes on with
another method, or with what was found until then, when it is reached. The same question on another machine, or a busy one, thus
has the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from renyi.errors import TooLarge

_CALL = 200.0  # numbers that could have been computed while one call of a vectorised function is set up


@dataclass(slots=True)
class _Account:
    """What is left of an allowance."""

    left: float


_account: ContextVar[_Account | None] = ContextVar("allowance", default=None)


@contextmanager
def allowance(numbers: float) -> Iterator[None]:
    """Limit the work done inside; an allowance within another takes no more than that has left, and takes it from there."""
    outer = _account.get()
    most = numbers if outer is None else min(numbers, outer.left)
    mine = _Account(most)
    token = _account.set(mine)
    try:
        yield
    finally:
        _account.reset(token)
        if outer is not None:
            outer.left -= most - mine.left


@contextmanager
def share(part: float) -> Iterator[None]:
    """Limit the work done inside to a part of what is left: for what is worth trying, but not worth everything."""
    account = _account.get()
    with allowance(math.inf if account is None else part * account.left):
        yield


def spend(numbers: float, calls: int = 1) -> None:
    """Say that so many numbers are about to be computed, by so many calls; raises ``TooLarge`` beyond what is allowed."""
    account = _account.get()
    if account is not None:
        cost = numbers + calls * _CALL
        if not cost <= account.left:  # what is refused is not done, so it takes nothing from what comes after it
            raise TooLarge("the exact law of this event takes more work than one question is given.")
        account.left -= cost
