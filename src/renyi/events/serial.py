"""Events as versioned JSON, both ways.

    {"format": "renyi-event", "version": 1, "event": {"kind": "repeated", "count": 10, "event":
        {"kind": "sampled", "sampling": {"name": "poisson", "version": 1, "parameters": {"rate": 0.01}}, "event":
            {"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": {"noise_multiplier": 1.1}}}}}

Names are looked up in the registries; nothing is imported or executed because of what a document says.
"""

from __future__ import annotations

import dataclasses
import json
import math
from enum import Enum
from typing import Any

from renyi.errors import InvalidInput, MalformedEvent, NotSerialisable
from renyi.events.event import Event
from renyi.events.mechanism import MECHANISMS, Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import SAMPLINGS, Sampling

FORMAT = "renyi-event"
VERSION = 1


def to_json(event: Event) -> str:
    """The canonical form of an event as JSON text."""
    document = {"format": FORMAT, "version": VERSION, "event": to_dict(event.canonical())}
    return json.dumps(document, allow_nan=False)


def from_json(text: str | bytes) -> Event:
    """The event that a JSON text describes; unknown names, versions or fields are errors."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise MalformedEvent(f"JSON is read from text; got {text!r} of type {type(text).__name__}.")
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise MalformedEvent(f"this is not valid JSON: {error}. An event is written by event.to_json().") from None
    fields = _fields(document, "event document", {"format", "version", "event"})
    if fields["format"] != FORMAT:
        raise MalformedEvent(f"format must be {FORMAT!r}; got {fields['format']!r}.")
    if fields["version"] != VERSION or isinstance(fields["version"], bool):
        raise MalformedEvent(
            f"this renyi reads event documents of version {VERSION}; got version {fields['version']!r}. "
            "Use the release that wrote it, or a newer one."
        )
    try:
        return from_dict(fields["event"])
    except RecursionError:
        raise MalformedEvent(
            "the event is nested too deeply; write it with event.to_json(), which flattens it."
        ) from None


def to_dict(event: Event) -> dict[str, Any]:
    """One event as JSON values, without the envelope."""
    match event:
        case Mechanism():
            return {"kind": "mechanism", **_value(event)}
        case Sampled(inner, sampling):
            return {"kind": "sampled", "sampling": _value(sampling), "event": to_dict(inner)}
        case Repeated(inner, count):
            return {"kind": "repeated", "count": count, "event": to_dict(inner)}
        case Composed(parts):
            return {"kind": "composed", "events": [to_dict(part) for part in parts]}
        case Grouped(inner, size):
            return {"kind": "grouped", "size": size, "event": to_dict(inner)}
        case Tuned(inner, mean, shape):
            return {"kind": "tuned", "mean": mean, "shape": _encoded(shape), "event": to_dict(inner)}
    raise NotSerialisable(f"{type(event).__name__} is not one of the kinds of event that JSON can hold.")


def from_dict(document: object) -> Event:
    """The event that JSON values describe."""
    kind = document.get("kind") if isinstance(document, dict) else None
    match kind:
        case "mechanism":
            return _instance(MECHANISMS.get, document, "mechanism", {"kind"})
        case "sampled":
            fields = _fields(document, "sampled event", {"kind", "sampling", "event"})
            sampling = _instance(SAMPLINGS.get, fields["sampling"], "sampling", set())
            return Sampled(from_dict(fields["event"]), sampling)
        case "repeated":
            fields = _fields(document, "repeated event", {"kind", "count", "event"})
            return Repeated(from_dict(fields["event"]), fields["count"])
        case "composed":
            fields = _fields(document, "composed event", {"kind", "events"})
            if not isinstance(fields["events"], list):
                raise MalformedEvent(f"events must be a list; got {_short(fields['events'])}.")
            return Composed(tuple(from_dict(part) for part in fields["events"]))
        case "grouped":
            fields = _fields(document, "grouped event", {"kind", "size", "event"})
            return Grouped(from_dict(fields["event"]), fields["size"])
        case "tuned":
            fields = _fields(document, "tuned event", {"kind", "mean", "shape", "event"})
            return Tuned(from_dict(fields["event"]), fields["mean"], _tuples(fields["shape"]))  # type: ignore[arg-type]
    raise MalformedEvent(
        "an event is an object with a kind of mechanism, sampled, repeated, composed, grouped or tuned; "
        f"got {_short(document)}."
    )


def _value(value: Mechanism | Sampling) -> dict[str, Any]:
    parameters = {field.name: _encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}  # type: ignore[arg-type]
    for name, parameter in parameters.items():
        if not _plain(parameter):
            raise NotSerialisable(
                f"{type(value).__name__}.{name} holds {_short(parameter)}, which JSON cannot carry. "
                "Give it as a table of numbers, or register a mechanism class that computes it."
            )
    return {"name": value.name, "version": value.version, "parameters": parameters}


def _instance(lookup: Any, document: object, what: str, extra: set[str]) -> Any:
    fields = _fields(document, what, {"name", "version", "parameters"} | extra)
    cls = lookup(fields["name"])
    if fields["version"] != cls.version or isinstance(fields["version"], bool):
        raise MalformedEvent(
            f"{what} {fields['name']!r} is version {cls.version} here; the document has version {fields['version']!r}."
        )
    required = {field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING}
    allowed = {field.name for field in dataclasses.fields(cls)}
    parameters = _fields(fields["parameters"], f"parameters of {fields['name']}", required, allowed)
    return cls(**{name: _tuples(parameter) for name, parameter in parameters.items()})


def _fields(document: object, what: str, required: set[str], allowed: set[str] | None = None) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise MalformedEvent(f"{what} must be a JSON object; got {_short(document)}.")
    missing, unknown = required - document.keys(), document.keys() - (allowed or required)
    if missing or unknown:
        problem = [f"lacks {', '.join(sorted(missing))}"] if missing else []
        problem += [f"has unknown {', '.join(sorted(unknown))}"] if unknown else []
        raise MalformedEvent(
            f"{what} {' and '.join(problem)}; it has the fields {', '.join(sorted(allowed or required))}."
        )
    return document


def _encoded(value: object) -> object:
    """A choice travels as its value; an infinite number as text, because JSON has none."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return tuple(_encoded(item) for item in value)
    return "inf" if value == math.inf and isinstance(value, float) else value


def _plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(_plain(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _tuples(value: object) -> object:
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return math.inf if value == "inf" else value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise InvalidInput(f"a field is given twice among {', '.join(name for name, _ in pairs)}")
    return fields


def _refuse_constant(name: str) -> float:
    raise InvalidInput(f"{name} is not a JSON number")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
