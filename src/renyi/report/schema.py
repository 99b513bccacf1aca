"""The JSON schema of a statement."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of what ``Statement.to_json`` writes; it is shipped as ``statement.schema.json``."""
    text = files("renyi.report").joinpath("statement.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
