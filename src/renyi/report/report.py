"""An answer ready to be shown: numbers for standard output, sentences for people, a document for machines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """``lines`` hold the numbers, ``messages`` explain them, ``data`` is the JSON document."""

    lines: tuple[str, ...]
    messages: tuple[str, ...]
    data: dict[str, Any]
    promises_nothing: bool = False
    """Whether the answer is infinite (or a delta of 1), which is a true answer but promises nothing to anybody."""

    def text(self) -> str:
        """The numbers, one per line."""
        return "\n".join(self.lines)

    def json(self) -> str:
        """The whole answer as one JSON document."""
        return json.dumps(self.data, indent=2, allow_nan=False)
