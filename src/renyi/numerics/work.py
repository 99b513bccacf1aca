"""A limit on the work that one question may take, counted in computed numbers and never in seconds.

Expensive functions announce what they are about to compute (``spend``). A caller sets a limit (``allowance``) and, when it is
reached, goes on with another method or with the best answer so far. Because no clock is involved, the same question has the
same answer on every machine, busy or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from renyi.errors import TooLarge

_NUMBERS_PER_CALL = 200.0
"""Overhead of one vectorised call, in numbers that could have been computed meanwhile."""


@dataclass(slots=True)
class _Account:
    """The rest of an allowance, in numbers."""

    left: float


_account: ContextVar[_Account | None] = ContextVar("allowance", default=None)


@contextmanager
def allowance(numbers: float) -> Iterator[None]:
    """Limit the work done inside the block.

    A nested allowance is cut to what the outer one has left, and what it spends is charged to the outer one as well.
    """
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
    token = _account.set(_Account(numbers))
    try:
        yield
    finally:
        _account.reset(token)


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
