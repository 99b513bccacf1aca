"""``renyi ledger verify``: is the record what was written?"""

from __future__ import annotations

from typing import Annotated

import typer

from renyi.cli.ledger import place
from renyi.report import Report

HeadOption = Annotated[
    str | None,
    typer.Option(
        "--head", help="A head that was kept elsewhere, NUMBER:HASH: shows a truncated or restored ledger too."
    ),
]


def command(
    dataset: place.DatasetName = None,
    head: HeadOption = None,
    ledger: place.Where = place.BUDGET_FILE,
) -> Report:
    """Hold every entry, note, balance and head against each other; exit code 7 if something was changed.

    Examples:

        renyi ledger verify

        renyi ledger verify --dataset census --head 17:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    with place.opened(ledger) as book:
        heads = book.verify(dataset, head=head)
    lines = tuple(f"{name} {found}" for name, found in heads.items())
    said = "Every entry follows from the ones before it."
    if head is None:
        said += (
            " Whether entries are missing at the end, or all were rewritten, only a head that was kept elsewhere shows."
        )
    return Report(lines, (said,), {"heads": heads})
