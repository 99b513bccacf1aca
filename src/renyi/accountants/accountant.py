"""What every accountant can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from renyi import check
from renyi.accountants.guarantee import Guarantee, guarantee_of
from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency, Relation


@dataclass(frozen=True, slots=True)
class Answer:
    """An interval and how it came about: the relation that decided, and the order where there is one.

    ``settled`` says that no other accountant could improve the upper end; ``exhausted``, that nothing was found because the
    work that a question is given came to its end.
    """

    interval: Interval
    method: str
    relation: Relation
    order: float | None = None
    settled: bool = False
    exhausted: bool = False


class Accountant(ABC):
    """A stateless strategy: an event and an adjacency in, an interval out."""

    @abstractmethod
    def answer(self, event: Event, question: Question, relations: tuple[Relation, ...]) -> Answer:
        """The answer for a canonical event: that of the worst of the relations."""

    def epsilon(self, event: Event, *, delta: float, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> Interval:
        """Where epsilon lies, at this delta."""
        event, adjacency = expect(event, adjacency)
        return self.answer(event, EpsilonAt(check.asked_delta(delta=delta)), adjacency.relations).interval

    def delta(self, event: Event, *, epsilon: float, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE) -> Interval:
        """Where delta lies, at this epsilon."""
        event, adjacency = expect(event, adjacency)
        return self.answer(event, DeltaAt(check.asked_epsilon(epsilon=epsilon)), adjacency.relations).interval

    def guarantee(
        self,
        event: Event,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    ) -> Guarantee:
        """The full answer at this delta, or at this epsilon."""
        event, adjacency = expect(event, adjacency)
        if (delta is None) == (epsilon is None):
            raise InvalidInput("give either delta or epsilon; the guarantee is about the other one.")
        question: Question
        if delta is not None:
            question = EpsilonAt(check.asked_delta(delta=delta))
        else:
            question = DeltaAt(check.asked_epsilon(epsilon=epsilon))
        found = self.answer(event, question, adjacency.relations)
        return guarantee_of(event, question, adjacency, found.interval, found.method, found.relation, found.order)


def expect(event: object, adjacency: object) -> tuple[Event, Adjacency]:
    """The event in canonical form and the adjacency, or an error that says what to pass."""
    if not isinstance(event, Event):
        raise InvalidInput(
            f"the first argument must be an event, such as Gaussian(1.1).on(Poisson(0.01)) * 1000; got {event!r}. "
            "Several events at once come as a list or a tuple; what dp-accounting or Opacus made becomes an event by "
            "renyi.interop.from_dp_event or from_opacus."
        )
    return event.canonical(), Adjacency.of(adjacency=adjacency)
