"""Hostile JSON documents: valid ones of random events, mutated, and a few that are built to exhaust memory, stack or time."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

from numpy.random import Generator

from renyi import NotSerialisable
from tests.soundness.hostile_events import question

Document = str | bytes

_ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    0.5,
    -0.0,
    1e-320,
    1.5,
    1e308,
    "",
    "inf",
    "-inf",
    "nan",
    "1",
    "gaussian",
    "poisson",
    "ünïcödé",
    "\u202e\x00\ud800",
    [],
    {},
    [[]],
    [{}],
    [1, "2"],
    {"kind": "mechanism"},
    {"": None},
    10**18,
    -(10**18),
    10**300,
    10**308,
    10**309,
    -(10**400),
    2**4000,
    2**4001,
)
"""Values that a field may hold although it should not."""

_NUMBERS = (
    "1e400",
    "-1e400",
    "1e-400",
    "1E+999999999",
    "NaN",
    "Infinity",
    "-Infinity",
    "0x10",
    "01",
    "1.",
    ".5",
    "+1",
    "1_0",
    "١",
)
"""Numbers as text that no event has: too large, not JSON, or none."""


def _odd(rng: Generator) -> Any:
    """A copy, so that a list that is put into itself does not become a circle."""
    return copy.deepcopy(_ODD[int(rng.integers(len(_ODD)))])


def _valid(rng: Generator) -> str:
    while True:
        try:
            return question(rng).event.to_json()
        except NotSerialisable:
            continue


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    keys = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] + [place for key, item in keys for place in _places(item, (*path, key))]


def _parent(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        document = document[key]
    return document


def _with(rng: Generator, change: Callable[[Any, Any], None]) -> str:
    """A valid document in which one place, anywhere but at the root, is changed."""
    document = json.loads(_valid(rng))
    places = _places(document)[1:]
    place = places[int(rng.integers(len(places)))]
    change(_parent(document, place), place[-1])
    return json.dumps(document)


def _odd_value(rng: Generator) -> str:
    def change(parent: Any, key: Any) -> None:
        parent[key] = _odd(rng)

    return _with(rng, change)


def _several_odd_values(rng: Generator) -> str:
    document = json.loads(_valid(rng))
    for _ in range(int(rng.integers(2, 6))):
        places = _places(document)[1:]
        if not places:
            break
        place = places[int(rng.integers(len(places)))]
        _parent(document, place)[place[-1]] = _odd(rng)
    return json.dumps(document)


def _missing(rng: Generator) -> str:
    def change(parent: Any, key: Any) -> None:
        del parent[key]

    return _with(rng, change)


def _unknown_field(rng: Generator) -> str:
    def change(parent: Any, _: Any) -> None:
        if isinstance(parent, dict):
            parent["more"] = 1
        else:
            parent.append(1)

    return _with(rng, change)


def _exchanged(rng: Generator) -> str:
    """Two places of the document hold each other's values: events where numbers belong, parameters of others, ..."""
    document = json.loads(_valid(rng))
    places = _places(document)[1:]
    first, second = (places[int(rng.integers(len(places)))] for _ in range(2))
    one, other = _parent(document, first)[first[-1]], _parent(document, second)[second[-1]]
    _parent(document, second)[second[-1]] = json.loads(json.dumps(one))
    with contextlib.suppress(KeyError, TypeError, IndexError):  # the first place was inside the second
        _parent(document, first)[first[-1]] = json.loads(json.dumps(other))
    return json.dumps(document)


def _replaced_text(rng: Generator, text: str, new: str) -> str:
    """One of the numbers of a text, exchanged for another text."""
    ends = [index for index, letter in enumerate(text) if letter.isdigit()]
    start = stop = ends[int(rng.integers(len(ends)))]
    while start > 0 and text[start - 1] in "0123456789.eE+-":
        start -= 1
    while stop < len(text) and text[stop] in "0123456789.eE+-":
        stop += 1
    return text[:start] + new + text[stop:]


def _odd_number(rng: Generator) -> str:
    return _replaced_text(rng, _valid(rng), _NUMBERS[int(rng.integers(len(_NUMBERS)))])


def _many_digits(rng: Generator) -> str:
    digits = int(10 ** rng.uniform(2.0, 6.0))
    forms = (
        "1" * digits,
        "-" + "9" * digits,
        "0." + "3" * digits,
        "1" * digits + "e-" + str(digits),
        "1e" + "9" * digits,
    )
    return _replaced_text(rng, _valid(rng), forms[int(rng.integers(len(forms)))])


def _truncated(rng: Generator) -> str:
    text = _valid(rng)
    return text[: int(rng.integers(len(text)))]


def _damaged(rng: Generator) -> Document:
    """Some of its bytes are others, come twice, or are gone."""
    data = bytearray(_valid(rng).encode())
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(data))) if data else 0
        kind = int(rng.integers(3))
        if kind == 0 and data:
            data[at] = int(rng.integers(256))
        elif kind == 1:
            data[at:at] = data[at : at + int(rng.integers(1, 40))]
        else:
            del data[at : at + int(rng.integers(1, 20))]
    return bytes(data) if rng.random() < 0.5 else data.decode("utf-8", errors="surrogateescape")


def _twice(rng: Generator) -> str:
    text = _valid(rng)
    names = ("format", "version", "event", "kind", "parameters", "count")
    name = names[int(rng.integers(len(names)))]
    return text.replace(f'"{name}":', f'"{name}": 1, "{name}":', 1)


def _enveloped(event: str, version: str = "1") -> str:
    return f'{{"format": "renyi-event", "version": {version}, "event": {event}}}'


_GAUSSIAN = '{"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": {"noise_multiplier": %s}}'

