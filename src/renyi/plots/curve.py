"""The Renyi curve of a run, with the order that its (epsilon, delta) comes from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from renyi.accountants import Guarantee, Rdp, divergence, guarantee
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import drawn_panel
from renyi.plots.runs import Runs, named, sentences, styled, suffixed
from renyi.plots.style import DOTTED, GREY, Style
from renyi.signatures import taught

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN_CELLS = 1000
"""Cells across the width of the plot: each is about a pixel or less."""


@taught
def renyi_curve(
    events: Runs, *, delta: float, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE, ax: Axes | None = None
) -> Axes:
    """Renyi divergence against the order, from 1 on; the order at which ``Rdp`` converts to epsilon at ``delta`` is marked.

    If that order is infinite (pure DP), the largest loss is drawn as a horizontal line. A divergence grows with its order, so
    each cell of the plot shows the value at its right end: the line is nowhere below the curve.
    """
    runs = named(events)
    panel, answers = curve_panel(runs, delta, adjacency)
    said = {
        name: _said(answer, guarantee(runs[name], delta=delta, adjacency=adjacency)) for name, answer in answers.items()
    }
    return drawn_panel(ax, panel, sentences(said))


def curve_panel(
    runs: dict[str, Event], delta: float, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE
) -> tuple[Panel, dict[str, Guarantee]]:
    """The curves before they are drawn, and the guarantees that they give by themselves."""
    answers = {
        name: guarantee(event, delta=delta, adjacency=adjacency, accountant=Rdp()) for name, event in runs.items()
    }
    orders = {name: answer.order for name, answer in answers.items()}
    chosen = {name: order for name, order in orders.items() if order is not None and math.isfinite(order)}
    top = max([64.0, *(8.0 * order for order in chosen.values())])
    grid = np.geomspace(1.0, top, _DRAWN_CELLS + 1)
    lines = []
    for name, event, style in styled(runs):
        values = np.atleast_1d(divergence(event, order=grid, adjacency=adjacency))
        curve = Line.of(name, grid, np.concatenate([values[1:], values[-1:]]), style)
        if not curve.x:
            raise InvalidInput(
                f"the Renyi divergence of {name or 'this run'} is infinite at every order up to {top:.6g}, so there is "
                "nothing to draw. A release without noise is like that."
            )
        lines.append(curve)
        if name in chosen:
            order = chosen[name]
            mark = suffixed(f"order {order:.4g}, best at δ = {delta:g}", name)
            lines.append(Line.of(mark, [order], [divergence(event, order=order, adjacency=adjacency)], style.alone()))
        elif (limit := divergence(event, order=math.inf, adjacency=adjacency)) < math.inf:
            level = suffixed("infinite order, the largest loss", name)
            lines.append(Line.of(level, [1.0, top], [limit, limit], Style(GREY, DOTTED)))
    panel = Panel(
        "Renyi curve",
        Axis("order α (no unit)", "log", low=1.0, plain=True),
        Axis("Renyi divergence (nats)", "log"),
        tuple(lines),
    )
    return panel, answers


def _said(by_curve: Guarantee, best: Guarantee) -> str:
    """The guarantee from the curve and, if another method gives less, a note that says so."""
    if best.epsilon.upper >= by_curve.epsilon.upper:
        return str(by_curve)
    return (
        f"{by_curve} This is what the curve alone gives; epsilon is {rounded_up(best.epsilon.upper)} at the same delta by "
        f"{best.method}."
    )
