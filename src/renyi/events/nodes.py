"""The only ways of combining events: on a sample, repeated, one after another, for a group, in a search."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial, reduce
from typing import ClassVar, NamedTuple

from renyi import check
from renyi.errors import InvalidInput
from renyi.events.event import Algebra, Event
from renyi.events.extent import NONE, Extent
from renyi.events.limits import MOST_RELEASES
from renyi.events.mechanism import Mechanism
from renyi.events.sampling import Sampling
from renyi.events.trials import gamma_of


class _Node(Event):
    """Equality and hash by canonical form, so that (a + b) + c and c + b + a are the same event."""

    _is_canonical = False
    """Whether the node is its own canonical form, as ``_fixed`` marks it."""

    @cached_property
    def _extent(self) -> Extent:
        raise NotImplementedError

    def _flatten(self) -> None:
        """Put the inner event into canonical form, in place: only while the node is being built."""
        object.__setattr__(self, "event", self.event.canonical())  # type: ignore[attr-defined]

    def _settle(self) -> None:
        """Refuse an event that is too large, after flattening nesting that has no meaning."""
        if self._extent.needs_flattening:
            self._flatten()
            del self.__dict__["_extent"]
        self._extent.expect_possible()

    @cached_property
    def _canonical(self) -> Event:
        return merged(_counted(self))

    def canonical(self) -> Event:
        return self if self._is_canonical else self._canonical

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    @cached_property
    def _hash(self) -> int:
        mine = self.canonical()
        return hash((type(mine).__name__, *mine._key())) if isinstance(mine, _Node) else hash(mine)

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        """Pickle only the fields: cached hashes are not valid in another process, where strings hash differently."""
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
    """An event, itself without sampling, on one random draw of the records."""

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
                "a.on(s) + b.on(s) for two draws, Grouped(a.on(s), size) for groups and Tuned(a.on(s), mean) for a search."
            )
        self._settle()

    @cached_property
    def _extent(self) -> Extent:
        inner = _extent(self.event)
        return Extent(depth=inner.depth + 1, nested=1, events=inner.events + 1)

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
        self._settle()

    @cached_property
    def _extent(self) -> Extent:
        depth, nested, releases, group, events = _extent(self.event)
        return Extent(depth + 1, nested, releases * self.count, group, events + 1)

    def __add__(self, other: object) -> Event:
        # A loop that records its steps one by one adds the same step again and again. Only the count grows then, so nothing
        # else is checked or sorted anew; a canonical repetition is of one atom, which counts as one release.
        if self._is_canonical and (other is self.event or other == self.event) and self.count < MOST_RELEASES:
            return _repetition(self.event, self.count + 1)
        return super().__add__(other)

    def _key(self) -> tuple[object, ...]:
        return (self.event, self.count)


@dataclass(frozen=True, eq=False)
class Composed(_Node):
    """Events one after another; later ones may depend on what earlier ones released."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        try:
            parts = tuple(self.events)
        except TypeError:
            raise InvalidInput(f"a composition takes a sequence of events; got {self.events!r}.") from None
        for part in parts:
            _expect_event(part)
        object.__setattr__(self, "events", parts)
        self._settle()

    @cached_property
    def _extent(self) -> Extent:
        return reduce(Extent.beside, map(_extent, self.events), NONE)

    def _flatten(self) -> None:
        whole = self.canonical()
        object.__setattr__(self, "events", whole.events if isinstance(whole, Composed) else (whole,))

    def _key(self) -> tuple[object, ...]:
        return self.events


@dataclass(frozen=True, eq=False)
class Grouped(_Node):
    """An event with ``size`` records protected together: one user with so many examples, or a group of people.

    A guarantee for it is about neighbours that differ in up to ``size`` records, all in the direction that is asked about.
    Grouping distributes over composition: Grouped(a + b, k) is Grouped(a, k) + Grouped(b, k).
    """

    event: Event
    size: int

    def __post_init__(self) -> None:
        _expect_event(self.event)
        check.fields(self, size=partial(check.whole, 1))
        self._settle()

    @cached_property
    def _extent(self) -> Extent:
        depth, nested, releases, group, events = _extent(self.event)
        return Extent(depth + 1, nested + 1, releases, group * self.size, events + 1)

    def _key(self) -> tuple[object, ...]:
        return (self.event, self.size)


