"""``renyi ledger export``: every entry as JSON lines."""

from __future__ import annotations

from renyi.cli.ledger import place
from renyi.report import Report


def command(target: place.NewFile, ledger: place.Where = place.BUDGET_FILE) -> Report:
    """Write every entry with its note to a file of JSON lines, for an auditor or for another ledger.

    Examples:

        renyi ledger export census.jsonl
    """
    with place.opened(ledger) as book:
        count = book.export(target)
    return Report(
        (str(count),), (f"{count:,} entries were written to {target}.",), {"file": str(target), "entries": count}
    )
