"""The default: the best valid answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.classical.classical import delta_below, epsilon_below, is_optimal
from renyi.accountants.exact import Exact, settled
from renyi.accountants.rdp import Rdp
from renyi.composing.common.attempt import attempt
from renyi.errors import InvalidInput, TooLarge
from renyi.events.event import Event
from renyi.events.nodes import Composed, Sampled, atoms
from renyi.laws.interval import Interval
from renyi.laws.relation import Relation
from renyi.numerics.work import allowance

WORK = 3.3e8
"""Numbers that a question may compute: at 70 to 150 million a second, as measured, two to five seconds of them."""


@dataclass(frozen=True, slots=True)
class Best(Accountant):
    """The exact composition, and the other accountants where it only dominates or has not closed its interval.

    Each upper end is valid, so the smallest is; the lower end is the exact accountant's. The composition of (epsilon, delta)
    guarantees wins where curves are flat: 100 releases whose curve is 1 at every order cost 100 by it, and 80 by their level.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        with allowance(WORK), np.errstate(all="ignore"):  # a bound may be infinite
            return _smallest(
                lambda accountant, one=event: accountant.answer_epsilon(one, delta, relations),
                event,
                lambda: is_optimal(event, relations),
                lambda bound: epsilon_below(bound, event, delta, relations),
            )

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        with allowance(WORK), np.errstate(all="ignore"):  # a bound may be infinite
            return _smallest(
                lambda accountant, one=event: accountant.answer_delta(one, epsilon, relations),
                event,
                lambda: is_optimal(event, relations),
                lambda bound: delta_below(bound, event, epsilon, relations),
            )


class _Ask(Protocol):
    def __call__(self, accountant: Accountant, one: Event = ...) -> Answer: ...


def _smallest(
    ask: _Ask,
    event: Event,
    one_level: Callable[[], bool],
    classical_below: Callable[[float], Answer | None],
) -> Answer:
    exact = ask(Exact())
    if exact.interval.lower == exact.interval.upper:
        return exact
    closed = settled(exact)
    renyi = exact if closed else attempt(lambda: ask(Rdp()), None)
    best = min(exact, renyi or exact, key=lambda answer: answer.interval.upper)
    if not closed or one_level():
        best = attempt(lambda: classical_below(best.interval.upper), None) or best
    whole = None if closed or exact.exhausted else _on_all_records(event)
    if whole is not None:
        best = min(best, ask(Exact(), whole), key=lambda answer: answer.interval.upper)
    if renyi is None and best.exhausted:
        raise TooLarge(
            "neither the law of this event nor one order of its Renyi curve is found with the work that one question is "
            "given. Ask about its parts, or describe what is nested more simply."
        )
    # All are true, so the lower end cannot exceed an upper one but by rounding.
    lower, upper = exact.interval.lower, best.interval.upper
    return replace(best, interval=Interval(min(lower, upper), upper))


def _on_all_records(event: Event) -> Event | None:
    """What dominates the event without a sampling of which only curves are known; None if it has none."""
    parts = list(atoms(event, 1))
    if not any(_by_curves(atom) for atom, _ in parts):
        return None
    try:
        found = [
            (atom.event if isinstance(atom, Sampled) and _by_curves(atom) else atom) * count for atom, count in parts
        ]
        return Composed(tuple(found)).canonical()
    except InvalidInput:  # more releases than an event may have, which a draw counts as one
        return None


def _by_curves(atom: Event) -> bool:
    return isinstance(atom, Sampled) and atom.sampling.curve_only
