"""``renyi ledger erase``: who, why and when of an entry, for a person's sake."""

from __future__ import annotations

from typing import Annotated

import typer

from renyi.cli import options
from renyi.cli.ledger import place
from renyi.report import Report

Entry = Annotated[int, typer.Argument(parser=options.whole, metavar="NUMBER", help="The number of the entry.")]


def command(entry: Entry, dataset: place.DatasetName = None, ledger: place.Where = place.BUDGET_FILE) -> Report:
    """Erase who, why and when of an entry for good. The entry stays, the chain still verifies, and nothing is refunded.

    Examples:

        renyi ledger erase 17

        renyi ledger erase 17 --dataset census
    """
    with place.opened(ledger) as book:
        book.erase(entry, dataset=dataset)
    said = "Exports and backups from before still hold it, and PostgreSQL's own files until the next VACUUM."
    return Report((f"erased the note of entry {entry}",), (said,), {"erased": entry})
