"""``renyi plot``: a plot of what a run costs."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from renyi import plots
from renyi.cli import options
from renyi.events.serial import to_dict
from renyi.laws.relation import Adjacency
from renyi.plots.backend import SIZE, house_style, own_figure
from renyi.plots.drawing import caption_of
from renyi.plots.saving import checked, save
from renyi.report import Report


class Kind(StrEnum):
    """The kinds of plot."""

    CURVE = "curve"
    STEPS = "steps"
    PROFILE = "profile"
    TRADE_OFF = "trade-off"
    ACCOUNTANTS = "accountants"


DRAWN: dict[Kind, Callable[..., Any]] = {
    Kind.CURVE: plots.renyi_curve,
    Kind.STEPS: plots.epsilon_by_steps,
    Kind.PROFILE: plots.privacy_profile,
    Kind.TRADE_OFF: plots.trade_off,
    Kind.ACCOUNTANTS: plots.accountants,
}

KindArgument = Annotated[
    Kind,
    typer.Argument(
        help="curve: Renyi divergence by order; steps: epsilon by steps; profile: delta by epsilon; trade-off: error rates of "
        "an attacker; accountants: epsilon by each method."
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The file to write: .png, .svg or .pdf.")]


def command(
    kind: KindArgument,
    delta: options.Delta,
    out: Out,
    noise_multiplier: options.NoiseMultiplier = None,
    mechanism: options.MechanismText = None,
    event: options.EventFile = None,
    rate: options.Rate = None,
    sampling: options.SamplingText = None,
    steps: options.Steps = None,
    epochs: options.Epochs = None,
    batch_size: options.BatchSize = None,
    dataset_size: options.DatasetSize = None,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
) -> Report:
    """Plot what a run costs, with its guarantee in the caption.

    Examples:

        renyi plot curve --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5 --out curve.png

        renyi plot profile --mechanism laplace:noise_multiplier=10 --steps 3 --delta 1e-6 --out profile.svg

        renyi plot accountants --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5 --out compared.png
    """
    target = checked(out)
    run, notes = options.event(
        noise_multiplier, mechanism, event, rate, steps, epochs, batch_size, dataset_size, sampling
    )
    with house_style():
        ax = own_figure(*SIZE).add_subplot()
    DRAWN[kind](run, delta=delta, adjacency=adjacency, ax=ax)
    save(ax, target)
    caption = caption_of(ax)
    data = {
        "file": str(target),
        "kind": kind.value,
        "caption": caption,
        "event": to_dict(run.canonical()),
        "notes": list(notes),
    }
    return Report((str(target),), (*notes, caption), data)
