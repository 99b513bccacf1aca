"""Every question that a worker answers, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from renyi.web.answers.answer import answer
from renyi.web.answers.curves import curve, drawn
from renyi.web.answers.filed import filed
from renyi.web.answers.odds import mu, odds
from renyi.web.answers.samplers import samplers
from renyi.web.form import Form

QUESTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "answer": answer,
    "odds": odds,
    "mu": mu,
    "filed": filed,
    "curve": curve,
    "drawn": drawn,
    "samplers": samplers,
}


def ask(name: str, form: dict[str, str], *more: Any) -> dict[str, Any]:
    """The answer to a question about a form."""
    return QUESTIONS[name](Form.from_dict(form), *more)
