"""The base of everything that costs privacy, and its algebra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from renyi.events.sampling import Sampling


class Algebra(NamedTuple):
    """What the operators of an event make."""

    sampled: Callable[[Event, Sampling], Event]
    repeated: Callable[[Event, int], Event]
    added: Callable[[Event, Event], Event]


class Event(ABC):
    """Something that was, or will be, computed from the data.

    ``a + b`` is both, ``a * n`` is n times, ``a.on(sampling)`` is on a random sample: one draw feeds all of ``a``, so
    ``(a + b).on(s)`` is not ``a.on(s) + b.on(s)``. Two events are equal if their canonical forms are.
    """

    __slots__ = ()

    # Nodes derive from this class and JSON knows the nodes, so neither can be imported here: both hand in what they do when
    # they are loaded, which the package sees to.
    algebra: ClassVar[Algebra]
    writer: ClassVar[Callable[[Event], str]]

    @abstractmethod
    def canonical(self) -> Event:
        """The same event with nesting flattened, equal parts merged with counts, and parts in a fixed order."""

    def on(self, sampling: Sampling) -> Event:
        """This event on one random draw of the records."""
        return self.algebra.sampled(self, sampling)

    def __add__(self, other: object) -> Event:
        if not isinstance(other, Event):
            return NotImplemented
        return self.algebra.added(self, other)

    def __mul__(self, count: int) -> Event:
        return self.algebra.repeated(self, count).canonical()

    __rmul__ = __mul__

    def __radd__(self, other: object) -> Event:
        """0 + event is the event, so that ``sum(events)`` works."""
        return self if type(other) is int and other == 0 else NotImplemented

    def to_json(self) -> str:
        """The event as versioned JSON; ``renyi.from_json`` reads it back."""
        return Event.writer(self)
