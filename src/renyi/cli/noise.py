"""``renyi noise``: the noise that meets a target."""

from __future__ import annotations

import typing

from renyi.accountants import guarantee
from renyi.calibration import calibrate
from renyi.cli import options
from renyi.errors import InvalidInput
from renyi.events import Event
from renyi.privacy.relation import Adjacency
from renyi.report import Report


def command(
    epsilon: options.Epsilon,
    delta: options.Delta,
    mechanism: options.OneMechanismText = None,
    rate: options.Rate = None,
    steps: options.Steps = None,
    epochs: options.Epochs = None,
    batch_size: options.BatchSize = None,
    dataset_size: options.DatasetSize = None,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """The noise multiplier (or another parameter, marked ?) that meets a target, on the safe side.

    Examples:

        renyi noise --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10000

        renyi noise --epsilon 1 --delta 1e-6 --mechanism laplace:noise_multiplier=? --steps 20

        renyi noise --epsilon 3 --delta 1e-6 --mechanism randomized_response:probability=? --steps 20
    """
    plan = options.schedule(rate, steps, epochs, batch_size, dataset_size)
    cls, given = options.split_mechanism(mechanism or "gaussian:noise_multiplier=?")
    unknown = [name for name, value in given.items() if value == "?"]
    if len(unknown) != 1:
        raise InvalidInput(
            f"mark the one parameter to find with a question mark, as in laplace:noise_multiplier=?; got {mechanism!r}."
        )

    def make(value: float) -> Event:
        return options.on_schedule(options.make_mechanism(cls, {**given, unknown[0]: value}), plan)

    integer = typing.get_type_hints(cls)[unknown[0]] is int
    value = calibrate(make, epsilon=epsilon, delta=delta, integer=integer, adjacency=adjacency)
    answer = guarantee(make(value), delta=delta, adjacency=adjacency)
    data = {"parameter": unknown[0], "value": value, "guarantee": answer.to_dict(), "notes": list(plan.notes)}
    return Report((repr(value),), (*plan.notes, f"With {unknown[0]} = {value!r}: {answer}"), data)
