"""``renyi ledger status``: what was spent, by whom, and what waits to be settled."""

from __future__ import annotations

from typing import Annotated

import typer

from renyi.accountants import epsilon
from renyi.cli.ledger import place
from renyi.ledger import Status
from renyi.numerics.printing import rounded_up
from renyi.report import Report

Exactly = Annotated[
    bool,
    typer.Option(
        "--exact", help="Also what the releases would cost had they been fixed in advance; reads every entry."
    ),
]


def command(
    dataset: place.DatasetName = None,
    exact: Exactly = False,
    ledger: place.Where = place.BUDGET_FILE,
) -> Report:
    """What was spent of a budget, by each team and purpose, and which reservations wait to be settled.

    Examples:

        renyi ledger status

        renyi ledger status --dataset census --exact --json
    """
    with place.opened(ledger) as book:
        status = book.status(dataset)
        parts = status.dataset.parts or (None,)
        released = [book.released(status.dataset.name, part=part) for part in parts] if exact else []
    budget = status.dataset.filter
    lines = [f"{each.account}: {rounded_up(100.0 * each.used)} % of {each.share} used" for each in status.accounts]
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


def _waiting(status: Status) -> list[str]:
    return [
        f"Reservation {each.sequence} of {place.plain(each.owner or 'somebody')} ({place.plain(each.when or 'no date')}) was "
        "never settled: it counts as spent."
        for each in status.unsettled
    ]
