"""``renyi ledger history``: what was written, in its order."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from renyi.cli import options
from renyi.cli.ledger import place
from renyi.ledger import Line
from renyi.report import Report

Start = Annotated[int, typer.Option("--start", parser=options.whole, metavar="INTEGER", help="The first entry shown.")]
Most = Annotated[int, typer.Option("--most", parser=options.whole, metavar="INTEGER", help="Entries shown, at most.")]


def command(
    dataset: place.DatasetName = None,
    start: Start = 0,
    most: Most = 1000,
    ledger: place.Where = place.BUDGET_FILE,
) -> Report:
    """The entries of a dataset: their numbers, times (UTC), who, what and why.

    Examples:

        renyi ledger history

        renyi ledger history --dataset census --start 100 --json
    """
    with place.opened(ledger) as book:
        shown = list(islice(book.history(dataset, start=start), most))
    return Report(tuple(map(_text, shown)), (), {"entries": [line.to_dict() for line in shown]})


def _text(line: Line) -> str:
    said = line.to_dict()
    note = line.note or {"when": "erased", "who": "erased", "why": None}
    settled = f" of {said['reserved']}" if "reserved" in said else ""
    what = f" {said['event']}" if "event" in said else ""
    paid = "".join(f" {kind}:{said[kind]}" for kind in ("team", "purpose", "part") if said.get(kind))
    why = f" ({note['why']})" if note.get("why") else ""
    when, who = str(note.get("when"))[:19], note.get("who")
    return place.plain(f"{line.sequence} {when} {who}: {said['act']}{settled}{what}{paid}{why}")
