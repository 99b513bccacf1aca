"""The default: the best valid answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from renyi.accountants.accountant import Accountant, Answer
from renyi.accountants.classical.classical import Classical
from renyi.accountants.exact import Exact
from renyi.accountants.rdp import Rdp
from renyi.composing.method import REFUSALS, check_refusal
from renyi.composing.question import Question
from renyi.errors import InvalidInput, TooLarge, UnsupportedError
from renyi.events.event import Event
from renyi.events.nodes import Composed, Sampled, atoms
from renyi.laws.interval import Interval
from renyi.laws.relation import Relation
from renyi.numerics.work import allowance

WORK = 3.3e8
"""Numbers that a question may compute: at 70 to 150 million a second, as measured, two to five seconds of them."""

_CLASSICAL_WORK = 4e7
"""The same for the classical accountant, where others have answered already."""


@dataclass(frozen=True, slots=True)
class Best(Accountant):
    """The exact composition, and the other accountants where it only dominates or has not closed its interval.

    Each upper end is valid, so the smallest is; the lower end is the exact accountant's. The composition of (epsilon, delta)
    guarantees wins where curves are flat: 100 releases whose curve is 1 at every order cost 100 by the Renyi accountant, and
    80 by composing their pure levels.
    """

    def answer(self, event: Event, question: Question, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        with allowance(WORK), np.errstate(all="ignore"):  # a bound may be infinite
            exact = Exact().answer(event, question, relations)
            if exact.settled:
                return exact
            by_curves = _renyi(event, question, relations)
            if by_curves is None and exact.exhausted:
                raise TooLarge(
                    "neither the law of this event nor one order of its Renyi curve is found with the work that one question "
                    "is given. Ask about its parts, or describe what is nested more simply."
                )
            best = exact if by_curves is None else _smaller(exact, by_curves)
            classical = _classical(event, question, relations, best.interval.upper)
            best = best if classical is None else _smaller(best, classical)
            whole = None if exact.exhausted else _on_all_records(event)
            if whole is not None:
                best = _smaller(best, Exact().answer(whole, question, relations))
        # All are true, so the lower end cannot exceed an upper one but by rounding.
        lower, upper = exact.interval.lower, best.interval.upper
        return replace(best, interval=Interval(min(lower, upper), upper))


def _smaller(first: Answer, second: Answer) -> Answer:
    return second if second.interval.upper < first.interval.upper else first


def _renyi(event: Event, question: Question, relations: tuple[Relation, ...]) -> Answer | None:
    """The Renyi bound; None where not even one order is found."""
    try:
        return Rdp().answer(event, question, relations)
    except REFUSALS as error:
        check_refusal(error)
        return None


def _classical(event: Event, question: Question, relations: tuple[Relation, ...], bound: float) -> Answer | None:
    """The classical answer; None where there is none, or where it is surely above the bound."""
    accountant = Classical()
    try:
        with allowance(_CLASSICAL_WORK):
            if accountant.surely_exceeds(bound, event, question, relations):
                return None
            return accountant.answer(event, question, relations)
    except UnsupportedError:
        return None
    except REFUSALS as error:
        check_refusal(error)
        return None


def _on_all_records(event: Event) -> Event | None:
    """The event with every curve-only sampling removed, which dominates it; None if it has no such sampling."""
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
