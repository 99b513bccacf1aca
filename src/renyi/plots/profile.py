"""The privacy profile: every (epsilon, delta) that holds at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from renyi.accountants import Accountant, Guarantee, guarantee
from renyi.accountants import delta as delta_of
from renyi.accountants import epsilon as epsilon_of
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import drawn_panel
from renyi.plots.runs import Runs, named, sentences, styled, suffixed
from renyi.privacy.relation import Adjacency

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 41
_FURTHER = 1e-3  # the profile is drawn to this share of delta


def privacy_profile(
    events: Runs,
    *,
    delta: float,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Delta against epsilon, delta on a logarithmic scale; the epsilon at the given ``delta`` is marked.

    A delta of 0, as pure DP reaches it, is off the scale: the curve ends there.
    """
    runs = named(events)
    answers = {
        name: guarantee(event, delta=delta, adjacency=adjacency, accountant=accountant) for name, event in runs.items()
    }
    lines = []
    for name, event, style in styled(runs):
        answer = answers[name]
        furthest = _furthest(event, answer, adjacency, accountant)
        grid = np.unique([*np.linspace(0.0, furthest, _POINTS), answer.epsilon.upper])
        values = np.atleast_1d(delta_of(event, epsilon=grid, adjacency=adjacency, accountant=accountant))
        lines.append(Line.of(name, grid[values > 0.0], values[values > 0.0], style))
        if answer.delta > 0.0:
            mark = suffixed(f"ε = {answer.epsilon.upper:.4g} at δ = {delta:g}", name)
            lines.append(Line.of(mark, [answer.epsilon.upper], [answer.delta], style.alone()))
    panel = Panel(
        "Privacy profile",
        Axis("privacy loss ε (nats)", low=0.0),
        Axis("failure probability δ (no unit)", "log"),
        tuple(lines),
    )
    return drawn_panel(ax, panel, sentences(answers))


def _furthest(event: Event, answer: Guarantee, adjacency: Adjacency, accountant: Accountant | None) -> float:
    """The epsilon at which the drawing ends."""
    if math.isinf(answer.epsilon.upper):
        raise InvalidInput(
            f"epsilon is infinite at delta = {answer.delta!r}, so the profile has no place to end. Pass a larger delta; "
            "a mechanism that fails outright with some probability needs one above that probability."
        )
    beyond = epsilon_of(event, delta=_FURTHER * answer.delta, adjacency=adjacency, accountant=accountant)
    return max(beyond if math.isfinite(beyond) else 2.0 * answer.epsilon.upper, 1e-6)
