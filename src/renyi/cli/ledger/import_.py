"""``renyi ledger import``: datasets from an export."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Annotated

import typer

from renyi.cli.ledger import place
from renyi.ledger.exchange import read_lines
from renyi.report import Report

Source = Annotated[Path, typer.Argument(help="A file that `renyi ledger export` wrote.")]


def command(source: Source, ledger: place.Where = place.BUDGET_FILE) -> Report:
    """Read datasets from an export, verified from end to end, or nothing at all; the ledger is made if there is none.

    Examples:

        renyi ledger import census.jsonl --ledger copy.db
    """
    # Read to its end before a ledger is made for it: a file that is refused leaves nothing behind.
    collections.deque(read_lines(source), maxlen=0)
    with place.opened(ledger, create=True) as book:
        heads = book.import_(source)
    lines = tuple(f"{name} {head}" for name, head in heads.items())
    said = f"{len(heads)} {'dataset was' if len(heads) == 1 else 'datasets were'} read from {source}."
    return Report(lines, (said,), {"heads": heads})
