"""The privacy profile: every (epsilon, delta) that holds at once."""

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
from renyi.numerics.rounding import ULP
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.drawing import drawn_panel
from renyi.plots.halving import halved
from renyi.plots.runs import Runs, named, sentences, styled, suffixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_FIRST = 21  # levels at which delta is computed to begin with; then halfway between them, as long as that shows
_CELLS = 1000  # of the width of the drawing: each narrower than a pixel
_PIXEL = 1.0 / 300.0  # of the height of the drawing
_LEAST_PIXEL = 1.001  # as a factor, where the profile hardly falls
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

    The line is nowhere below the profile, also between the levels at which delta was computed, and about a pixel above it.
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
        first = np.unique([*np.linspace(0.0, furthest, _FIRST), min(answer.epsilon.upper, furthest)])
        profile = partial(_delta, event, adjacency, accountant)
        levels, deltas = _drawn_above(*halved(profile, first, _visible, furthest / _CELLS))
        lines.append(Line.of(name, levels[deltas > 0.0], deltas[deltas > 0.0], style))
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


def _delta(event: Event, adjacency: Adjacency, accountant: Accountant | None, levels: Array) -> Array:
    return np.asarray(delta_of(event, epsilon=levels, adjacency=adjacency, accountant=accountant))


def _visible(levels: Array, deltas: Array, middle: Array, found: Array) -> NDArray[np.bool_]:
    """Where the chords lie about a pixel or more above what was found."""
    drawn = deltas[deltas > 0.0]
    pixel = max((drawn.max() / drawn.min()) ** _PIXEL, _LEAST_PIXEL) if drawn.size else 1.0
    return np.asarray(_chord(levels, deltas, middle) > pixel * found)


def _drawn_above(levels: Array, deltas: Array) -> tuple[Array, Array]:
    """A polyline above the profile, whatever the scales of the axes.

    Between computed levels a chord is above a profile, which is convex in e^epsilon. Each cell's chord at its left end is
    drawn at its right end; a profile falls, so a line from one such point to the next is above it all along.
    """
    mesh = np.union1d(levels, np.linspace(0.0, levels[-1], _CELLS + 1))
    above = _chord(levels, deltas, mesh)
    return mesh, np.concatenate([above[:1], above[:-1]])


def _chord(levels: Array, deltas: Array, at: Array) -> Array:
    """The chords between neighbouring points, straight in e^epsilon, with their rounding added."""
    place = np.clip(np.searchsorted(levels, at, side="right") - 1, 0, levels.size - 2)
    left, right = levels[place], levels[place + 1]
    # (e^at - e^left)/(e^right - e^left), in which nothing overflows.
    share = np.exp(at - right) * np.expm1(left - at) / np.expm1(left - right)
    chord = deltas[place] + share * (deltas[place + 1] - deltas[place]) + 4.0 * ULP * deltas[place]
    return np.where(at == left, deltas[place], np.where(at == right, deltas[place + 1], chord))