@dataclass(frozen=True, eq=False)
class Tuned(_Node):
    """A hyperparameter search: an event is run a random number K of times, and only the best run is released.

    K has mean ``mean``. Its law is the truncated negative binomial of ``shape`` > -1 (1 is geometric, 0 logarithmic; ``gamma``
    is the other parameter), or, if ``shape`` is infinite, the Poisson law; then K may be 0 and nothing is released. K is drawn
    before the search and stays secret, and so do all runs but the best.

    References:
        Papernot & Steinke (2022), arXiv:2110.03620v2, Definition 1 and Theorems 2 and 6.
    """

    assumptions: ClassVar[tuple[str, ...]] = (
        "search: the number of runs is drawn beforehand from the stated law, it and all runs but the best stay secret, and the "
        "score by which the best is chosen is public or part of what a run releases",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Papernot & Steinke (2022), arXiv:2110.03620v2, Theorems 2 and 6: the best of a random number of runs",
    )

    event: Event
    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        _expect_event(self.event)
        if self.shape != math.inf:
            check.fields(self, shape=check.real)
        else:
            object.__setattr__(self, "shape", math.inf)
        check.fields(self, mean=check.nonnegative)
        if self.shape <= -1.0 or self.mean <= 0.0 or (self.mean < 1.0 and self.shape < math.inf):
            raise InvalidInput(
                "a search takes a mean number of runs of at least 1 and a shape above -1 (or shape=math.inf for a Poisson "
                f"number of runs, of any mean above 0); got mean={self.mean!r}, shape={self.shape!r}."
            )
        gamma_of(self.mean, self.shape)  # raises if there is no such law
        self._settle()

    @property
    def gamma(self) -> float:
        """The second parameter of the truncated negative binomial law, determined by the mean."""
        return gamma_of(self.mean, self.shape)

    @cached_property
    def _extent(self) -> Extent:
        depth, nested, releases, group, events = _extent(self.event)
        releases = releases if _is_one_run(self.mean, self.shape) else 1
        return Extent(depth + 1, nested + 1, releases, group, events + 1)

    def _key(self) -> tuple[object, ...]:
        return (self.event, self.mean, self.shape)


def atoms(event: Event, times: int) -> Iterator[tuple[Event, int]]:
    """The atoms of an event with their counts: mechanisms, and sampled, grouped and tuned events, in canonical form."""
    match event:
        case Repeated(inner, count):
            if count:
                yield from atoms(inner, times * count)
        case Composed(parts):
            for part in parts:
                yield from atoms(part, times)
        case Sampled(inner, sampling):
            simple = inner.canonical()
            if simple is not NOTHING:
                yield _fixed(event if simple is inner else Sampled(simple, sampling)), times
        case Grouped(inner, size):
            for atom, count in atoms(inner, times):
                yield _grouped(atom, size), count
        case Tuned(inner, mean, shape):
            yield from _tuned(event, inner.canonical(), mean, shape, times)
        case _:
            yield event, times


def _grouped(atom: Event, size: int) -> Event:
    """An atom for a group. Groups of groups are larger groups; a group's search is a search among the group's runs."""
    match atom:
        case _ if size == 1:
            return atom
        case Grouped(inner, smaller):
            return _fixed(Grouped(inner, smaller * size))
        case Tuned(inner, mean, shape):
            return _fixed(Tuned(Grouped(inner, size).canonical(), mean, shape))
    return _fixed(Grouped(atom, size))


def _tuned(event: Event, simple: Event, mean: float, shape: float, times: int) -> Iterator[tuple[Event, int]]:
    """The best of one run is that run; the best of nothing is nothing."""
    if _is_one_run(mean, shape):
        yield from atoms(simple, times)
    elif simple is not NOTHING:
        yield _fixed(event if isinstance(event, Tuned) and simple is event.event else Tuned(simple, mean, shape)), times


def _is_one_run(mean: float, shape: float) -> bool:
    return mean == 1.0 and shape < math.inf


def merged(counts: Mapping[Event, int]) -> Event:
    """The canonical event with these atoms and counts."""
    if len(counts) == 1:  # nothing to sort
        ((atom, count),) = counts.items()
        return _times(atom, count) if count else NOTHING
    return _Sum.of(counts).event()


