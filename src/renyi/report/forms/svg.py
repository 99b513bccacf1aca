"""A panel of a plot as SVG inside a page: no library draws it, and its colours are those of the page, light or dark."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass

from renyi.plots.chart import Axis, Line, Panel
from renyi.plots.style import GREY, NONE, SERIES

_WIDTH, _HEIGHT = 560, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 14, 12, 52
"""Room for the labels around the axes, in units of the drawing, which are about pixels."""

_MOST_TICKS = 7

_COLOURS = [style.colour for style in SERIES]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where a value lies along an axis, and which values are labelled."""

    place: Callable[[float], float]
    ticks: tuple[float, ...]


def svg(panel: Panel) -> str:
    """The curves, axes and marks of a panel; ``legend`` holds their labels."""
    x = _scale(panel.x, [value for line in panel.lines for value in line.x], _LEFT, _WIDTH - _RIGHT)
    y = _scale(panel.y, [value for line in panel.lines for value in line.y], _HEIGHT - _BOTTOM, _TOP)
    left, right, top, bottom = _LEFT, _WIDTH - _RIGHT, _TOP, _HEIGHT - _BOTTOM
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(panel.title)}">',
        *(
            f'<path class="grid" d="M{x.place(tick):.1f} {top}V{bottom}"/>'
            f'<text x="{x.place(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>'
            for tick in x.ticks
        ),
        *(
            f'<path class="grid" d="M{left} {y.place(tick):.1f}H{right}"/>'
            f'<text x="{left - 6}" y="{y.place(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
            for tick in y.ticks
        ),
        f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/>',
        f'<text class="label" x="{(left + right) // 2}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{html.escape(panel.x.label)}</text>",
        f'<text class="label" transform="translate(14 {(top + bottom) // 2}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(panel.y.label)}</text>",
        *(_drawn(line, x, y) for line in panel.lines if line.x),
        "</svg>",
    ]
    return "\n".join(parts)


def legend(panel: Panel) -> str:
    """The labels of the curves and marks, as a list beside small signs of them."""
    entries = "".join(
        f'<li><svg class="sign" viewBox="0 0 26 12" aria-hidden="true">{_sign(line)}</svg>{html.escape(line.label)}</li>'
        for line in panel.lines
        if line.label
    )
    return f'<ul class="legend">{entries}</ul>'


def _drawn(line: Line, x: _Scale, y: _Scale) -> str:
    if line.style.dashes == NONE:
        return "".join(_mark(line, x.place(a), y.place(b)) for a, b in zip(line.x, line.y, strict=True))
    places = [(f"{x.place(a):.1f}", f"{y.place(b):.1f}") for a, b in zip(line.x, line.y, strict=True)]
    points = " ".join(f"{a},{b}" for a, b in dict.fromkeys(places))
    return f'<polyline class="{_kind(line)}" points="{points}"/>'


def _sign(line: Line) -> str:
    return _mark(line, 13, 6) if line.style.dashes == NONE else f'<path class="{_kind(line)}" d="M1 6H25"/>'


def _mark(line: Line, x: float, y: float) -> str:
    if line.style.marker == "D":
        return f'<path class="mark" d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"/>'
    return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'


def _kind(line: Line) -> str:
    """What the page's style goes by: what is beside the point is pale, and every run after the first has a look of its own."""
    if line.style.colour == GREY:
        return "guess"
    series = _COLOURS.index(line.style.colour) if line.style.colour in _COLOURS else 0
    return f"curve{f' series-{series}' if series else ''}{' thin' if line.style.width < 1.0 else ''}"


def _scale(axis: Axis, values: list[float], start: float, end: float) -> _Scale:
    """A linear or logarithmic axis from ``start`` to ``end`` of the drawing."""
    if axis.scale == "log" and any(value > 0.0 for value in values):
        return _log_scale([value for value in values if value > 0.0], start, end)
    low = min(values, default=0.0) if axis.low is None else axis.low
    high = max(values, default=1.0) if axis.high is None else axis.high
    high = high if high > low else low + 1.0
    step = _nice((high - low) / _MOST_TICKS)
    ticks = tuple(step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1))
    return _Scale(lambda value: start + (end - start) * (value - low) / (high - low), ticks)


def _log_scale(values: list[float], start: float, end: float) -> _Scale:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    stride = math.ceil((high - low) / _MOST_TICKS)
    return _Scale(
        lambda value: start + (end - start) * (math.log10(value) - low) / (high - low),
        tuple(10.0**k for k in range(low, high + 1, stride)),
    )


def _nice(step: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below a step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= step * (1.0 - 1e-12))
