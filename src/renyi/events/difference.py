"""Which of two events costs more, judged by the parameters in which mechanisms and samplings declare a trend."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned, atoms
from renyi.events.sampling import Sampling

_NUMBER = re.compile(r"(\d+\.?\d*(?:e[+-]?\d+)?)")
"""A number in the text of an event."""


def dearer(first: Event, second: Event) -> bool | None:
    """Whether every difference of the second event makes it costlier (True) or cheaper (False); None if that is unknown.

    Counts, group sizes and mean numbers of runs are known to raise the cost; so are the parameters that mechanisms and
    samplings declare to be monotone. Differences in both directions, or in anything else, are unknown.
    """
    signs = set(_changes(first.canonical(), second.canonical()))
    return signs.pop() if len(signs) == 1 else None


def _changes(first: Event, second: Event) -> Iterator[bool | None]:
    """For each difference, whether it makes the second event costlier; None for one of unknown effect."""
    match first, second:
        case (Composed() | Repeated(), _) | (_, Composed() | Repeated()):
            yield from _sums(first, second)
        case (Grouped(), _) | (_, Grouped()):
            (a, m), (b, n) = _sized(first), _sized(second)
            if m != n:
                yield n > m
            yield from _changes(a, b)
        case (Tuned(a, m, s), Tuned(b, n, t)):
            if s != t:
                yield None
            if m != n:
                yield n > m
            yield from _changes(a, b)
        case (Sampled(a, s), Sampled(b, t)):
            yield from _parameters(s, t)
            yield from _changes(a, b)
        case (Mechanism(), Mechanism()):
            yield from _parameters(first, second)
        case _:
            yield None


def _sums(first: Event, second: Event) -> Iterator[bool | None]:
    """The differences of two sums: what they have in common is left out, and the rest is compared in pairs.

    Whatever is paired with whatever, the second sum costs more if each of its parts does. Parts are paired in the order of
    their numbers, so that moving one parameter past that of another release changes nothing.
    """
    a, b = dict(atoms(first, 1)), dict(atoms(second, 1))
    alike = {atom: min(count, b[atom]) for atom, count in a.items() if atom in b}
    a, b = ({atom: n for atom, m in c.items() if (n := m - alike.get(atom, 0))} for c in (a, b))
    if len(a) != len(b):
        yield None if a and b else len(b) > len(a)
        return
    for x, y in zip(sorted(a, key=_in_order), sorted(b, key=_in_order), strict=True):
        if a[x] != b[y]:
            yield b[y] > a[x]
        yield from _changes(x, y)


def _in_order(event: Event) -> list[str | float]:
    """A key by which events are sorted by their names first, and then by their numbers as numbers."""
    return [float(part) if i % 2 else part for i, part in enumerate(_NUMBER.split(repr(event)))]


def _sized(event: Event) -> tuple[Event, int]:
    """An event and its group size, 1 if it is not grouped."""
    return (event.event, event.size) if isinstance(event, Grouped) else (event, 1)


def _parameters(first: Mechanism | Sampling, second: Mechanism | Sampling) -> Iterator[bool | None]:
    if type(first) is not type(second):
        yield None
        return
    for field in fields(first):  # type: ignore[arg-type]
        a, b = getattr(first, field.name), getattr(second, field.name)
        if a != b:
            trend = first.trends().get(field.name)
            known = trend is not None and trend.low <= min(a, b) and max(a, b) <= trend.high
            yield (b > a) == trend.rising if known and trend is not None else None
