"""The exact accountant: two ends, whatever was composed, by the methods that suit it."""

from __future__ import annotations

from dataclasses import dataclass

from renyi.accountants.accountant import Accountant, Answer
from renyi.composing.closed import Closed, Profile
from renyi.composing.compose import decide
from renyi.composing.contour.blurred import Blurred
from renyi.composing.contour.contour import Contour
from renyi.composing.contour.strip import Strip
from renyi.composing.grid.grid import Grid
from renyi.composing.method import Method
from renyi.composing.question import Question
from renyi.composing.renyi import Renyi
from renyi.composing.scales import Scales
from renyi.composing.sums import Sums
from renyi.events.event import Event
from renyi.laws.relation import Relation

METHODS: tuple[Method, ...] = (Closed(), Sums(), Contour(), Strip(), Profile(), Blurred(), Grid(), Renyi(), Scales())
"""In the order in which they are asked: each is slower than those before it, or less accurate, and covers what they do not."""


@dataclass(frozen=True, slots=True)
class Exact(Accountant):
    """Exact epsilon and delta with a lower and an upper end.

    The privacy loss of the whole run is composed per relation, from the dominating pairs of its steps: in closed form for one
    step and for Gaussians, by exact sums for finitely many losses, by contour integration for long or smooth
    compositions, on a tilted loss grid for the rest; by positive sums on lattices of many scales where those leave the ends
    far apart. The lower end is 0 where a pair only dominates.
    """

    def answer(self, event: Event, question: Question, relations: tuple[Relation, ...]) -> Answer:
        """See ``Accountant``."""
        decided = decide(METHODS, event, question, relations)
        found, ends = decided.found, decided.found.interval
        exact = ends.lower > 0.0 or ends.upper == 0.0
        method = f"{'exact composition' if exact else 'composition of dominating pairs'} ({found.words})"
        return Answer(ends, method, decided.relation, settled=found.is_settled, exhausted=decided.exhausted)
