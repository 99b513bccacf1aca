"""The trade-off curve: the members an attacker must miss, against the false alarms that they accept."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from renyi.accountants import Accountant, Risk, guarantee, risk
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.plots.backend import shown_axes
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import draw_caption, draw_legend, draw_panel, style_of
from renyi.plots.halving import halved
from renyi.plots.runs import Runs, named, sentences, styled, suffixed
from renyi.plots.style import DOTTED, GREY, Style
from renyi.signatures import taught

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_FIRST_RATES = 21
"""Rates at which the curve is computed at first; then halfway between them, as long as that shows."""

_PIXEL = 2e-3
"""Size of a pixel as a fraction of the plot's width and height."""


@taught
def trade_off(
    events: Runs,
    *,
    delta: float,
    fpr: float = 0.01,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The smallest false-negative rate of any attacker against their false-positive rate.

    Two points are marked: the members found at the rate ``fpr``, and the largest advantage over blind guessing. ``delta`` is
    for the guarantee in the caption. The line is straight between the computed rates, of which there are enough that it differs
    from the curve by less than its own width.
    """
    runs = named(events)
    risks = {name: risk(event, adjacency=adjacency, accountant=accountant) for name, event in runs.items()}
    panel = trade_off_panel(risks, fpr)
    said = {
        name: f"{guarantee(event, delta=delta, adjacency=adjacency, accountant=accountant)} "
        f"{' '.join(risks[name].sentences((fpr,)))}"
        for name, event in runs.items()
    }
    ax = shown_axes(ax)
    with style_of(ax):
        draw_panel(ax, panel)
        draw_legend(ax)
        draw_caption(ax, sentences(said))
    return ax


def trade_off_panel(risks: dict[str, Risk], fpr: float) -> Panel:
    """The trade-off curves of runs before they are drawn, each with its two marks."""
    first = np.unique(np.concatenate([[fpr], 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, _FIRST_RATES))]))
    lines = [Line.of("blind guessing", [0.0, 1.0], [1.0, 0.0], Style(GREY, DOTTED))]
    for name, _, style in styled({name: found.event for name, found in risks.items()}):
        found = risks[name]
        rates, missed = halved(partial(_missed, found), first, _visible, _PIXEL)
        lines.append(Line.of(suffixed("best attack", name), rates, missed, style))
        caught = rounded_up(100.0 * found.true_positive_rate(fpr).upper)
        lines.append(
            Line.of(
                suffixed(f"{caught} % found at {100.0 * fpr:g} % false alarms", name),
                [fpr],
                [found.false_negative_rate(fpr).lower],
                style.alone(),
            )
        )
        gap = found.advantage.upper
        # Where the line fnr = 1 - gap - fpr touches the curve, or nearly so.
        best = float(rates[np.argmin(rates + missed)])
        mark = suffixed(f"advantage {rounded_up(gap)}", name)
        lines.append(Line.of(mark, [best], [1.0 - gap - best], style.alone("D")))
    return Panel(
        "Trade-off curve of membership attacks",
        Axis("false-positive rate (share of non-members)", low=0.0, high=1.0),
        Axis("false-negative rate (share of members)", low=0.0, high=1.0),
        tuple(lines),
    )


def _missed(found: Risk, rates: Array) -> Array:
    return np.array([found.false_negative_rate(float(rate)).lower for rate in rates])


def _visible(rates: Array, missed: Array, middle: Array, found: Array) -> NDArray[np.bool_]:
    return np.abs(np.interp(middle, rates, missed) - found) > _PIXEL
