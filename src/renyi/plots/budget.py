"""What was spent of a budget, entry by entry of its ledger."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from renyi.ledger import Ledger
from renyi.numerics.printing import rounded_up
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import drawn_panel
from renyi.plots.style import GREY, SERIES, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 500
"""Entries that are drawn of a long ledger: about one for every pixel."""


def budget_over_time(ledger: Ledger, *, dataset: str | None = None, ax: Axes | None = None) -> Axes:
    """The part of the budget that was spent after each entry, by the whole dataset and by every team and purpose.

    Entries are in the order of their numbers. Each account is shown as a part of the budget of the dataset, with its cap.
    """
    panel, caption = budget_panel(ledger, dataset)
    return drawn_panel(ax, panel, caption)


def budget_panel(ledger: Ledger, dataset: str | None) -> tuple[Panel, str]:
    """The plot before it is drawn, with its caption."""
    status = ledger.status(dataset)
    stride = max(1, -(-status.entries // _MOST_POINTS))
    # In the order of the accounts, so that a cap has the style of what it caps.
    points: dict[str, list[tuple[int, float]]] = {spent.account: [] for spent in status.accounts}
    for line, then in ledger.replay(status.dataset.name):
        if line.sequence % stride == 0 or line.sequence == status.entries - 1:
            for spent in then.accounts:
                if spent.account in points:  # others may have been added since
                    points[spent.account].append((line.sequence, 100.0 * spent.used * float(spent.share)))
    lines = []
    for (account, found), style in zip(points.items(), cycle(SERIES), strict=False):
        lines.append(Line.of(account, [entry for entry, _ in found], [spent for _, spent in found], style))
    for spent, style in zip(status.accounts, cycle(SERIES), strict=False):
        cap, last = 100.0 * float(spent.share), max(status.entries - 1, 1)
        colour = GREY if spent.share == 1 else style.colour
        lines.append(Line.of("", (0, last), (cap, cap), Style(colour, width=0.8)))
    panel = Panel(
        f"Budget of {status.dataset.name}",
        Axis("entry (number)"),
        Axis("spent (% of the budget)", low=0.0),
        tuple(lines),
    )
    used = rounded_up(100.0 * status.accounts[0].used)
    caption = (
        f"{used} % of {status.dataset.filter} was spent after {status.entries} entries; the unit is one {status.dataset.unit}. "
        "Thin lines are caps."
    )
    return panel, caption
