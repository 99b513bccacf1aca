"""The closed ways of combining events: on a sample, several times, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

from renyi import check
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.sampling import Sampling


class _Node(Event):
    """Equality and hash by canonical form, so that (a + b) + c, c + b + a and their like are one event."""

    @cached_property
    def _canonical(self) -> Event:
        counts: dict[Event, int] = {}
        for atom, times in atoms(self, 1):
            counts[atom] = counts.get(atom, 0) + times
        return merged(counts)

    def canonical(self) -> Event:
        return self._canonical

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    @cached_property
    def _hash(self) -> int:
        mine = self.canonical()
        return hash((type(mine).__name__, *mine._key())) if isinstance(mine, _Node) else hash(mine)

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        """Only the fields travel: the hash of a string differs from process to process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Event):
            return NotImplemented
        mine, theirs = self.canonical(), other.canonical()
        if type(mine) is not type(theirs):
            return False
        return mine._key() == theirs._key() if isinstance(mine, _Node) else mine == theirs  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Sampled(_Node):
    """An event, itself free of sampling, on one random draw of the records."""

    event: Event
    sampling: Sampling

    def __post_init__(self) -> None:
        _expect_event(self.event)
        if not isinstance(self.sampling, Sampling):
            raise InvalidInput(f"an event is sampled by a sampling such as Poisson(rate=0.01); got {self.sampling!r}.")
        if not _free_of_sampling(self.event):
            raise InvalidInput(
                f"what is sampled must itself be free of sampling; got {self.event!r}. "
                "One draw feeds the whole inner event: write (a + b).on(s) for two releases on one draw, "
                "a.on(s) + b.on(s) for two draws."
            )

    def _key(self) -> tuple[object, ...]:
        return (self.event, self.sampling)


@dataclass(frozen=True, eq=False)
class Repeated(_Node):
    """An event, ``count`` times; zero times is nothing."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        _expect_event(self.event)
        check.fields(self, count=check.count)

    def _key(self) -> tuple[object, ...]:
        return (self.event, self.count)


@dataclass(frozen=True, eq=False)
class Composed(_Node):
    """Events one after another, the later ones free to depend on what the earlier ones released."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        try:
            parts = tuple(self.events)
        except TypeError:
            raise InvalidInput(f"a composition takes a sequence of events; got {self.events!r}.") from None
        for part in parts:
            _expect_event(part)
        object.__setattr__(self, "events", parts)

    def _key(self) -> tuple[object, ...]:
        return self.events


def atoms(event: Event, times: int) -> Iterator[tuple[Event, int]]:
    """The mechanisms and sampled events that an event consists of, in canonical form, with their counts."""
    match event:
        case Repeated(inner, count):
            if count:
                yield from atoms(inner, times * count)
        case Composed(parts):
            for part in parts:
                yield from atoms(part, times)
        case Sampled(inner, sampling):
            simple = inner.canonical()
            if simple != NOTHING:
                yield _fixed(event if simple is inner else Sampled(simple, sampling)), times
        case _:
            yield event, times


def merged(counts: Mapping[Event, int]) -> Event:
    """The canonical event that consists of these atoms with these counts."""
    parts = [
        atom if count == 1 else _fixed(Repeated(atom, count))
        for atom, count in sorted(counts.items(), key=_sort_key)
        if count
    ]
    return parts[0] if len(parts) == 1 else _fixed(Composed(tuple(parts)))


def _fixed(node: _Node) -> _Node:
    """Mark a node as being its own canonical form."""
    node.__dict__["_canonical"] = node
    return node


def _sort_key(item: tuple[Event, int]) -> tuple[str, str]:
    return repr(item[0]), type(item[0]).__module__


def _expect_event(value: object) -> None:
    if not isinstance(value, Event):
        raise InvalidInput(f"events are combined with events; got {value!r} of type {type(value).__name__}.")


def _free_of_sampling(event: Event) -> bool:
    match event:
        case Mechanism():
            return True
        case Repeated(inner, _):
            return _free_of_sampling(inner)
        case Composed(parts):
            return all(_free_of_sampling(part) for part in parts)
        case _:
            return False


NOTHING = _fixed(Composed(()))
"""The event that reveals nothing."""
