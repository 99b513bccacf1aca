"""``renyi curve``: the Renyi divergence at given orders."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import typer

from renyi.accountants import divergence
from renyi.cli import options
from renyi.errors import InvalidInput
from renyi.events.serial import to_dict
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.report import Report

Orders = Annotated[str, typer.Option(help="Real orders from 1 to inf, separated by commas.")]


def command(
    run: options.Run = options.NO_RUN,
    orders: Orders = "1,1.5,2,4,8,16,32,64,128,256,inf",
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """The Renyi curve: one line per order, the order and an upper bound on the divergence.

    Examples:

        renyi curve --noise-multiplier 1.1 --rate 256/60000 --steps 14063

        renyi curve --mechanism laplace:noise_multiplier=2 --rate 0.001 --steps 1 --orders 1,2,2.5,inf --json
    """
    event, notes = run.event()
    try:
        wanted = np.array([float(text) for text in orders.split(",")])
    except ValueError:
        raise InvalidInput(
            f"--orders takes numbers separated by commas, such as 1.5,2,32,inf; got {orders!r}."
        ) from None
    values = np.atleast_1d(divergence(event, order=wanted, adjacency=adjacency))
    rows = [(float(order), float(value)) for order, value in zip(wanted, values, strict=True)]
    data = {
        "curve": [{"order": _number(order), "divergence": _number(value)} for order, value in rows],
        "adjacency": adjacency.value,
        "event": to_dict(event.canonical()),
        "notes": list(notes),
    }
    lines = tuple(f"{order:g}\t{rounded_up(value)}" for order, value in rows)
    return Report(lines, (*notes, f"Renyi divergence for {adjacency.value} neighbours, rounded up."), data)


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value
