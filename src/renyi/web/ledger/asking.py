"""Every question that a worker answers which is told where the ledger is, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from renyi.web.ledger.charging import spend, what_if
from renyi.web.ledger.looking import book, spent

QUESTIONS: dict[str, Callable[..., dict[str, Any]]] = {"book": book, "spent": spent, "what_if": what_if, "spend": spend}


def ask(name: str, where: str, *more: dict[str, str]) -> dict[str, Any]:
    """The answer to a question about a ledger."""
    return QUESTIONS[name](where, *more)
