"""A statement as Markdown."""

from __future__ import annotations

import re

from renyi.report.forms.text import TITLE
from renyi.report.said import Said

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~$&])")
"""Characters that Markdown, its tables or the HTML inside it could take for markup."""


def markdown(said: Said) -> str:
    """A heading, then the section."""
    return f"# {TITLE}\n\n{section(said)}"


def section(said: Said) -> str:
    """Sentence, warnings, then every item as a row of a table; without a heading, so that it fits into any document."""
    parts = [escaped(said.sentence), ""]
    for warning in said.warnings:
        parts += [f"> **Warning:** {escaped(warning)}", ""]
    parts += ["| item | what is said |", "|---|---|"]
    parts += [f"| {item.title} | {'<br>'.join(map(escaped, item.said))} |" for item in said.items]
    return "\n".join(parts) + "\n"


def escaped(line: str) -> str:
    """A line in which nothing is markup."""
    return _MARKS.sub(r"\\\1", line)
