"""``renyi ledger status``: what was spent, by whom, and what waits to be settled."""

from __future__ import annotations

from typing import Annotated

import typer

from renyi.accountants import epsilon
from renyi.cli.ledger import place
from renyi.ledger import Status
from renyi.ledger.status import Spent
from renyi.numerics.printing import rounded_up
from renyi.report import Report

Exactly = Annotated[
    bool,
    typer.Option(
        "--exact", help="Also what the releases would cost had they been fixed in advance; reads every entry."
    ),
]
Parts = Annotated[bool, typer.Option("--parts", help="Also how much is used of each disjoint part of the data.")]


def command(
    dataset: place.DatasetName = None,
    exact: Exactly = False,
    parts: Parts = False,
    ledger: place.Where = place.BUDGET_FILE,
) -> Report:
    """What was spent of a budget, by each team and purpose, and which reservations wait to be settled.

    Examples:

        renyi ledger status

        renyi ledger status --parts

        renyi ledger status --dataset census --exact --json
    """
    with place.opened(ledger) as book:
        status = book.status(dataset)
        counted = status.dataset.parts or (None,)
        released = [book.released(status.dataset.name, part=part) for part in counted] if exact else []
    budget = status.dataset.filter
    lines = []
    for each in status.accounts:
        lines.append(_used(each.account, each.used, each))
        lines += [_used(f"{each.account}, part {part}", used, each) for part, used in each.parts if parts]
    messages = [f"{status.dataset.name}: {budget}; the unit is one {status.dataset.unit}. Head {status.head}."]
    messages += [f"{each.account}: {each.odometer}" for each in status.accounts[:1]]
    data = status.to_dict()
    if exact:
        cost = max(epsilon(event, delta=budget.delta, adjacency=budget.adjacency) for event in released)
        messages.append(
            f"Had these releases been fixed in advance they would be ({rounded_up(cost)}, {budget.delta:g})-differentially "
            "private. They were chosen one after another, so what holds is the budget."
        )
        data["had it been fixed in advance"] = {"epsilon": cost, "delta": budget.delta}
    return Report(tuple(lines), (*messages, *_waiting(status)), data)


def _used(what: str, used: float, account: Spent) -> str:
    return f"{what}: {rounded_up(100.0 * used)} % of {account.share} used"


def _waiting(status: Status) -> list[str]:
    return [
        f"Reservation {each.sequence} of {place.plain(each.owner or 'somebody')} ({place.plain(each.when or 'no date')}) was "
        "never settled: it counts as spent."
        for each in status.unsettled
    ]
