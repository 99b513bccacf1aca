"""The base of everything that costs privacy, and its algebra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from renyi.events.sampling import Sampling


class Event(ABC):
    """Something that was, or will be, computed from the data.

    ``a + b`` is both, ``a * n`` is n times, ``a.on(sampling)`` is on a random sample: one draw feeds all of ``a``, so
    ``(a + b).on(s)`` is not ``a.on(s) + b.on(s)``. Two events are equal if their canonical forms are.
    """

    __slots__ = ()

    @abstractmethod
    def canonical(self) -> Event:
        """The same event with nesting flattened, equal parts merged with counts, and parts in a fixed order."""

    def on(self, sampling: Sampling) -> Event:
        """This event on one random draw of the records."""
        from renyi.events.nodes import Sampled

        return Sampled(self, sampling)

    def __add__(self, other: object) -> Event:
        if not isinstance(other, Event):
            return NotImplemented
        from renyi.events.nodes import added

        return added(self, other)

    def __mul__(self, count: int) -> Event:
        from renyi.events.nodes import Repeated

        return Repeated(self, count).canonical()

    __rmul__ = __mul__

    def __radd__(self, other: object) -> Event:
        """0 + event is the event, so that ``sum(events)`` works."""
        return self if type(other) is int and other == 0 else NotImplemented

    def to_json(self) -> str:
        """The event as versioned JSON; ``renyi.from_json`` reads it back."""
        from renyi.events.serial import to_json

        return to_json(self)
