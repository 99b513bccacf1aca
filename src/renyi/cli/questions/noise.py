"""``renyi noise``: the least noise that meets a target."""

from __future__ import annotations

import typing
from typing import Annotated, Any

import typer

from renyi.accountants import guarantee
from renyi.accountants.risk import risk
from renyi.calibration import calibrate
from renyi.calibration.target import Target
from renyi.cli import options
from renyi.errors import CalibrationError, InvalidInput
from renyi.events import Event, Mechanism
from renyi.laws.relation import Adjacency
from renyi.report import Report

Figure = {"parser": options.number, "metavar": "NUMBER"}
Epsilon = Annotated[float | None, typer.Option(**Figure, help="Target: privacy loss, with --delta.")]
Delta = Annotated[float | None, typer.Option(**Figure, help="Probability of failure, e.g. 1e-5.")]
Advantage = Annotated[
    float | None, typer.Option(**Figure, help="Target instead: an attacker's true- minus false-positive rate.")
]
Tpr = Annotated[
    float | None, typer.Option(**Figure, help="Target instead: an attacker's true-positive rate, with --fpr.")
]
Fpr = Annotated[float | None, typer.Option(**Figure, help="The false-positive rate that the attacker accepts.")]
Success = Annotated[
    float | None, typer.Option(**Figure, help="Target instead: how often an attacker guesses right, with --prior.")
]
Prior = Annotated[float | None, typer.Option(**Figure, help="Share of candidates who are members.")]


def command(
    epsilon: Epsilon = None,
    delta: Delta = None,
    mechanism: options.OneMechanismText = None,
    rate: options.Rate = None,
    sampling: options.SamplingText = None,
    steps: options.Steps = None,
    epochs: options.Epochs = None,
    batch_size: options.BatchSize = None,
    dataset_size: options.DatasetSize = None,
    advantage: Advantage = None,
    tpr: Tpr = None,
    fpr: Fpr = None,
    success: Success = None,
    prior: Prior = None,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """The noise multiplier (or another parameter, marked ?) that meets a target, on the safe side.

    Examples:

        renyi noise --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10000

        renyi noise --epsilon 1 --delta 1e-6 --mechanism laplace:noise_multiplier=? --steps 20

        renyi noise --epsilon 3 --delta 1e-6 --mechanism randomized_response:probability=? --steps 20

        renyi noise --tpr 0.05 --fpr 0.01 --rate 0.01 --steps 10000
    """
    target: dict[str, Any] = {
        name: value
        for name, value in {
            "epsilon": epsilon,
            "delta": delta,
            "advantage": advantage,
            "tpr": tpr,
            "fpr": fpr,
            "success": success,
            "prior": prior,
        }.items()
        if value is not None
    }
    plan = options.schedule(rate, steps, epochs, batch_size, dataset_size, sampling)
    cls, given = options.split_mechanism(mechanism or "gaussian:noise_multiplier=?")
    unknown = [name for name, value in given.items() if value == "?"]
    if len(unknown) != 1:
        raise InvalidInput(
            f"mark the one parameter to find with a question mark, as in laplace:noise_multiplier=?; got {mechanism!r}."
        )

    def make(value: float) -> Event:
        return options.on_schedule(options.make(cls, {**given, unknown[0]: value}), plan)

    # Calibration refuses a parameter that does not matter; without any release none does.
    if plan.releases_nothing:
        Target.of(**target)
        value = _least_noise(cls, unknown[0])
    else:
        integer = typing.get_type_hints(cls)[unknown[0]] is int
        value = calibrate(make, integer=integer, adjacency=adjacency, **target)
    answer, reached = _reached(make(value), target, adjacency)
    notes = (*plan.notes, *(options.remarks(delta, dataset_size) if delta is not None else ()))
    data = {"parameter": unknown[0], "value": value, **reached, "notes": list(notes)}
    return Report((repr(value),), (*notes, f"With {unknown[0]} = {value!r}: {answer}"), data)


def _least_noise(cls: type[Mechanism], name: str) -> float:
    """The answer if nothing is released, so that every value meets the target: no noise."""
    trend = cls.monotone.get(name)
    if trend is None or trend.rising:
        raise CalibrationError(
            f"nothing is released without steps or at rate 0, so every {name} meets the target: there is none to choose."
        )
    return 0.0


def _reached(event: Event, target: dict[str, float], adjacency: Adjacency) -> tuple[str, dict[str, Any]]:
    """What the value found guarantees, in terms of the target."""
    if "epsilon" in target:
        answer = guarantee(event, delta=target["delta"], adjacency=adjacency)
        return str(answer), {"guarantee": answer.to_dict()}
    found = risk(event, adjacency=adjacency)
    rates = (target["fpr"],) if "fpr" in target else ()
    priors = (target["prior"],) if "prior" in target else ()
    return " ".join(found.sentences(rates, priors)), {"risk": found.to_dict(rates, priors)}
