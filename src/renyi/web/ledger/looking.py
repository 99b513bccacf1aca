"""What the page shows of a ledger: budgets, what is left, what waits, what was written, and a plot of how it was spent."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

from renyi.cli.ledger import place
from renyi.events.event import Event
from renyi.events.words import described
from renyi.ledger import Ledger, Line, Status
from renyi.ledger.book.words import said
from renyi.ledger.status import Spent, charge_of
from renyi.ledger.store.address import Address
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.plots.budget import budget_panel
from renyi.report.forms.svg import legend, svg
from renyi.web.ledger.fields import Charging
from renyi.web.runs import figure

LINES = 50
"""Entries of the history on one page."""

_LONGEST_RUN = 400
"""Characters of a release in the history; its JSON is in the ledger's export."""


def book(where: str, fields: dict[str, str]) -> dict[str, Any]:
    """The state of one budget, the names of all, and a page of the history, the last entries first."""
    asked = Charging.from_dict(fields)
    with place.opened(where) as ledger:
        names = [each.name for each in ledger.datasets()]
        found = {"where": place.plain(Address.of(where).shown), "names": names}
        if not names:
            return {**found, "empty": True}
        status = ledger.status(asked.budget or names[0])
        return {**found, "empty": False, **_state(status), **_history(ledger, status, asked.start)}


def spent(where: str, fields: dict[str, str]) -> dict[str, Any]:
    """How one budget was spent, entry by entry, as a drawing."""
    with place.opened(where) as ledger:
        panel, caption = budget_panel(ledger, Charging.from_dict(fields).budget or None)
    return {"title": panel.title, "svg": f"{svg(panel)}{legend(panel)}", "note": caption}


def _state(status: Status) -> dict[str, Any]:
    dataset = status.dataset
    return {
        "name": dataset.name,
        "budget": str(dataset.filter),
        "unit": dataset.unit,
        "parts": list(dataset.parts),
        "head": status.head,
        "entries": status.entries,
        "accounts": [row for each in status.accounts for row in _account(each)],
        "odometer": str(status.accounts[0].odometer),
        "teams": _named(status, "team:"),
        "purposes": _named(status, "purpose:"),
        "unsettled": [
            {
                "entry": each.sequence,
                "who": place.plain(each.owner or "somebody"),
                "when": _minute(each.when),
                "what": in_words(each.charge.event),
                "drawing": each.drawing,
            }
            for each in status.unsettled
        ],
    }


def _account(account: Spent) -> list[dict[str, Any]]:
    """A row for the account, where most was spent; for the whole dataset also one for each part of the data."""
    share = rounded_down(100.0 * float(account.share))
    rows = [(account.account, account.used)]
    if account.account == "all":
        rows = [("the whole dataset", account.used), *((f"part {part}", used) for part, used in account.parts)]
    return [{"name": place.plain(name), "share": share, **_percent(used)} for name, used in rows]


def _percent(used: float) -> dict[str, Any]:
    """A share of the budget in percent: what was spent is rounded up, what is left down."""
    percent = 100.0 * used
    left = rounded_down(max(math.nextafter(100.0 - percent, -math.inf), 0.0)) if used > 0.0 else "100"
    return {"used": rounded_up(percent), "left": left, "width": min(percent, 100.0)}


def _named(status: Status, kind: str) -> list[str]:
    return [each.account.removeprefix(kind) for each in status.accounts if each.account.startswith(kind)]


def _history(ledger: Ledger, status: Status, start: str) -> dict[str, Any]:
    newest = max(status.entries - LINES, 0)
    first = int(min(max(figure(start, "start"), 0.0), newest)) if start else newest
    lines = [_line(line) for line in islice(ledger.history(status.dataset.name, start=first), LINES)]
    return {
        "lines": lines[::-1],
        "older": max(first - LINES, 0) if first else None,
        "newer": min(first + LINES, newest) if first < newest else None,
    }


def _line(line: Line) -> dict[str, Any]:
    """One entry in words; what somebody wrote loses characters that would disturb the line."""
    values, note, charge = line.to_dict(), line.note, charge_of(line.act)
    paid = [f"{kind} {values[kind]}" for kind in ("team", "purpose", "part") if values.get(kind)]
    return {
        "entry": line.sequence,
        # A charge is described beside what it does; every other act is a sentence of its own.
        "act": place.plain(said(line.act)) if charge is None else line.act.act,
        "settles": None if charge is None else values.get("reserved"),
        "what": "" if charge is None else in_words(charge.event),
        "paid": place.plain(", ".join(paid)),
        "booked": values.get("booked"),
        "when": _minute((note or {}).get("when")),
        "who": "erased" if note is None else place.plain(note.get("who") or "somebody"),
        "why": place.plain((note or {}).get("why") or ""),
        "hash": line.hash,
    }


def in_words(event: Event) -> str:
    """A run in one line, cut if it is long."""
    text = place.plain(described(event))
    return text if len(text) <= _LONGEST_RUN else f"{text[:_LONGEST_RUN]}…"


def _minute(when: object) -> str:
    """A time in UTC to the minute."""
    return place.plain(str(when)[:16].replace("T", " ")) if when else ""
