"""The privacy profile: all (epsilon, delta) that hold at the same time."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from renyi.accountants import Accountant, Guarantee, guarantee
from renyi.accountants import delta as delta_of
from renyi.accountants import epsilon as epsilon_of
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.numerics.printing import rounded_up
from renyi.numerics.rounding import ULP
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import drawn_panel
from renyi.plots.halving import halved
from renyi.plots.runs import Runs, named, sentences, styled, suffixed
from renyi.signatures import taught

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_FIRST_LEVELS = 21
"""Levels at which delta is computed at first; then halfway between them, as long as that shows."""

_DRAWN_CELLS = 1000
"""Cells across the width of the plot: each is about a pixel or less."""

_PIXEL_HEIGHT = 1.0 / 300.0
"""Height of a pixel as a fraction of the plot, on the logarithmic axis."""

_LEAST_PIXEL_FACTOR = 1.001
"""Smallest ratio of deltas that counts as visible, for profiles that hardly fall."""

_LAST_SHARE = 1e-3
"""The profile is drawn down to this fraction of delta."""


@taught
def privacy_profile(
    events: Runs,
    *,
    delta: float,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Delta against epsilon, delta on a logarithmic scale; the epsilon at the given ``delta`` is marked.

    The line is nowhere below the profile, not even between the levels at which delta was computed, and at most about a pixel
    above it. A delta of 0, as for pure DP, is off the scale: the curve ends there.
    """
    runs = named(events)
    answers = {
        name: guarantee(event, delta=delta, adjacency=adjacency, accountant=accountant) for name, event in runs.items()
    }
    return drawn_panel(ax, profile_panel(runs, answers, accountant), sentences(answers))


def profile_panel(runs: dict[str, Event], answers: dict[str, Guarantee], accountant: Accountant | None = None) -> Panel:
    """The profiles of runs before they are drawn, each with the mark of its answer."""
    lines = []
    for name, event, style in styled(runs):
        answer = answers[name]
        furthest = _furthest(event, answer, accountant)
        first = np.unique([*np.linspace(0.0, furthest, _FIRST_LEVELS), min(answer.epsilon.upper, furthest)])
        profile = partial(_delta, event, answer.adjacency, accountant)
        levels, deltas = _drawn_above(*halved(profile, first, _visible, furthest / _DRAWN_CELLS))
        lines.append(Line.of(name, levels[deltas > 0.0], deltas[deltas > 0.0], style))
        if answer.delta > 0.0:
            mark = suffixed(f"ε = {rounded_up(answer.epsilon.upper)} at δ = {rounded_up(answer.delta)}", name)
            lines.append(Line.of(mark, [answer.epsilon.upper], [answer.delta], style.alone()))
    return Panel(
        "Privacy profile",
        Axis("privacy loss ε (nats)", low=0.0),
        Axis("failure probability δ (no unit)", "log"),
        tuple(lines),
    )


def _furthest(event: Event, answer: Guarantee, accountant: Accountant | None) -> float:
    """The epsilon at which the plot ends."""
    if math.isinf(answer.epsilon.upper):
        raise InvalidInput(
            f"epsilon is infinite at delta = {answer.delta!r}, so the profile has no place to end. Pass a larger delta; "
            "a mechanism that fails outright with some probability needs one above that probability."
        )
    beyond = epsilon_of(event, delta=_LAST_SHARE * answer.delta, adjacency=answer.adjacency, accountant=accountant)
    return max(beyond if math.isfinite(beyond) else 2.0 * answer.epsilon.upper, 1e-6)


def _delta(event: Event, adjacency: Adjacency, accountant: Accountant | None, levels: Array) -> Array:
    return np.asarray(delta_of(event, epsilon=levels, adjacency=adjacency, accountant=accountant))


def _visible(levels: Array, deltas: Array, middle: Array, found: Array) -> NDArray[np.bool_]:
    """Where the chords lie about a pixel or more above the values found."""
    drawn = deltas[deltas > 0.0]
    pixel = max((drawn.max() / drawn.min()) ** _PIXEL_HEIGHT, _LEAST_PIXEL_FACTOR) if drawn.size else 1.0
    return np.asarray(_chord(levels, deltas, middle) > pixel * found)


def _drawn_above(levels: Array, deltas: Array) -> tuple[Array, Array]:
    """A polyline above the profile, whatever the scales of the axes.

    A profile is convex in e^epsilon, so between computed levels it lies below the chord. The value of the chord at the left end
    of each cell is drawn at the right end; because a profile falls, the line from one such point to the next stays above it.
    """
    mesh = np.union1d(levels, np.linspace(0.0, levels[-1], _DRAWN_CELLS + 1))
    above = _chord(levels, deltas, mesh)
    return mesh, np.concatenate([above[:1], above[:-1]])


def _chord(levels: Array, deltas: Array, at: Array) -> Array:
    """The chords between neighbouring points, straight in e^epsilon, raised by their rounding error."""
    place = np.clip(np.searchsorted(levels, at, side="right") - 1, 0, levels.size - 2)
    left, right = levels[place], levels[place + 1]
    # (e^at - e^left)/(e^right - e^left), without overflow.
    share = np.exp(at - right) * np.expm1(left - at) / np.expm1(left - right)
    chord = deltas[place] + share * (deltas[place + 1] - deltas[place]) + 4.0 * ULP * deltas[place]
    return np.where(at == left, deltas[place], np.where(at == right, deltas[place + 1], chord))
