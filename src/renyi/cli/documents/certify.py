"""``renyi certify``: a proof of an epsilon, as a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from renyi.certificates import certify
from renyi.cli import options
from renyi.errors import InvalidInput
from renyi.laws.relation import Adjacency
from renyi.report import Report


class Route(StrEnum):
    """The routes of a proof."""

    CONTOUR = "contour"
    RENYI = "renyi"


Out = Annotated[Path | None, typer.Option("--out", help="The file to write; without it, standard output.")]
RouteOption = Annotated[
    Route | None,
    typer.Option("--route", help="contour: tight; renyi: one Renyi order. Without it the tight one where it applies."),
]


def command(
    delta: options.Delta,
    out: Out = None,
    route: RouteOption = None,
    run: options.Run = options.NO_RUN,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """A certificate: a file that proves an epsilon to whoever runs the checker; needs python-flint.

    Examples:

        renyi certify --noise-multiplier 8 --rate 1/5 --steps 50 --delta 1e-6

        renyi certify --mechanism laplace:noise_multiplier=10 --steps 3 --delta 1e-6 --out laplace.json
    """
    event, notes = run.event()
    made = certify(event, delta=delta, adjacency=adjacency, route=None if route is None else route.value)
    notes = (*notes, *options.remarks(made.delta, run.dataset_size))
    if out is None:
        return Report((made.to_json().rstrip("\n"),), (*notes, str(made)), made.to_dict())
    try:
        out.write_bytes(made.to_json().encode())
    except OSError as error:
        raise InvalidInput(f"cannot write {out}: {error.strerror or error}.") from None
    return Report(
        (repr(made.epsilon),),
        (*notes, str(made), f"Check it by: renyi verify {out}. Its SHA-256 is {made.digest}."),
        made.to_dict(),
    )
