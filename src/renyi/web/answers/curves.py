"""The plots' numbers, and the same plots drawn here for pages without a script."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from renyi.accountants import Guarantee, guarantee, risk
from renyi.errors import InvalidInput
from renyi.events.document import short
from renyi.events.event import Event
from renyi.numerics.printing import rounded_up
from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.curve import curve_panel
from renyi.plots.profile import profile_panel
from renyi.plots.rates import trade_off_panel
from renyi.plots.steps import ONLY_SOME, steps_panel
from renyi.plots.style import DASHED, GREY, NONE, SERIES, Style
from renyi.report.forms.svg import legend, svg
from renyi.report.odds import FPR
from renyi.web.answers.answer import found
from renyi.web.form import Form, other_form

_POINTS = 12
"""Numbers of steps at which epsilon is computed: a plot that follows a slider has less time than one in a file."""

THIS, OTHER = "this run", "other run"
"""What two runs are called that are drawn together."""


def curve(form: Form, kind: str) -> dict[str, Any]:
    """One plot: its axes and lines, as numbers."""
    panel = _panel(form, kind)
    return {
        "title": panel.title,
        "x": _axis(panel.x),
        "y": _axis(panel.y),
        "lines": [_line(line) for line in panel.lines],
        "note": NOTES[kind],
        "said": _read_off(panel) if kind == "trade-off" else [],
    }


def drawn(form: Form, kind: str) -> dict[str, Any]:
    """One plot as a drawing."""
    panel = _panel(form, kind)
    return {"title": panel.title, "svg": f"{svg(panel)}{legend(panel)}", "note": NOTES[kind]}


def _panel(form: Form, kind: str) -> Panel:
    if kind not in PANELS:
        raise InvalidInput(f"the plots are {', '.join(PANELS)}; got {short(kind)}.")
    own, other = found(form).guarantee, (other_form(form) if form.beside else None)
    answers = (
        {"": _at_delta(own)} if other is None else {THIS: _at_delta(own), OTHER: _beside(found(other).guarantee, own)}
    )
    if any(answer.epsilon.upper == math.inf for answer in answers.values()):
        raise InvalidInput("epsilon has no upper end, so there is nothing to draw.")
    return PANELS[kind](answers)


def _at_delta(answer: Guarantee) -> Guarantee:
    """A guarantee whose delta was found, asked at that delta; nothing is drawn at a delta of 0."""
    if not 0.0 < answer.delta < 1.0:
        raise InvalidInput(f"plots are drawn for a delta between 0 and 1; it is {answer.delta:g}.")
    return guarantee(answer.event, delta=answer.delta, adjacency=answer.adjacency)


def _beside(other: Guarantee, own: Guarantee) -> Guarantee:
    """Another run at the delta and for the neighbours of this one."""
    return guarantee(other.event, delta=own.delta, adjacency=own.adjacency)


def _events(answers: dict[str, Guarantee]) -> dict[str, Event]:
    return {name: answer.event for name, answer in answers.items()}


def _first(answers: dict[str, Guarantee]) -> Guarantee:
    return next(iter(answers.values()))


def _steps(answers: dict[str, Guarantee]) -> Panel:
    first = _first(answers)
    return steps_panel(_events(answers), first.delta, adjacency=first.adjacency, points=_POINTS)[0]


def _renyi(answers: dict[str, Guarantee]) -> Panel:
    first = _first(answers)
    return curve_panel(_events(answers), first.delta, first.adjacency)[0]


def _profile(answers: dict[str, Guarantee]) -> Panel:
    return profile_panel(_events(answers), answers)


def _trade_off(answers: dict[str, Guarantee]) -> Panel:
    panel = trade_off_panel(
        {name: risk(answer.event, adjacency=answer.adjacency) for name, answer in answers.items()}, FPR
    )
    return Panel(panel.title, panel.x, panel.y, (panel.lines[0], _one_point(_first(answers)), *panel.lines[1:]))


def _one_point(answer: Guarantee) -> Line:
    """What the one pair (epsilon, delta) says of the attacker: Dong, Roth & Su (2022), arXiv:1905.02383v3, Proposition 2.5."""
    epsilon, rest = answer.epsilon.upper, 1.0 - answer.delta
    corner = rest / (1.0 + math.exp(min(epsilon, 700.0)))
    label = f"all that (ε, δ) = ({rounded_up(epsilon)}, {rounded_up(answer.delta)}) says"
    return Line.of(label, (0.0, corner, rest, 1.0), (rest, corner, 0.0, 0.0), Style(GREY, DASHED))


PANELS: dict[str, Callable[[dict[str, Guarantee]], Panel]] = {
    "trade-off": _trade_off,
    "profile": _profile,
    "steps": _steps,
    "renyi": _renyi,
}
"""The plots by name."""

NOTES = {
    "trade-off": "No attacker gets below the line: the fewer members they miss, the more others they accuse.",
    "profile": "All (ε, δ) on or above the line hold at the same time. The line is nowhere below the profile.",
    "steps": ONLY_SOME,
    "renyi": "From this curve alone the marked order gives the best ε; the answer above may be smaller, by a better method.",
}
"""What to know when reading a plot."""


def _axis(axis: Axis) -> dict[str, Any]:
    return {"label": axis.label, "log": axis.scale == "log", "low": axis.low, "high": axis.high}


def _line(line: Line) -> dict[str, Any]:
    colours = [style.colour for style in SERIES]
    return {
        "label": line.label,
        "x": line.x,
        "y": line.y,
        "mark": line.style.dashes == NONE,
        "dots": line.style.every == 1 and line.style.dashes != NONE,
        "dashed": line.style.dashes != NONE and line.style.colour == GREY,
        "series": colours.index(line.style.colour) if line.style.colour in colours else -1,
    }


def _read_off(panel: Panel) -> list[str]:
    """A sentence for each point of the first run's curve."""
    line = next(line for line in panel.lines if line.label.startswith("best attack"))
    return [
        f"An attacker who accepts {100.0 * x:.4g} % false alarms finds at most "
        f"{rounded_up(100.0 * math.nextafter(1.0 - y, 1.0))} % of members."
        for x, y in zip(line.x, line.y, strict=True)
    ]
