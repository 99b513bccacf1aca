"""An event in words, for sentences that people read; JSON holds the exact parameters.

Every mechanism and sampling brings a template (``words``) into which its parameters are filled.
"""

from __future__ import annotations

import dataclasses

from renyi.events.event import Event
from renyi.events.mechanism import Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import Sampling

MOST_PARTS = 6
"""How many unlike parts of a run are named; the others are counted. A sentence with more is not read to its end."""


def described(event: Event) -> str:
    """An event as a noun phrase.

    >>> from renyi import Gaussian, Laplace, Poisson
    >>> described(Gaussian(1.1).on(Poisson(0.01)) * 1000 + Laplace(10))
    'Laplace noise (multiplier 10) and 1,000 steps of Gaussian noise (multiplier 1.1) on Poisson samples of rate 0.01'
    """
    parts = _parts(event.canonical(), 1)
    if not parts:
        return "nothing"
    named = [_part(part, count) for part, count in parts[:MOST_PARTS]]
    if len(parts) > MOST_PARTS:
        named.append(
            f"{sum(count for _, count in parts[MOST_PARTS:]):,} other releases of {len(parts) - MOST_PARTS:,} kinds"
        )
    return _joined(named)


def group_of(event: Event) -> int:
    """How many records at once the event is about: the size of ``Grouped`` if all of it is for groups of one size, else 1."""
    sizes = {part.size if isinstance(part, Grouped) else 1 for part, _ in _parts(event.canonical(), 1)}
    return sizes.pop() if len(sizes) == 1 else 1


def ungrouped(event: Event) -> Event:
    """What a group's event does, for a sentence that names the group elsewhere."""
    parts = _parts(event.canonical(), 1)
    return Composed(tuple((part.event if isinstance(part, Grouped) else part) * count for part, count in parts))


def is_plural(event: Event) -> bool:
    """Whether the phrase takes a verb in the plural."""
    parts = _parts(event.canonical(), 1)
    return len(parts) > 1 or any(count > 1 for _, count in parts)


def _parts(event: Event, count: int) -> list[tuple[Event, int]]:
    """The unlike parts of a canonical event, with their counts."""
    match event:
        case Composed(parts):
            return [each for part in parts for each in _parts(part, count)]
        case Repeated(inner, times):
            return _parts(inner, count * times)
    return [(event, count)]


def _part(event: Event, count: int) -> str:
    match event:
        case Sampled(inner, sampling):
            turns = f"{count:,} {sampling.turn}{'' if count == 1 else 's'}"
            return f"{turns} of {_on_one_draw(inner)} {filled(sampling)}"
        case Grouped(inner, size):
            return f"{_part(inner, count)}, for groups of {size:,} records"
        case Tuned(inner, mean, _):
            search = "the best" if count == 1 else f"{count:,} searches, each for the best"
            return f"{search} of about {number(mean)} secret runs of {described(inner)}"
        case Mechanism():
            return filled(event) if count == 1 else f"{count:,} releases of {filled(event)}"
    return repr(event)


def _on_one_draw(inner: Event) -> str:
    """What every step releases."""
    return f"{described(inner)} together" if is_plural(inner) else described(inner)


def filled(part: Mechanism | Sampling) -> str:
    """The words of a mechanism or sampling with its parameters in them."""
    parameters = {field.name: number(getattr(part, field.name)) for field in dataclasses.fields(part)}  # type: ignore[arg-type]
    if part.words:
        return part.words.format(**parameters)
    values = ", ".join(f"{name} {value}" for name, value in parameters.items())
    return f"{part.name.replace('_', ' ')} ({values})" if values else part.name.replace("_", " ")


def number(value: object) -> str:
    """A number as people write it; anything else as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _joined(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"
