"""A limit on the work that one question may take, counted in computed numbers and never in seconds.

Expensive functions announce what they are about to compute (``spend``). A caller sets a limit (``allowance``) and, when it is
reached, goes on with another method or with the best answer so far. Because no clock is involved, the same question has the
same answer on every machine, busy or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import TypeVar

from renyi.errors import TooLarge

_NUMBERS_PER_CALL = 200.0
"""Overhead of one vectorised call, in numbers that could have been computed meanwhile."""


Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(slots=True)
class _Account:
    """The rest of an allowance, in numbers; and what is remembered and has been paid for, here or further out."""

    left: float
    paid: set[Hashable]


_account: ContextVar[_Account | None] = ContextVar("allowance", default=None)


@contextmanager
def allowance(numbers: float) -> Iterator[None]:
    """Limit the work done inside the block.

    A nested allowance is cut to what the outer one has left, and what it spends is charged to the outer one as well.
    """
    outer = _account.get()
    most = numbers if outer is None else min(numbers, outer.left)
    mine = _Account(most, set() if outer is None else outer.paid)
    token = _account.set(mine)
    try:
        yield
    finally:
        _account.reset(token)
        if outer is not None:
            outer.left -= most - mine.left


@contextmanager
def share(part: float) -> Iterator[None]:
    """Limit the work done inside the block to a fraction of what is left: for an attempt that must leave work for others."""
    account = _account.get()
    with allowance(math.inf if account is None else part * account.left):
        yield


@contextmanager
def apart(numbers: float) -> Iterator[None]:
    """Limit the work done inside the block by itself, and charge it to nobody.

    For what is remembered afterwards: if it were charged to the question that needs it first, the answer to a question
    could depend on what was asked before.
    """
    token = _account.set(_Account(numbers, set()))
    try:
        yield
    finally:
        _account.reset(token)


def remembered(*, maxsize: int, numbers: float) -> Callable[[Function], Function]:
    """An ``lru_cache`` of which every question pays the price once, whether it is the one that computes the value or not.

    So the answer to a question does not depend on what was asked before. The value itself must not depend on how much the
    question has left: it is computed ``apart``, within ``numbers``. A question that cannot pay all of it has nothing left.
    """

    def decorate(function: Function) -> Function:
        @lru_cache(maxsize=maxsize)
        def priced(*arguments: Hashable) -> tuple[object, float]:
            with apart(numbers):
                value = function(*arguments)
                account = _account.get()
                assert account is not None
                return value, numbers - account.left

        @wraps(function)
        def paid(*arguments: Hashable) -> object:
            account = _account.get()
            if account is None or (function, arguments) in account.paid:
                return priced(*arguments)[0]
            spend(0.0)
            try:
                value, price = priced(*arguments)
            except TooLarge:
                account.left = max(account.left - numbers, 0.0)
                raise
            account.left = max(account.left - price, 0.0)
            account.paid.add((function, arguments))
            return value

        paid.cache_clear = priced.cache_clear  # type: ignore[attr-defined]
        return paid  # type: ignore[return-value]

    return decorate


def spend(numbers: float, calls: int = 1) -> None:
    """Announce that ``numbers`` numbers are about to be computed in ``calls`` vectorised calls.

    Raises ``TooLarge`` if the allowance does not suffice; without an allowance nothing is counted.
    """
    account = _account.get()
    if account is not None:
        cost = numbers + calls * _NUMBERS_PER_CALL
        # "Not <=" also refuses NaN. Refused work is not done, so it is not charged: a cheaper method may still follow.
        if not cost <= account.left:
            raise TooLarge("the exact law of this event takes more work than one question is given.")
        account.left -= cost
