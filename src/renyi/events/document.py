"""JSON text from an untrusted source, read into plain values: size, depth and numbers are bounded before parsing.

And what documents that are filed share: the checksum, numbers that may be infinite, texts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from itertools import accumulate
from typing import Any

from renyi.errors import InvalidInput, MalformedEvent
from renyi.events.limits import MOST_BRACKETS, MOST_CHARACTERS, MOST_DIGITS, MOST_OBJECTS

_ALL_BUT_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^]["{}]++', re.DOTALL)
"""Everything but structural brackets: whole strings, which may contain brackets, and other text. In a damaged document the last
string may lack its closing quote. Possessive quantifiers keep the match linear in the text."""

_LONG_NUMBER = re.compile(rf"(?<![-+.0-9Ee])[-+.0-9Ee]{{{MOST_DIGITS + 1}}}")
"""The start of a number with too many digits. It is looked for only where a number begins, which keeps the search linear."""


def parsed(text: str | bytes | bytearray) -> object:
    """Parse a JSON text into plain values; duplicate fields, numbers that overflow and oversized texts are errors."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise MalformedEvent(f"JSON is read from text; got {short(text)} of type {type(text).__name__}.")
    expect_size(text, 0)
    try:
        if not isinstance(text, str):
            text = text.decode(json.detect_encoding(text))
        _expect_bounded(text)
        return json.loads(text, parse_float=_real, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except MalformedEvent:
        raise
    except ValueError as error:
        raise MalformedEvent(f"this is not valid JSON: {error}. Was the file cut off?") from None


def expect_size(text: str | bytes | bytearray, objects: int) -> None:
    """Refuse a text with too many characters or too many objects."""
    if len(text) > MOST_CHARACTERS:
        raise MalformedEvent(
            f"an event document has at most {MOST_CHARACTERS:,} characters; got {len(text):,}. "
            "Write the parts of a large event as documents of their own."
        )
    if objects > MOST_OBJECTS:
        raise MalformedEvent(
            f"an event document has at most {MOST_OBJECTS:,} objects, two for each mechanism; got {objects:,}. "
            "Write the parts of a large event as documents of their own, and equal parts once, with their count."
        )


def checksum(document: dict[str, Any]) -> str:
    """A digest of JSON values, whatever the order of fields: it shows whether a document that was filed has changed."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, allow_nan=False).encode()).hexdigest()


def as_json(value: float) -> float | str:
    """A number >= 0 as JSON, which has no infinity: that is the text "inf"."""
    return "inf" if value == math.inf else value


def as_float(value: object) -> float:
    """The number that ``as_json`` wrote."""
    if value == "inf":
        return math.inf
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value < math.inf:
        raise InvalidInput(f"a number >= 0 or 'inf' is wanted; got {short(value)}.")
    return float(value)


def as_text(value: object) -> str:
    """A text, or an error."""
    if not isinstance(value, str):
        raise InvalidInput(f"a text is wanted; got {short(value)}.")
    return value


def short(value: object) -> str:
    """A value as it appears in an error message, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _expect_bounded(text: str) -> None:
    """Check depth and digits on the text itself: the parser would recurse and convert before it could be stopped."""
    brackets = _ALL_BUT_BRACKETS.sub("", text)
    expect_size(text, brackets.count("{"))
    depth = max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0)
    if depth > MOST_BRACKETS:
        raise MalformedEvent(
            f"the brackets of an event document are nested at most {MOST_BRACKETS} deep; got {depth:,}. "
            "event.to_json() flattens what it writes."
        )
    if found := _LONG_NUMBER.search(text):
        raise MalformedEvent(f"a number has at most {MOST_DIGITS} digits; got {short(found[0])}.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise MalformedEvent(f"a field is given twice among {short([name for name, _ in pairs])}.")
    return fields


def _real(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise MalformedEvent(f'no float can hold the number {short(digits)}; infinity is written as "inf".')
    return value


def _refuse_constant(name: str) -> float:
    raise MalformedEvent(f'{name} is not a JSON number; infinity is written as "inf".')
