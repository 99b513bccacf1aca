"""The privacy loss distribution as an accountant of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from renyi.accountants.accountant import Accountant, Answer
from renyi.composing.common.attempt import attempt
from renyi.composing.grid.grid import WORK, gap_for, grid_delta, grid_epsilon
from renyi.composing.steps import event_parts
from renyi.events.event import Event
from renyi.laws.counted import Part
from renyi.laws.interval import Interval
from renyi.laws.relation import Relation
from renyi.numerics.work import allowance

METHOD = "privacy loss distribution (connect the dots)"


@dataclass(frozen=True, slots=True)
class LossGrid(Accountant):
    """The privacy loss distribution on a lattice, rigorous at both ends.

    Koskela, Jalko & Honkela (2020), arXiv:1906.03049v3, for the transform; Doroshenko et al. (2022), arXiv:2207.04380v1, for
    connecting the dots.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        with allowance(WORK):
            return _worst(
                event,
                relations,
                lambda parts, floor: grid_epsilon(parts, delta, gap_for(parts), floor),
                Interval(0.0, math.inf),
            )

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        with allowance(WORK):
            return _worst(
                event,
                relations,
                lambda parts, floor: grid_delta(parts, epsilon, gap_for(parts), floor),
                Interval(0.0, 1.0),
            )


def _worst(
    event: Event,
    relations: tuple[Relation, ...],
    answer: Callable[[Sequence[Part], float], Interval],
    unknown: Interval,
) -> Answer:
    best: Answer | None = None
    for relation in relations:
        floor = 0.0 if best is None else best.interval.upper
        found = attempt(lambda: answer(event_parts(event, relation), floor), unknown)  # noqa: B023 - asked at once
        if best is None:
            best = Answer(found, METHOD, relation)
        else:
            decided = relation if found.upper > best.interval.upper else best.relation
            worst = Interval(max(found.lower, best.interval.lower), max(found.upper, best.interval.upper))
            best = Answer(worst, METHOD, decided)
    assert best is not None
    return best
