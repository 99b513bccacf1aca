"""``renyi ledger backup``: a copy that lacks nothing."""

from __future__ import annotations

from renyi.cli.ledger import place
from renyi.report import Report


def command(target: place.NewFile, ledger: place.Where = place.BUDGET_FILE) -> Report:
    """Write a copy of a SQLite ledger. A file copied by hand, without its -wal, lacks charges.

    Examples:

        renyi ledger backup budget-2026-03-01.db --ledger budget.db
    """
    with place.opened(ledger) as book:
        book.backup(target)
    with place.opened(str(target)) as copy:
        heads = copy.verify()
    lines = tuple(f"{name} {head}" for name, head in heads.items())
    return Report(lines, (f"{target} holds the ledger up to these heads.",), {"file": str(target), "heads": heads})
