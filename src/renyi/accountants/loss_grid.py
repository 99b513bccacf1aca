"""The privacy loss distribution as an accountant of its own."""

from __future__ import annotations

from dataclasses import dataclass

from renyi.accountants.accountant import Accountant, Answer
from renyi.composing.compose import decide
from renyi.composing.grid.grid import Grid
from renyi.composing.question import Question
from renyi.events.event import Event
from renyi.laws.relation import Relation

METHOD = "privacy loss distribution (connect the dots)"


@dataclass(frozen=True, slots=True)
class LossGrid(Accountant):
    """The privacy loss distribution on a lattice, rigorous at both ends.

    Koskela, Jalko & Honkela (2020), arXiv:1906.03049v3, for the transform; Doroshenko et al. (2022), arXiv:2207.04380v1, for
    connecting the dots.
    """

    def answer(self, event: Event, question: Question, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        decided = decide((Grid(),), event, question, relations)
        return Answer(decided.found.interval, METHOD, decided.relation, exhausted=decided.exhausted)
