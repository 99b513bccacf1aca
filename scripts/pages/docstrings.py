"""Formulas of docstrings, which are typed for a terminal, as a page draws them: powers raised, indices lowered, ≤ for <=.

``e^(-x^2/2)`` becomes e to a raised -x²/2, ``d_a`` a d with an index. Examples and names in double backquotes stay as they are.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_APART = re.compile(r"(?<!\^)``[^`]+``|^ *(?:>>>|\.\.\.) .*$|:\w+:`[^`]*`", re.MULTILINE)
"""What is not touched: names and code, examples, roles. A name that is an exponent is part of its formula."""

_NUMBER = re.compile(r"\^(-?\d+)\b")
_POWER = re.compile(r"\^(?:``(\w+)``|(-?\w+))")
_INDEX = re.compile(r"\b([A-Za-z]|sum|delta)_([A-Za-z])\b")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def drawn(text: str) -> str:
    """The text with its formulas in reStructuredText."""
    kept: list[str] = []

    def aside(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    text = _NUMBER.sub(lambda found: found[1].translate(_RAISED), _APART.sub(aside, text))
    text = _INDEX.sub(r"\1\\ :sub:`\2`\\ ", _powers(text, kept)).replace("<=", "≤").replace(">=", "≥")
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)


def _powers(text: str, names: list[str]) -> str:
    """Exponents raised: a word, a name, or what stands between brackets that belong together; names are plain in them."""
    before, power, after = text.partition("^(")
    if power:
        end = _closing(after)
        inner = re.sub(r"\0(\d+)\0", lambda found: names[int(found[1])].strip("`"), after[:end])
        return f"{_powers(before, names)}\\ :sup:`{inner}`\\ {_powers(after[end + 1 :], names)}"
    return _POWER.sub(lambda found: f"\\ :sup:`{found[1] or found[2]}`\\ ", text)


def _closing(text: str) -> int:
    """Where the bracket closes that was opened before the text."""
    depth = 1
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    return len(text)


def _drawn(app: Sphinx, what: str, name: str, one: Any, options: Any, lines: list[str]) -> None:
    lines[:] = drawn("\n".join(lines)).split("\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _drawn, priority=900)  # after napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
