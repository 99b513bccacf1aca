"""``renyi risk``: how much an attacker can learn."""

from __future__ import annotations

from typing import Annotated

import typer

from renyi.accountants.risk import risk
from renyi.cli import options
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.report import Report

FalsePositiveRates = Annotated[
    list[float] | None,
    typer.Option(
        "--fpr",
        parser=options.number,
        metavar="NUMBER",
        help="False-positive rate that an attacker accepts (0.01); repeatable.",
    ),
]
Priors = Annotated[
    list[float] | None,
    typer.Option(
        "--prior",
        parser=options.number,
        metavar="NUMBER",
        help="Share of candidates who are members (0.5); repeatable.",
    ),
]


def command(
    run: options.Run = options.NO_RUN,
    fpr: FalsePositiveRates = None,
    prior: Priors = None,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """How much an attacker can learn: one line per figure, each an upper bound on what any attacker achieves.

    Examples:

        renyi risk --noise-multiplier 1.1 --rate 256/60000 --steps 14063

        renyi risk --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --fpr 0.001 --fpr 0.01 --prior 0.1 --json

        renyi risk --mechanism randomized_response:probability=3/4
    """
    event, notes = run.event()
    found = risk(event, adjacency=adjacency)
    rates, priors = tuple(fpr or [0.01]), tuple(prior or [0.5])
    figures = {
        "advantage": found.advantage,
        **{f"tpr at fpr {value:g}": found.true_positive_rate(value) for value in rates},
        **{f"success at prior {value:g}": found.success(value) for value in priors},
    }
    method = f"For {adjacency.value} neighbours, by {found.method}; every figure is rounded up."
    return Report(
        tuple(f"{name}\t{rounded_up(interval.upper)}" for name, interval in figures.items()),
        (*notes, *found.sentences(rates, priors), method),
        {**found.to_dict(rates, priors), "notes": list(notes)},
    )
