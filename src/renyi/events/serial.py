"""Events to versioned JSON and back.

    {"format": "renyi-event", "version": 1, "event": {"kind": "repeated", "count": 10, "event":
        {"kind": "sampled", "sampling": {"name": "poisson", "version": 1, "parameters": {"rate": 0.01}}, "event":
            {"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": {"noise_multiplier": 1.1}}}}}

Names are looked up in the registries; nothing is imported or executed because of what a document says. A document may come
from anywhere, so its size, depth and numbers are bounded before anything is built (see ``document``).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Set
from enum import Enum
from functools import lru_cache
from typing import Any

from renyi.errors import InvalidInput, MalformedEvent, NotSerialisable
from renyi.events.document import expect_size, parsed, short
from renyi.events.event import Event
from renyi.events.mechanism import MECHANISMS, Mechanism
from renyi.events.nodes import Composed, Grouped, Repeated, Sampled, Tuned
from renyi.events.sampling import SAMPLINGS, Sampling

FORMAT = "renyi-event"
VERSION = 1

_LONGEST_MESSAGE = 1000
"""Characters of an error message about a value in a document; a longer message is cut."""


def to_json(event: Event) -> str:
    """The canonical form of an event as JSON text."""
    text = json.dumps(document(event), allow_nan=False)
    try:
        expect_size(text, text.count("{"))
    except MalformedEvent as error:
        raise NotSerialisable(f"what cannot be read back is not written: {error}") from None
    return text


def from_json(text: str | bytes) -> Event:
    """The event that a JSON text describes; unknown names, versions and fields are errors, and so are oversized documents."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise MalformedEvent(f"JSON is read from text; got {short(text)} of type {type(text).__name__}.")
    return from_document(parsed(text))


def document(event: Event) -> dict[str, Any]:
    """An event as JSON values, in an envelope that says which format and version it has."""
    return {"format": FORMAT, "version": VERSION, "event": to_dict(event.canonical())}


def from_document(values: object) -> Event:
    """The event in an envelope of JSON values."""
    fields = _fields(values, "event document", {"format", "version", "event"})
    if fields["format"] != FORMAT:
        raise MalformedEvent(f"format must be {FORMAT!r}; got {short(fields['format'])}.")
    if fields["version"] != VERSION or isinstance(fields["version"], bool):
        raise MalformedEvent(
            f"this renyi reads event documents of version {VERSION}; got version {short(fields['version'])}. "
            "Use the release that wrote it, or a newer one."
        )
    try:
        return from_dict(fields["event"])
    except InvalidInput as error:
        if len(str(error)) <= _LONGEST_MESSAGE:
            raise
        raise MalformedEvent(f"{str(error)[:_LONGEST_MESSAGE]}... (cut off)") from None


def to_dict(event: Event) -> dict[str, Any]:
    """An event as JSON values, without the envelope."""
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
                raise MalformedEvent(f"events must be a list; got {short(fields['events'])}.")
            return Composed(tuple(from_dict(part) for part in fields["events"]))
        case "grouped":
            fields = _fields(document, "grouped event", {"kind", "size", "event"})
            return Grouped(from_dict(fields["event"]), fields["size"])
        case "tuned":
            fields = _fields(document, "tuned event", {"kind", "mean", "shape", "event"})
            return Tuned(from_dict(fields["event"]), fields["mean"], _tuples(fields["shape"]))  # type: ignore[arg-type]
    raise MalformedEvent(
        "an event is an object with a kind of mechanism, sampled, repeated, composed, grouped or tuned; "
        f"got {short(document)}."
    )


def _value(value: Mechanism | Sampling) -> dict[str, Any]:
    """The name, version and parameters of a mechanism or sampling."""
    parameters = {field.name: _encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}  # type: ignore[arg-type]
    for name, parameter in parameters.items():
        if not _plain(parameter):
            raise NotSerialisable(
                f"{type(value).__name__}.{name} holds {short(parameter)}, which JSON cannot carry. "
                "Give it as a table of numbers, or register a mechanism class that computes it."
            )
    return {"name": value.name, "version": value.version, "parameters": parameters}


def _instance(lookup: Any, document: object, what: str, extra: set[str]) -> Any:
    """The mechanism or sampling that a document describes, checked by its own class."""
    fields = _fields(document, what, {"name", "version", "parameters"} | extra)
    name = fields["name"]
    cls = lookup(name)
    if fields["version"] != cls.version or isinstance(fields["version"], bool):
        raise MalformedEvent(
            f"{what} {name!r} is version {cls.version} here; the document has version {short(fields['version'])}."
        )
    required, allowed = _parameters(cls)
    parameters = _fields(fields["parameters"], f"parameters of {name}", required, allowed)
    try:
        return cls(**{key: _tuples(parameter) for key, parameter in parameters.items()})
    except InvalidInput:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        # A third-party class may not check its parameters, and a document may hold anything.
        raise MalformedEvent(f"{what} {name!r} cannot have the parameters {short(parameters)}: {error}.") from None


@lru_cache(maxsize=1000)
def _parameters(cls: type) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the parameters that a class requires, and of all that it accepts."""
    fields = dataclasses.fields(cls)
    required = (field.name for field in fields if field.default is dataclasses.MISSING)
    return frozenset(required), frozenset(field.name for field in fields)


def _fields(document: object, what: str, required: Set[str], allowed: Set[str] = frozenset()) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise MalformedEvent(f"{what} must be a JSON object; got {short(document)}.")
    known = allowed or required
    if required <= document.keys() <= known:
        return document
    missing, unknown = required - document.keys(), document.keys() - known
    problem = [f"lacks {', '.join(sorted(missing))}"] if missing else []
    problem += [f"has unknown {short(sorted(unknown))}"] if unknown else []
    raise MalformedEvent(f"{what} {' and '.join(problem)}; it has the fields {', '.join(sorted(known))}.")


def _encoded(value: object) -> object:
    """A parameter as JSON: an enum by its value, infinity as text, because JSON has no infinity."""
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


Event.writer = staticmethod(to_json)
