"""A statement as an HTML table: what notebooks show, and the larger part of its page."""

from __future__ import annotations

import html

from renyi.report.said import Item, Said


def shown(said: Said) -> str:
    """Sentence, warnings and table, without a page around them."""
    return f"<p>{html.escape(said.sentence)}</p>\n{warned(said)}{table(said)}"


def warned(said: Said) -> str:
    """A paragraph for each warning."""
    return "".join(
        f'<p class="warning"><strong>Warning:</strong> {html.escape(warning)}</p>\n' for warning in said.warnings
    )


def table(said: Said) -> str:
    """Every item in its row."""
    rows = "\n".join(map(_row, said.items))
    return f"<table>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _row(item: Item) -> str:
    lines = [html.escape(line) for line in item.said]
    body = lines[0] if len(lines) == 1 else f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"
    return f'<tr class="{"known" if item.known else "absent"}"><th scope="row">{item.title}</th><td>{body}</td></tr>'
