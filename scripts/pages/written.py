"""Pages that are partly written when the site is built: Sphinx hands their text to ``commands`` and ``found``."""

from __future__ import annotations

from typing import Any

from scripts.pages import commands, found
from sphinx.application import Sphinx


def _complete(app: Sphinx, page: str, source: list[str]) -> None:
    if page == "commands":
        source[0] = source[0].replace(commands.MARKER, commands.reference())
    elif page == "checked":
        source[0] = found.filled(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", _complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
