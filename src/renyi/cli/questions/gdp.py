"""``renyi gdp``: the one Gaussian release that a run is no worse than."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from renyi.accountants.gdp import gdp
from renyi.cli import options
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.report import Report

Floor = Annotated[
    float | None,
    typer.Option(
        "--delta",
        parser=options.number,
        metavar="NUMBER",
        help="The floor: mu holds wherever delta is at least this (1e-12); 0 for every delta.",
    ),
]


def command(
    run: options.Run = options.NO_RUN,
    delta: Floor = None,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """The mu of Gaussian differential privacy: a run is no easier to attack than one release with noise multiplier 1/mu.

    Examples:

        renyi gdp --noise-multiplier 1.1 --rate 256/60000 --steps 14063

        renyi gdp --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5 --json
    """
    event, notes = run.event()
    found = gdp(event, delta=1e-12 if delta is None else delta, adjacency=adjacency)
    return Report(
        (rounded_up(found.mu.upper),),
        (*notes, str(found)),
        {**found.to_dict(), "rho": found.rho, "notes": list(notes)},
        promises_nothing=found.mu.upper == math.inf,
    )
