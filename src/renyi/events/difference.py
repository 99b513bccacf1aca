"""Which of two events costs more, judged by the parameters in which mechanisms and samplings declare a trend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import Sampling


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
        case (Composed(a), Composed(b)) if len(a) == len(b):
            for x, y in zip(a, b, strict=True):
                yield from _changes(x, y)
        case (Composed(), _) | (_, Composed()):
            yield None if first != second else True
        case (Repeated(), _) | (_, Repeated()):
            (a, m), (b, n) = _counted(first), _counted(second)
            if m != n:
                yield n > m
            yield from _changes(a, b)
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


def _counted(event: Event) -> tuple[Event, int]:
    """An event and its count, 1 if it is not repeated: one and several repetitions are compared alike."""
    return (event.event, event.count) if isinstance(event, Repeated) else (event, 1)


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
