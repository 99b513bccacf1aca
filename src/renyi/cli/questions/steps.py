"""``renyi steps``: how many steps a budget allows."""

from __future__ import annotations

from renyi.accountants import guarantee
from renyi.calibration import calibrate
from renyi.cli import options
from renyi.laws.relation import Adjacency
from renyi.report import Report

MOST_STEPS = 10**15
"""Where the search ends: a step every microsecond for thirty years is about as many."""


def command(
    epsilon: options.Epsilon,
    delta: options.Delta,
    noise_multiplier: options.NoiseMultiplier = None,
    mechanism: options.MechanismText = None,
    rate: options.Rate = None,
    sampling: options.SamplingText = None,
    batch_size: options.BatchSize = None,
    dataset_size: options.DatasetSize = None,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """The largest number of steps that stays within a target, up to 10^15.

    Examples:

        renyi steps --epsilon 2 --delta 1e-5 --noise-multiplier 1 --rate 0.01

        renyi steps --epsilon 3 --delta 1e-6 --mechanism laplace:noise_multiplier=10
    """
    release = options.one_release(noise_multiplier, mechanism)
    one_step = options.on_schedule(release, options.schedule(rate, 1, None, batch_size, dataset_size, sampling))
    count = int(
        calibrate(
            lambda n: one_step * int(n),
            epsilon=epsilon,
            delta=delta,
            high=MOST_STEPS,
            integer=True,
            adjacency=adjacency,
        )
    )
    answer = guarantee(one_step * count, delta=delta, adjacency=adjacency)
    words = f"At least {count} steps, where the search ends" if count == MOST_STEPS else f"{count} steps"
    notes = options.remarks(delta, dataset_size)
    data = {"steps": count, "at_least": count == MOST_STEPS, "guarantee": answer.to_dict(), "notes": list(notes)}
    return Report((str(count),), (*notes, f"{words}: {answer}"), data)
