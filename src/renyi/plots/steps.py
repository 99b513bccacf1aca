"""Epsilon against the number of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from renyi import check
from renyi.accountants import Accountant, Guarantee, epsilon, guarantee
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.events.nodes import Repeated
from renyi.laws.relation import Adjacency
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import drawn_panel
from renyi.plots.runs import Runs, named, sentences, styled, suffixed
from renyi.signatures import taught

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 32
"""Numbers of steps at which epsilon is computed; more would take longer and hardly show."""

ONLY_SOME = "Computed where the markers are; the line between them only guides the eye."


@taught
def epsilon_by_steps(
    events: Runs,
    *,
    delta: float,
    steps: int | None = None,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Epsilon at ``delta`` after 1, 2, ... steps of a run ``step * n``, up to n; or of any event, up to ``steps`` times.

    The computed counts have markers. For a long run they are few, and the caption says that the line between them only guides
    the eye: the true epsilon differs from it by up to a few percent.
    """
    runs = named(events)
    panel, answers = steps_panel(runs, delta, steps, adjacency, accountant)
    some = any(_schedule(event, steps)[1] > _POINTS for event in runs.values())
    return drawn_panel(ax, panel, sentences(answers) + ("\n" + ONLY_SOME if some else ""))


def steps_panel(
    runs: dict[str, Event],
    delta: float,
    steps: int | None = None,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
    points: int = _POINTS,
) -> tuple[Panel, dict[str, Guarantee]]:
    """Epsilon as runs go on, at about so many ``points``, before it is drawn, and the guarantees at their ends."""
    lines, answers = [], {}
    for name, event, style in styled(runs):
        step, count = _schedule(event, steps)
        counts = np.unique(np.rint(np.geomspace(1.0, count, points))) if count > points else np.arange(1.0, count + 1.0)
        spent = epsilon([step * int(n) for n in counts], delta=delta, adjacency=adjacency, accountant=accountant)
        answers[name] = guarantee(step * count, delta=delta, adjacency=adjacency, accountant=accountant)
        lines.append(Line.of(name, counts, np.atleast_1d(spent), style.dotted()))
        if not lines[-1].x:
            raise InvalidInput(
                f"epsilon of {name or 'this run'} is infinite at delta = {delta!r} after the first step already, so there is "
                "nothing to draw. Pass a larger delta, or a step with noise."
            )
        last = suffixed(f"after {count} steps", name)
        lines.append(Line.of(last, [count], [answers[name].epsilon.upper], style.alone()))
    panel = Panel(
        f"Privacy loss as a run goes on, at δ = {delta:g}",
        Axis("steps (count)", "log", plain=True),
        Axis("privacy loss ε (nats)", "log", plain=True),
        tuple(lines),
    )
    return panel, answers


def _schedule(event: Event, steps: int | None) -> tuple[Event, int]:
    """One step, and how often it is repeated."""
    if steps is not None:
        return event, check.whole(1, steps=steps)
    match event.canonical():
        case Repeated(step, count) if count > 1:
            return step, count
    raise InvalidInput(
        f"how often {event!r} is repeated is not said: pass a run such as step * 1000, or steps=1000 beside one step."
    )
