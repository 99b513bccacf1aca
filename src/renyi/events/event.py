"""The base class of everything that costs privacy, and its operators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from renyi.signatures import Taught

if TYPE_CHECKING:
    from renyi.events.sampling import Sampling


class Algebra(NamedTuple):
    """The constructors behind the operators of an event."""

    sampled: Callable[[Event, Sampling], Event]
    repeated: Callable[[Event, int], Event]
    added: Callable[[Event, Event], Event]


class Event(metaclass=Taught):
    """Something that was, or will be, computed from the data.

    ``a + b`` is both events, ``a * n`` is n of them, ``a.on(sampling)`` is the event on a random sample. One draw feeds all of
    ``a``, so ``(a + b).on(s)`` differs from ``a.on(s) + b.on(s)``. Two events are equal if their canonical forms are.
    """

    __slots__ = ()

    # The nodes derive from this class and the JSON writer knows the nodes, so neither can be imported here. Both assign these
    # attributes when they are imported, and importing the package imports both.
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
