"""``renyi ledger init``: a dataset with a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from renyi.cli import options
from renyi.cli.ledger import place
from renyi.errors import InvalidInput
from renyi.laws.relation import Adjacency
from renyi.ledger import Filter
from renyi.report import Report

DatasetArgument = Annotated[str, typer.Argument(help="A name for the dataset.")]
Epsilon = Annotated[
    float | None, typer.Option(parser=options.number, metavar="NUMBER", help="The budget as an epsilon.")
]
Rho = Annotated[float | None, typer.Option(parser=options.number, metavar="NUMBER", help="The budget as rho (zCDP).")]
Mu = Annotated[float | None, typer.Option(parser=options.number, metavar="NUMBER", help="The budget as mu (GDP).")]
Unit = Annotated[str, typer.Option("--unit", help="Whose privacy it is: person, household, record.")]
Parts = Annotated[
    list[str] | None,
    typer.Option("--part", help="A disjoint part of the data, by unit, which can be charged by itself; several times."),
]
Expected = Annotated[
    Path | None,
    typer.Option(
        "--expected", help="An event as JSON of which most spending will consist: the budget then holds more of it."
    ),
]


def command(
    dataset: DatasetArgument,
    delta: options.Delta,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu: Mu = None,
    unit: Unit = "record",
    part: Parts = None,
    expected: Expected = None,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
    ledger: place.Where = place.BUDGET_FILE,
    who: place.Who = None,
    why: place.Why = None,
) -> Report:
    """Begin a dataset with a budget, which is fixed from then on; the ledger is made if there is none.

    Examples:

        renyi ledger init census --epsilon 1 --delta 1e-6 --unit person

        renyi ledger init census --rho 0.5 --delta 1e-6 --part north --part south --ledger budget.db
    """
    budget = _budget(epsilon, rho, mu, delta, expected, adjacency)
    with place.opened(ledger, who=who, create=True) as book:
        receipt = book.create(dataset, budget, unit=unit, parts=tuple(part or ()), why=why)
    data = {"dataset": dataset, "head": receipt.head, "budget": str(budget), "unit": unit, "parts": part or []}
    return Report((receipt.head,), (f"{dataset}: {budget}; the unit is one {unit}.",), data)


def _budget(
    epsilon: float | None,
    rho: float | None,
    mu: float | None,
    delta: float,
    expected: Path | None,
    adjacency: Adjacency,
) -> Filter:
    match (epsilon, rho, mu):
        case (float(), None, None):
            event = None if expected is None else options.event_of(expected)
            return Filter(epsilon, delta, expected=event, adjacency=adjacency)
        case (None, float(), None) if expected is None:
            return Filter.zcdp(rho, delta, adjacency=adjacency)
        case (None, None, float()) if expected is None:
            return Filter.gdp(mu, delta, adjacency=adjacency)
    raise InvalidInput("a budget is one of --epsilon, --rho and --mu, with --delta; --expected goes with --epsilon.")
