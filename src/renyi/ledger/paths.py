"""What may name a file: errors of ours where Python's own would come from deep inside."""

from __future__ import annotations

from pathlib import Path

from renyi.errors import InvalidInput
from renyi.events.document import short


def path_of(**named: object) -> Path:
    """The path that a text or a ``Path`` names."""
    ((what, value),) = named.items()
    try:
        path = Path(value)  # type: ignore[arg-type]
    except TypeError:
        path = Path("\0")
    if "\0" in str(path):  # no file system takes it, and Python raises a bare ValueError
        raise InvalidInput(
            f"{what} must name a file, as text or a Path; got {short(value)} of type {type(value).__name__}."
        )
    return path
