"""One run, several accountants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from renyi.accountants import Accountant, Classical, Exact, LossGrid, Rdp, guarantee
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.event import Event
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.plots.backend import shown_axes
from renyi.plots.drawing import draw_caption, is_narrow, style_of
from renyi.plots.style import BLUE, GREEN, PURPLE, VERMILION
from renyi.signatures import taught

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS_AND_MARKERS = ((BLUE, "o"), (GREEN, "s"), (VERMILION, "^"), (PURPLE, "D"))
_LOG_SCALE_FROM = 10.0
"""Ratio of the largest to the smallest answer above which the axis is logarithmic."""


def everybody() -> tuple[Accountant, ...]:
    """The accountants that are compared by default."""
    return Exact(), LossGrid(), Rdp(), Classical()


@taught
def accountants(
    event: Event,
    *,
    delta: float,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    compared: tuple[Accountant, ...] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Epsilon of one run at ``delta`` by each accountant: a marker at the upper end, a thick line from the lower one.

    An accountant without a theorem for the run has no marker, and the plot says so.
    """
    promise = guarantee(event, delta=delta, adjacency=adjacency)
    asked = everybody() if compared is None else compared
    if not 0 < len(asked) <= len(_COLOURS_AND_MARKERS):
        raise InvalidInput(f"compare one to {len(_COLOURS_AND_MARKERS)} accountants; got {len(asked)}.")
    answers = [(type(one).__name__, _asked(one, event, delta, adjacency)) for one in asked]
    finite = [found.upper for _, found in answers if found is not None and 0.0 < found.upper < math.inf]
    least, most = min(finite, default=1.0), max(finite, default=1.0)
    wide = most > _LOG_SCALE_FROM * least
    left, right = (0.4 * least, most * (most / least) ** 0.45) if wide else (0.0, 1.45 * most)
    ax = shown_axes(ax)
    with style_of(ax):
        for place, ((name, found), (colour, marker)) in enumerate(zip(answers, _COLOURS_AND_MARKERS, strict=False)):
            if found is None or math.isinf(found.upper):
                ax.text(left, place, "  no theorem for this run" if found is None else "  infinite", va="center")
                continue
            reach, floor = max(found.upper, left), max(found.lower, left)
            ax.hlines(place, left, reach, colors=colour, linestyles="dotted")
            if found.lower > 0.0:
                ax.hlines(place, floor, reach, colors=colour, linewidths=6.0)
            ax.plot([reach], [place], color=colour, marker=marker, markersize=9.0, linestyle="none", label=name)
            ax.annotate(
                _ends(found), (reach, place), xytext=(9.0, 0.0), textcoords="offset points", va="center", fontsize=8.0
            )
        ax.set_xscale("log" if wide else "linear")
        ax.set_xlim(left, right)
        ax.set_yticks(range(len(answers)), [name for name, _ in answers])
        ax.set_ylim(len(answers) - 0.5, -0.5)
        ax.grid(False, axis="y")
        ax.set(xlabel="privacy loss ε (nats)", ylabel="accountant")
        space = "\n" if is_narrow(ax) else " "
        ax.set_title(f"One run, several accountants,{space}at δ = {delta:g}", loc="left")
        draw_caption(ax, str(promise))
    return ax


def _asked(accountant: Accountant, event: Event, delta: float, adjacency: Adjacency) -> Interval | None:
    try:
        return accountant.epsilon(event, delta=delta, adjacency=adjacency)
    except UnsupportedError:
        return None


def _ends(found: Interval) -> str:
    """Both ends as text, or only the upper one if the lower is trivial."""
    if found.lower == 0.0:
        return f"≤ {rounded_up(found.upper)}"
    return f"{math.floor(found.lower * 1e6) / 1e6:.6g} to {rounded_up(found.upper)}"
