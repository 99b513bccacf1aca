"""A statement as plain text."""

from __future__ import annotations

import textwrap

from renyi.report.said import Said

TITLE = "Privacy statement"
_WIDTH = 100


def text(said: Said) -> str:
    """Title, sentence, warnings, then every item under its title."""
    parts = [TITLE, "=" * len(TITLE), "", _wrapped(said.sentence)]
    for warning in said.warnings:
        parts += ["", _wrapped(f"WARNING: {warning}")]
    for item in said.items:
        parts += ["", item.title]
        parts += [_wrapped(line, "  - " if len(item.said) > 1 else "    ") for line in item.said]
    return "\n".join(parts) + "\n"


def _wrapped(line: str, first: str = "") -> str:
    indent = " " * len(first)
    return textwrap.fill(
        line, _WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