_OPENINGS = (
    ('{"kind": "repeated", "count": 2, "event": ', "}"),
    ('{"kind": "composed", "events": [', "]}"),
    ('{"kind": "composed", "events": [' + _GAUSSIAN % "3.0" + ", ", "]}"),
    ('{"kind": "grouped", "size": 2, "event": ', "}"),
    ('{"kind": "tuned", "mean": 2.0, "shape": 1.0, "event": ', "}"),
    ('{"kind": "repeated", "count": 1%s, "event": ' % ("0" * 290), "}"),
)


def _nested(rng: Generator) -> str:
    depth = int(10 ** rng.uniform(1.0, 5.3))
    same = rng.random() < 0.5
    first = int(rng.integers(len(_OPENINGS)))
    picks = [_OPENINGS[first if same else int(rng.integers(len(_OPENINGS)))] for _ in range(depth)]
    inner = _GAUSSIAN % "1.0" if rng.random() < 0.8 else "null"
    return _enveloped(
        "".join(opening for opening, _ in picks) + inner + "".join(closing for _, closing in reversed(picks))
    )


def _brackets(rng: Generator) -> str:
    depth = int(10 ** rng.uniform(1.0, 6.3))
    opening, closing = (("[", "]"), ('{"a":', "}"))[int(rng.integers(2))]
    text = opening * depth + "1" + closing * depth * int(rng.integers(2))
    kind = rng.random()
    if kind < 0.3:
        return text
    return _enveloped(text) if kind < 0.6 else _enveloped(_GAUSSIAN % text)


def _wide(rng: Generator) -> str:
    """Up to a million parts: the same, unlike, or none at all."""
    parts = int(10 ** rng.uniform(2.0, 6.0))
    if rng.random() < 0.5:
        parts = min(parts, 2000)
    kind = int(rng.integers(4))
    if kind == 0:
        return _enveloped('{"kind": "composed", "events": [' + ", ".join([_GAUSSIAN % "1.0"] * parts) + "]}")
    if kind == 1:
        unlike = (_GAUSSIAN % (1.0 + number / parts) for number in range(parts))
        return _enveloped('{"kind": "composed", "events": [' + ", ".join(unlike) + "]}")
    if kind == 2:
        return _enveloped('{"kind": "composed", "events": [' + ", ".join(["1"] * parts) + "]}")
    empty = ", ".join(['{"kind": "composed", "events": []}'] * parts)
    return _enveloped('{"kind": "composed", "events": [' + empty + "]}")


def _long_vector(rng: Generator) -> str:
    """A finite pair, or a table, of up to a million rows."""
    rows = int(10 ** rng.uniform(2.0, 6.0))
    if rng.random() < 0.5:
        rows = min(rows, 5000)
    if rng.random() < 0.5:
        p = ", ".join([repr(1.0 / rows)] * rows)
        q = ", ".join(repr((number + 0.5) * 2.0 / rows**2) for number in range(rows))
        name, parameters = "finite_pair", f'"p": [{p}], "q": [{q}]'
    else:
        table = ", ".join(f"[{1.0 + number!r}, {number * 0.5!r}]" for number in range(1, rows))
        name, parameters = "from_renyi", f'"curve": [{table}]'
    return _enveloped(f'{{"kind": "mechanism", "name": "{name}", "version": 1, "parameters": {{{parameters}}}}}')


def _long_string(rng: Generator) -> str:
    text = json.dumps(("a", "é", "\x00", "\U0001f600", "\\")[int(rng.integers(5))] * int(10 ** rng.uniform(2.0, 6.5)))
    kind = int(rng.integers(4))
    if kind == 0:
        return _enveloped(_GAUSSIAN % text)
    if kind == 1:
        return _enveloped(_GAUSSIAN % "1.0", version=text)
    if kind == 2:
        return _enveloped(f'{{"kind": {text}}}')
    return _enveloped(f'{{"kind": "mechanism", "name": {text}, "version": 1, "parameters": {{}}}}')


def _many_fields(rng: Generator) -> str:
    names = ", ".join(f'"a{number}": 1' for number in range(int(10 ** rng.uniform(2.0, 5.5))))
    return _enveloped(f'{{"kind": "mechanism", "name": "gaussian", "version": 1, "parameters": {{{names}}}}}')


def _huge_count(rng: Generator) -> str:
    """Counts and sizes whose product no float holds, with their like of negative sign."""
    text = _GAUSSIAN % "1.0"
    for _ in range(int(rng.integers(1, 6))):
        number = "1" + "0" * int(rng.integers(100, 310))
        number = "-" + number if rng.random() < 0.2 else number
        name, field = (("repeated", "count"), ("grouped", "size"))[int(rng.integers(2))]
        text = f'{{"kind": "{name}", "{field}": {number}, "event": {text}}}'
    return _enveloped(text)


def _noise(rng: Generator) -> Document:
    data = rng.integers(0, 256, int(10 ** rng.uniform(0.0, 4.0)), dtype="uint8").tobytes()
    return data if rng.random() < 0.5 else data.decode("latin-1")


_COMMON: tuple[Callable[[Generator], Document], ...] = (
    _odd_value,
    _several_odd_values,
    _missing,
    _unknown_field,
    _exchanged,
    _odd_number,
    _many_digits,
    _truncated,
    _damaged,
    _twice,
    _huge_count,
)
_RARE: tuple[Callable[[Generator], Document], ...] = (
    _nested,
    _brackets,
    _wide,
    _long_vector,
    _long_string,
    _many_fields,
    _noise,
)


def document(rng: Generator) -> Document:
    """One hostile document; a fifth of them are large."""
    makers = _RARE if rng.random() < 0.2 else _COMMON
    return makers[int(rng.integers(len(makers)))](rng)
