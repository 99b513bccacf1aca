"""A mutable builder for long compositions, which freezes them into an event at the end."""

from __future__ import annotations

from typing import Self

from renyi import check
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.events.nodes import atoms, merged


class Builder:
    """Collects events with their counts; ``build`` returns the canonical event of everything that was added.

    The time to add an event depends only on that event, not on what was added before, so a run of a million steps, or of a
    hundred thousand different ones, is collected in linear time (``a + b + c + ...`` copies the sum at each ``+``).
    """

    def __init__(self) -> None:
        self._counts: dict[Event, int] = {}

    def add(self, event: Event, count: int = 1) -> Self:
        """Append an event, ``count`` times."""
        if not isinstance(event, Event):
            raise InvalidInput(f"only events can be added; got {event!r} of type {type(event).__name__}.")
        number = 1 if type(count) is int and count == 1 else check.count(count=count)
        if event in self._counts:  # an atom that was added before, such as the step of a loop
            self._counts[event] += number
            return self
        for atom, times in atoms(event, number):
            self._counts[atom] = self._counts.get(atom, 0) + times
        return self

    def build(self) -> Event:
        """Everything added so far, as one event; more may be added afterwards."""
        return merged(self._counts)
