"""YAML as we write it: mappings, lists, texts and numbers. Nothing is read here, so no parser is needed.

A text on one line is quoted as in JSON, which YAML contains; one of several lines is a literal block. Texts must come from
``plain``: without control characters, nothing in them can end a block or a quote.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Blank:
    """An empty text that its reader is asked to fill in."""

    hint: str


def yaml(values: Mapping[str, object], indent: int = 0) -> str:
    """A mapping as YAML."""
    return "".join(f"{' ' * indent}{name}:{_value(value, indent + 2)}" for name, value in values.items())


def _value(value: object, indent: int) -> str:
    """What stands behind a colon or a dash, with the end of its line."""
    match value:
        case Mapping():
            return f"\n{yaml(value, indent)}"
        case list() | tuple():
            return "\n" + "".join(f"{' ' * indent}-{_entry(each, indent + 2)}" for each in value)
        case Blank(hint):
            return f' ""  # to be filled in: {hint}\n'
        case str() if "\n" in value:
            lines = "".join(f"{' ' * indent}{line}\n" for line in value.split("\n"))
            return f" |-\n{lines}"
    return f" {_scalar(value)}\n"


def _entry(value: object, indent: int) -> str:
    if isinstance(value, Mapping):
        return " " + yaml(value, indent).lstrip()
    return _value(value, indent)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)


def _float(value: float) -> str:
    """A float that YAML 1.1 reads as one too: it wants a point before an exponent."""
    if math.isinf(value):
        return ".inf"
    mantissa, letter, exponent = repr(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{letter}{exponent}"
