"""``renyi ledger history``: what was written, in its order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from renyi.cli import options
from renyi.cli.ledger import place
from renyi.ledger import Line, Status
from renyi.ledger.book.words import said
from renyi.numerics.printing import rounded_up
from renyi.report import Report

Start = Annotated[int, typer.Option("--start", parser=options.whole, metavar="INTEGER", help="The first entry shown.")]
Most = Annotated[int, typer.Option("--most", parser=options.whole, metavar="INTEGER", help="Entries shown, at most.")]

Spent = Annotated[
    bool,
    typer.Option(
        "--spent", help="Also what part of its share each account had used after the entry; reads every entry."
    ),
]


def command(
    dataset: place.DatasetName = None,
    start: Start = 0,
    most: Most = 1000,
    spent: Spent = False,
    ledger: place.Where = place.BUDGET_FILE,
) -> Report:
    """The entries of a dataset: their numbers, times (UTC), who, what and why; and with --spent, the budget over time.

    Examples:

        renyi ledger history

        renyi ledger history --spent

        renyi ledger history --dataset census --start 100 --json
    """
    with place.opened(ledger) as book:
        found: Iterator[tuple[Line, Status | None]]
        if spent:
            found = (each for each in book.replay(dataset) if each[0].sequence >= start)
        else:
            found = ((line, None) for line in book.history(dataset, start=start))
        shown = list(islice(found, most))
    entries = [line.to_dict() | ({} if then is None else {"spent": _used(then)}) for line, then in shown]
    return Report(tuple(_text(line, then) for line, then in shown), (), {"entries": entries})


def _used(status: Status) -> dict[str, Any]:
    return {each.account: each.to_dict()["used"] for each in status.accounts}


def _text(line: Line, then: Status | None) -> str:
    note = line.note or {"when": "erased", "who": "erased"}
    why = f" ({note['why']})" if note.get("why") else ""
    text = f"{line.sequence} {str(note.get('when'))[:19]} {note.get('who')}: {said(line.act)}{why}"
    if then is not None:
        text += " | " + ", ".join(f"{each.account} {rounded_up(100.0 * each.used)} %" for each in then.accounts)
    return place.plain(text)
