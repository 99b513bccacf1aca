"""``renyi epsilon``: what a run costs."""

from __future__ import annotations

import math

from renyi.accountants import guarantee
from renyi.cli import options
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.report import Report

_NEEDS_DELTA = (
    "The privacy loss of this noise has no bound, as that of Gaussian noise: it needs a delta above 0, such as 1e-9."
)


def command(
    delta: options.Delta,
    run: options.Run = options.NO_RUN,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """The epsilon that a run costs at a given delta, rounded up.

    Examples:

        renyi epsilon --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5

        renyi epsilon --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60 --delta 1e-5

        renyi epsilon --mechanism laplace:noise_multiplier=10 --steps 3 --delta 1e-6 --json

        renyi epsilon --noise-multiplier 1.1 --sampling shuffled:steps=235 --steps 60 --delta 1e-5 --adjacency zero-out

        renyi epsilon --event run.json --delta 1e-5
    """
    event, notes = run.event()
    answer = guarantee(event, delta=delta, adjacency=adjacency)
    notes = (*notes, *options.remarks(answer.delta, run.dataset_size))
    if (
        delta == 0.0
        and answer.epsilon.upper == math.inf > guarantee(event, delta=1e-9, adjacency=adjacency).epsilon.upper
    ):
        notes = (*notes, _NEEDS_DELTA)
    return Report(
        (rounded_up(answer.epsilon.upper),),
        (*notes, str(answer)),
        {**answer.to_dict(), "notes": list(notes)},
        promises_nothing=answer.epsilon.upper == math.inf,
    )
