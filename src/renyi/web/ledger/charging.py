"""A release before a budget: tried, which writes nothing, or charged."""

from __future__ import annotations

import math
from typing import Any

from renyi.cli.ledger import place
from renyi.events.event import Event
from renyi.web.answers.answer import solved
from renyi.web.form import Form
from renyi.web.ledger.fields import Charging
from renyi.web.ledger.looking import in_words
from renyi.web.runs import asked, figure


def what_if(where: str, form: dict[str, str], fields: dict[str, str]) -> dict[str, Any]:
    """Whether the budget admits the run that a form describes, and how often; nothing is written."""
    charging = Charging.from_dict(fields)
    event, notes = _event(form)
    with place.opened(where) as ledger:
        found = ledger.what_if(event, delta=_whole(charging), **charging.payers)
    return {
        "run": in_words(event),
        "notes": notes,
        "admitted": found.admitted,
        "reason": found.reason,
        "left": "as many as you like" if found.left == math.inf else f"{found.left:,}",
    }


def spend(where: str, form: dict[str, str], fields: dict[str, str]) -> dict[str, Any]:
    """Charge the run, or refuse it. A second try under the same key is charged once."""
    charging = Charging.from_dict(fields)
    event, _ = _event(form)
    said: dict[str, Any] = {"key": charging.key or None, "why": charging.why or None, **charging.payers}
    whole = _whole(charging)
    with place.opened(where, who=charging.who or None) as ledger:
        receipt = ledger.spend(event, **said) if whole is None else ledger.book(event, delta=whole, **said)
        status = ledger.status(receipt.dataset)
    return {
        "run": in_words(event),
        "dataset": receipt.dataset,
        "entry": receipt.sequence,
        "head": receipt.head,
        "key": receipt.key,
        "replayed": receipt.replayed,
        "odometer": str(status.accounts[0].odometer),
    }


def _event(form: dict[str, str]) -> tuple[Event, list[str]]:
    described = Form.from_dict(form)
    question = asked(described)
    event, _ = solved(described, question)
    return event, list(question.notes)


def _whole(charging: Charging) -> float | None:
    return figure(charging.whole_at, "the delta of a plan") if charging.whole_at else None
