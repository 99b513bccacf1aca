"""The reference of the command, written from the command itself whenever the site is built: it cannot go stale.

``docs/commands.md`` holds the words around it and the marker that is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from renyi.cli.main import app

MARKER = "<!-- commands -->"
_EXAMPLES = "Examples:"
_POWER = re.compile(r"(\d+)\^(\d+)")


def reference() -> str:
    """Every command with its options and examples, as Markdown."""
    return "\n".join(line for words, command in commands() for line in section(words, command))


def commands() -> Iterator[tuple[str, Any]]:
    """The words that call a command, and the command, in the order of ``--help``."""
    yield from _leaves("renyi", typer.main.get_command(app))


def _leaves(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    for name in command.list_commands(None):
        yield from _leaves(f"{words} {name}", command.get_command(None, name))


def section(words: str, command: Any) -> list[str]:
    """One command: what it does, how it is called, its options, its examples."""
    context = command.make_context(words, [], resilient_parsing=True)
    said, _, examples = command.help.partition(_EXAMPLES)
    records = [record for one in command.params if (record := one.get_help_record(context))]
    return [
        f"## `{words}`",
        "",
        _plain(said.strip()),
        "",
        "| option | meaning |",
        "|---|---|",
        *(f"| `{_cell(name)}` | {_cell(_plain(meaning))} |" for name, meaning in records),
        "",
        *(["```text", *(" ".join(line.split()) for line in examples.split("\n") if line.strip()), "```", ""]),
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(meaning: str) -> str:
    # Stars and angle brackets are words here, not markup; powers are raised.
    return _POWER.sub(r"\1<sup>\2</sup>", meaning.replace("<=", "≤").replace("*", "\\*").replace("<", "&lt;"))