class _Sum(NamedTuple):
    """Atoms with their counts, and the parts of the canonical event that they make, sorted by key.

    A canonical sum keeps its ``_Sum``, so that ``a + b + c + ...`` looks at each new part once and not again at all the others.
    """

    counts: dict[Event, int]
    keys: list[tuple[str, str]]
    parts: list[Event]
    extent: Extent

    @classmethod
    def of(cls, counts: Mapping[Event, int]) -> _Sum:
        present = {atom: count for atom, count in counts.items() if count}
        rows = sorted((_sort_key(atom), index, atom) for index, atom in enumerate(present))
        parts = [_times(atom, present[atom]) for _, _, atom in rows]
        return cls(present, [key for key, _, _ in rows], parts, reduce(Extent.beside, map(_extent, parts), NONE))

    def plus(self, more: Mapping[Event, int]) -> _Sum:
        """This sum with further atoms added."""
        counts, keys, parts, extent = self.counts.copy(), self.keys.copy(), self.parts.copy(), self.extent
        for atom, count in more.items():
            counts[atom] = counts.get(atom, 0) + count
            part, key = _times(atom, counts[atom]), _sort_key(atom)
            extent = extent.beside(_extent(part))
            at = bisect_left(keys, key)
            if atom not in self.counts:
                at = bisect_right(keys, key, lo=at)
                keys.insert(at, key)
                parts.insert(at, part)
            elif at < len(parts) and parts[at] == _times(atom, self.counts[atom]):
                extent = extent.without(_extent(parts[at]))
                parts[at] = part
            else:  # different atoms with one repr, or equal atoms with two: sort from scratch
                return _Sum.of({**self.counts, **{one: self.counts.get(one, 0) + times for one, times in more.items()}})
        return _Sum(counts, keys, parts, extent)

    def event(self) -> Event:
        """The canonical event of these atoms."""
        if len(self.parts) == 1:
            return self.parts[0]
        if not self.parts:
            return NOTHING
        whole = Composed.__new__(Composed)  # without __init__, because the parts were checked when they were added
        whole.__dict__.update(events=tuple(self.parts), _sum=self, _extent=self.extent)
        self.extent.expect_possible()
        return _fixed(whole)


def added(first: Event, second: Event) -> Event:
    """The sum of two events in canonical form."""
    large, small = first.canonical(), second.canonical()
    # Insert the shorter sum into the longer one.
    if isinstance(small, Composed) and (not isinstance(large, Composed) or len(small.events) > len(large.events)):
        large, small = small, large
    return _sum(large).plus(_counted(small)).event()


def _sum(event: Event) -> _Sum:
    """The atoms of an event, sorted; a canonical sum has kept its own."""
    known: _Sum | None = event.__dict__.get("_sum") if isinstance(event, Composed) else None
    return _Sum.of(_counted(event)) if known is None else known


def _counted(event: Event) -> dict[Event, int]:
    counts: dict[Event, int] = {}
    for atom, times in atoms(event, 1):
        counts[atom] = counts.get(atom, 0) + times
    return counts


def _times(atom: Event, count: int) -> Event:
    if count == 1:
        return atom
    return (
        _repetition(atom, count) if count <= MOST_RELEASES else Repeated(atom, count)
    )  # which says that it is too many


def _repetition(atom: Event, count: int) -> Repeated:
    """An atom several times, in canonical form; without __init__, for an atom and a possible count need no other check."""
    node = Repeated.__new__(Repeated)
    node.__dict__.update(event=atom, count=count, _is_canonical=True)
    return node


def _fixed(node: _Node) -> _Node:
    """Mark a node as being its own canonical form; by a flag, for a node that held itself would await the garbage collector."""
    node.__dict__["_is_canonical"] = True
    return node


def _sort_key(atom: Event) -> tuple[str, str]:
    """An order that does not depend on the process: hashes of strings would."""
    return repr(atom), type(atom).__module__


def _extent(event: Event) -> Extent:
    return event._extent if isinstance(event, _Node) else Extent()


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
"""The event that reveals nothing: the canonical form of every empty composition, so that ``is`` finds it."""


Event.algebra = Algebra(Sampled, Repeated, added)
