"""One run, or several named runs, to be drawn together."""

from __future__ import annotations

from collections.abc import Mapping

from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.plots.style import SERIES, Style

Runs = Event | Mapping[str, Event]


def named(events: Runs) -> dict[str, Event]:
    """The runs by name; a single one has the empty name."""
    if isinstance(events, Event):
        return {"": events}
    if not isinstance(events, Mapping) or not events:
        raise InvalidInput(
            f"pass an event, or a dictionary of events by name such as {{'with noise 1': run}}; got {events!r}."
        )
    for name, event in events.items():
        if not isinstance(name, str) or not isinstance(event, Event):
            raise InvalidInput(f"a dictionary of events has names and events; got {name!r}: {event!r}.")
    if len(events) > len(SERIES):
        raise InvalidInput(
            f"at most {len(SERIES)} runs can be told apart in one drawing; got {len(events)}. Draw several."
        )
    return dict(events)


def styled(runs: dict[str, Event]) -> list[tuple[str, Event, Style]]:
    """Each run with its own style."""
    looks = SERIES if len(runs) > 1 else (SERIES[0].unmarked(),)
    return [(name, event, style) for (name, event), style in zip(runs.items(), looks, strict=False)]


def sentences(said: Mapping[str, object]) -> str:
    """A sentence about each run, after its name, one per line."""
    return "\n".join(f"{name}: {what}" if name else str(what) for name, what in said.items())


def suffixed(what: str, name: str) -> str:
    """A label that says which run it belongs to."""
    return f"{what}, {name}" if name else what
