"""``renyi delta``: the probability of failure at a given epsilon."""

from __future__ import annotations

from renyi.accountants import guarantee
from renyi.cli import options
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.report import Report


def command(
    epsilon: options.Epsilon,
    run: options.Run = options.NO_RUN,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """The delta of a run at a given epsilon, rounded up.

    Examples:

        renyi delta --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --epsilon 2

        renyi delta --mechanism randomized_response:probability=3/4 --steps 50 --epsilon 30 --json
    """
    event, notes = run.event()
    answer = guarantee(event, epsilon=epsilon, adjacency=adjacency)
    notes = (*notes, *options.remarks(answer.delta, run.dataset_size))
    return Report(
        (rounded_up(answer.delta),),
        (*notes, str(answer)),
        {**answer.to_dict(), "notes": list(notes)},
        promises_nothing=answer.delta >= 1.0,
    )
