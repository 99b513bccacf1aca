"""Loading another library when it is needed, and saying how to get it if it is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from renyi.errors import PrivacyError


def peer(module: str, distribution: str) -> Any:
    """A module of another library; raises ``PrivacyError`` with the line that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise PrivacyError(
            f"this needs {distribution}, which cannot be imported ({error}): pip install {distribution}, or "
            "pip install 'renyi[interop]' (in a clone '.[interop]') for all libraries that renyi.interop knows."
        ) from None
