"""The trade-off curve: what an attacker must miss, against the false alarms that he accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from renyi.accountants import Accountant, guarantee, risk
from renyi.plots.backend import house_style, shown_axes
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import draw_caption, draw_legend, draw_panel
from renyi.plots.runs import Runs, named, sentences, styled, suffixed
from renyi.plots.style import DOTTED, GREY, Style
from renyi.privacy.relation import Adjacency

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 41


def trade_off(
    events: Runs,
    *,
    delta: float,
    fpr: float = 0.01,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The smallest false-negative rate of any attacker against his false-positive rate.

    Marked: what he finds at the rate ``fpr``, and where his advantage over blind guessing is largest. ``delta`` is for the
    guarantee in the caption.
    """
    runs = named(events)
    rates = np.unique(np.concatenate([[fpr], 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, _POINTS))]))
    lines = [Line.of("blind guessing", [0.0, 1.0], [1.0, 0.0], Style(GREY, DOTTED))]
    said = {}
    for name, event, style in styled(runs):
        found = risk(event, adjacency=adjacency, accountant=accountant)
        missed = [found.false_negative_rate(float(rate)).lower for rate in rates]
        lines.append(Line.of(suffixed("best attack", name), rates, missed, style))
        caught = 100.0 * found.true_positive_rate(fpr).upper
        lines.append(
            Line.of(
                suffixed(f"{caught:.3g} % found at {100.0 * fpr:g} % false alarms", name),
                [fpr],
                [found.false_negative_rate(fpr).lower],
                style.alone(),
            )
        )
        gap = found.advantage.upper
        balanced = 0.5 * (1.0 - gap)  # the curve is its own mirror image, and its slope is -1 where it meets the mirror
        lines.append(Line.of(suffixed(f"advantage {gap:.3g}", name), [balanced], [balanced], style.alone("D")))
        promise = guarantee(event, delta=delta, adjacency=adjacency, accountant=accountant)
        said[name] = f"{promise} {' '.join(found.sentences((fpr,)))}"
    panel = Panel(
        "Trade-off curve of membership attacks",
        Axis("false-positive rate (share of non-members)", low=0.0, high=1.0),
        Axis("false-negative rate (share of members)", low=0.0, high=1.0),
        tuple(lines),
    )
    ax = shown_axes(ax)
    with house_style():
        draw_panel(ax, panel)
        draw_legend(ax)
        draw_caption(ax, sentences(said))
    return ax
