"""The three routes of "Great but Manageable Expectations", notes on Renyi DP, part 2, and the accountants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from renyi.papers.exposition.routes import Routes, routes
from renyi.plots.chart import Axis, Chart, Line, Panel
from renyi.plots.style import BLUE, DASH_DOT, DASHED, EXACT, GREEN, LONG, ORANGE, SKY, VERMILION, Style

_POINTS = 8
"""Values of epsilon on each curve."""

_SMALLEST_DRAWN = 1e-300
"""Smallest delta that is drawn: below it floats soon underflow."""

_PANEL_BOTTOM = 1e-30
"""Smallest delta on the axis of the panels."""


@dataclass(frozen=True, slots=True)
class Run:
    """Epochs over the data with Gaussian noise on Poisson samples, and the largest epsilon that is drawn."""

    noise: float
    rate: float
    epochs: int
    largest: float


RUNS = (Run(4.0, 0.01, 1, 2.0), Run(10.0, 0.01, 10, 2.0), Run(20.0, 0.001, 10, 1.0))

LOOKS = {
    "route_1": ("Route 1: amplified tail, Azuma", Style(VERMILION, DASHED, "s")),
    "route_1_exact": ("Route 1 from the exact profile", Style(ORANGE, DASH_DOT, "v")),
    "route_2": ("Route 2: k releases without sampling", Style(BLUE, LONG, "o")),
    "route_3": ("Route 3: one moment of the sampled step", Style(GREEN, DASHED, "^")),
    "renyi": ("Renyi accountant (ours)", Style(SKY, width=4.0)),
    "exact": ("exact composition (ours)", EXACT),
}


def three_routes() -> Chart:
    """Delta against epsilon by each route and by the accountants, for three runs."""
    return Chart(
        name="routes-compared",
        title="Three routes to the guarantee of DP-SGD, and the accountants",
        caption=(
            "δ against ε for k epochs of Gaussian noise σ on Poisson samples of rate r, which take k/r steps; add-or-remove "
            "neighbours. The routes are those of the notes, corrected where their printed form is not a bound. Route 2 is "
            "about another algorithm, k releases on all of the data. The accountants and Route 3 are about the same k/r "
            "sampled steps as Route 1; their δ is soon too small for the panel."
        ),
        quantities=("epsilon", "delta"),
        panels=tuple(_panel(run) for run in RUNS),
        columns=3,
        legend_columns=3,
    )


def _panel(run: Run) -> Panel:
    epsilons = np.geomspace(run.largest / 50.0, run.largest, _POINTS)
    found: list[Routes] = [
        routes(noise=run.noise, rate=run.rate, epochs=run.epochs, epsilon=float(epsilon)) for epsilon in epsilons
    ]

    def line(field: str, label: str, style: Style) -> Line:
        points = [
            (e, d)
            for e, d in zip(epsilons, (getattr(one, field) for one in found), strict=True)
            if d >= _SMALLEST_DRAWN
        ]
        return Line.of(label, [e for e, _ in points], [d for _, d in points], style)

    return Panel(
        f"σ = {run.noise:g}, r = {run.rate:g}, k = {run.epochs}",
        Axis("privacy loss ε (nats)", "log", plain=True),
        Axis("failure probability δ (no unit)", "log", low=_PANEL_BOTTOM, high=100.0),
        tuple(line(field, label, style) for field, (label, style) in LOOKS.items()),
    )
