"""The analytical moments accountant: compose Renyi curves as functions, convert once at the best real order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from renyi.accountants.accountant import Accountant, Answer
from renyi.composing.compose import WORK
from renyi.composing.event_laws import renyi_curve
from renyi.composing.question import Question
from renyi.composing.renyi import AtOrder, answer_at, best_order
from renyi.events.event import Event
from renyi.laws.interval import Interval
from renyi.laws.relation import Relation
from renyi.numerics.work import allowance

METHOD = "Renyi DP (analytical moments accountant)"


@dataclass(frozen=True, slots=True)
class Rdp(Accountant):
    """Renyi differential privacy, with no list of orders: the order is a real number and is optimised.

    Wang, Balle & Kasiviswanathan (2019), arXiv:1808.00087v1, for the accountant; Zhu & Wang (2019), PMLR 97, for
    Poisson samples. The lower end is trivial: a Renyi curve bounds the loss from above only.
    """

    def answer(self, event: Event, question: Question, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        worst: AtOrder | None = None
        decided = relations[0]
        covered: set[Relation] = set()
        with allowance(WORK), np.errstate(all="ignore"):
            for relation in relations:
                if relation in covered:
                    continue
                curve = renyi_curve(event, relation)
                if curve.covers_opposite:
                    covered.add(relation.opposite)
                # A relation that is cheaper at the other one's best order needs no search of its own.
                if worst is not None and answer_at(curve, question, worst.order) <= worst.value:
                    continue
                found = best_order(curve, question)
                if worst is None or found.value > worst.value:
                    worst, decided = found, relation
        assert worst is not None
        return Answer(Interval(0.0, worst.value), METHOD, decided, worst.order)
