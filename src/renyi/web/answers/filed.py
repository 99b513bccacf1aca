"""The statement that can be filed, in every form that the command writes."""

from __future__ import annotations

from typing import Any

from renyi.cli.documents.report import WRITTEN
from renyi.cli.documents.report import Form as Kind
from renyi.errors import InvalidInput
from renyi.events.document import short
from renyi.report import statement
from renyi.web.answers.answer import found
from renyi.web.form import Form

MEDIA: dict[Kind, tuple[str, str]] = {
    Kind.SENTENCE: ("text/plain", "txt"),
    Kind.TEXT: ("text/plain", "txt"),
    Kind.MARKDOWN: ("text/markdown", "md"),
    Kind.HTML: ("text/html", "html"),
    Kind.JSON: ("application/json", "json"),
    Kind.YAML: ("application/yaml", "yaml"),
    Kind.MODEL_CARD: ("text/markdown", "md"),
}
"""The media type of each form, and the suffix of its file."""


def filed(form: Form, kind: str) -> dict[str, Any]:
    """One form of the statement, as a file."""
    try:
        chosen = Kind(kind)
    except ValueError:
        raise InvalidInput(f"a statement has the forms {', '.join(MEDIA)}; got {short(kind)}.") from None
    text = WRITTEN[chosen](statement(found(form).guarantee))
    media, suffix = MEDIA[chosen]
    return {"text": text if text.endswith("\n") else f"{text}\n", "media": media, "name": f"statement.{suffix}"}
