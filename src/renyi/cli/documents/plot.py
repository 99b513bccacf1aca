"""``renyi plot``: a plot of what a run costs."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from renyi import plots
from renyi.cli import options
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.events.serial import to_dict
from renyi.laws.relation import Adjacency
from renyi.plots.backend import SIZE, house_style, own_figure
from renyi.plots.drawing import caption_of, make_room_for_caption
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


Size = Annotated[str, typer.Option("--size", metavar="WIDTHxHEIGHT", help="Width and height in inches.")]
NoCaption = Annotated[bool, typer.Option("--no-caption", help="Leave the caption to the text around the plot.")]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        "--beside",
        metavar="NAME=FILE",
        help="Another run to draw into the same plot: its name, and its event or guarantee as JSON. May be repeated.",
    ),
]

_LEAST_INCHES, _MOST_INCHES = 1.0, 40.0
"""Sizes between a thumbnail and a poster; at 150 dots per inch, at most 36 million of them."""

THIS_RUN = "this run"
"""What the run of the options is called where others are drawn beside it."""


def command(
    kind: KindArgument,
    delta: options.Delta,
    out: Out,
    run: options.Run = options.NO_RUN,
    adjacency: options.AdjacencyOption = Adjacency.ADD_OR_REMOVE,
    beside: Beside = None,
    size: Size = f"{SIZE[0]}x{SIZE[1]}",
    no_caption: NoCaption = False,
) -> Report:
    """Plot what a run costs, with its guarantee in the caption.

    Examples:

        renyi plot curve --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5 --out curve.png

        renyi plot profile --mechanism laplace:noise_multiplier=10 --steps 3 --delta 1e-6 --out profile.svg

        renyi plot accountants --noise-multiplier 1.1 --rate 256/60000 --steps 14063 --delta 1e-5 --out compared.png

        renyi plot profile --noise-multiplier 1 --delta 1e-6 --beside "old=run.json" --size 3.3x2.5 --no-caption --out one.pdf
    """
    target, inches = checked(out), _inches(size)
    event, notes = run.event()
    others = _runs(beside or [])
    if others and kind is Kind.ACCOUNTANTS:
        raise InvalidInput("plot accountants compares methods on one run; --beside goes with the other kinds of plot.")
    with house_style():
        ax = own_figure(*inches).add_subplot()
    DRAWN[kind]({THIS_RUN: event, **others} if others else event, delta=delta, adjacency=adjacency, ax=ax)
    caption = caption_of(ax)
    if not no_caption:
        make_room_for_caption(ax)
    save(ax, target, caption=not no_caption)
    data = {
        "file": str(target),
        "kind": kind.value,
        "caption": caption,
        "event": to_dict(event.canonical()),
        "notes": list(notes),
    }
    return Report((str(target),), (*notes, caption), data)


def _inches(text: str) -> tuple[float, float]:
    """Width and height of a plot, as in 6.4x4.6."""
    try:
        width, height = (float(part) for part in text.lower().split("x"))
    except ValueError:
        raise InvalidInput(f"--size is a width and a height in inches, such as 6.4x4.6; got {text!r}.") from None
    if not all(_LEAST_INCHES <= length <= _MOST_INCHES for length in (width, height)):
        raise InvalidInput(f"--size takes {_LEAST_INCHES:g} to {_MOST_INCHES:g} inches either way; got {text!r}.")
    return width, height


def _runs(texts: list[str]) -> dict[str, Event]:
    """The runs of NAME=FILE, by name."""
    found: dict[str, Event] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name.strip() or name.strip() in {THIS_RUN, *found}:
            raise InvalidInput(
                f"--beside takes a new name and a file, as in --beside 'more noise=run.json'; got {text!r}. "
                f"The run of the other options is called {THIS_RUN!r}."
            )
        found[name.strip()] = options.event_of(Path(path.strip()))
    return found
