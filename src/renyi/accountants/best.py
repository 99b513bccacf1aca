"""The default: the best valid answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.exact import Exact, settled
from renyi.accountants.rdp import Rdp
from renyi.events.event import Event
from renyi.privacy.interval import Interval
from renyi.privacy.relation import Relation


@dataclass(frozen=True, slots=True)
class Best(Accountant):
    """The exact composition, and the Renyi accountant where the former only dominates or has not closed its interval.

    Each upper end is valid, so the smallest is; the lower end is the exact accountant's.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _smaller(lambda accountant: accountant.answer_epsilon(event, delta, relations))

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        return _smaller(lambda accountant: accountant.answer_delta(event, epsilon, relations))


def _smaller(ask: Callable[[Accountant], Answer]) -> Answer:
    exact = ask(Exact())
    ends = exact.interval
    if settled(exact):
        return exact
    renyi = ask(Rdp())
    if renyi.interval.upper >= ends.upper:
        return exact
    # Both are true, so the lower end cannot exceed an upper one but by rounding.
    lower = min(ends.lower, renyi.interval.upper)
    return Answer(Interval(lower, renyi.interval.upper), renyi.method, renyi.relation, renyi.order)
