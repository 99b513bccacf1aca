"""Zhu & Wang (2019), Figure 5: how many terms of the tight bound are enough."""

from __future__ import annotations

import numpy as np

from renyi.accountants import divergence
from renyi.papers.zhu_wang.zhu_wang import theorem_6, theorem_11
from renyi.plots.chart import Axis, Chart, Line, Panel
from renyi.plots.figures.looks import TIGHT, UNSAMPLED
from renyi.plots.figures.settings import RATE, SETTINGS, Setting, real_orders, whole_orders
from renyi.plots.style import BLUE, DASH_DOT, DASHED, DOTTED, EXACT, GREEN, LONG, ORANGE, VERMILION, Style

TAUS = {
    2: Style(VERMILION, DOTTED, width=2.0),
    5: Style(ORANGE, DASH_DOT),
    20: Style(GREEN, DASHED),
    50: Style(BLUE, LONG, "o"),
}

HIGHEST = 2000
"""Highest order drawn."""


def tau_terms() -> Chart:
    """The approximation with 2 tau values of the curve, for several tau, beside the tight bound and the exact divergence."""
    return Chart(
        name="zhu-wang-figure-5",
        title="The τ-term approximation (Zhu & Wang 2019, supplement, Figure 5)",
        caption=(
            f"Renyi divergence of one release on a Poisson sample of rate γ = {RATE}, against the order; add-or-remove "
            "neighbours. Theorem 11 evaluates the unsampled curve at its 2τ lowest and highest orders only and raises the "
            "rest; it starts at α = 2τ, below which every term is there. With τ = 50 it is the tight bound almost "
            "everywhere; the Gaussian turns upward a little too early."
        ),
        quantities=("order", "divergence"),
        panels=tuple(_panel(setting) for setting in SETTINGS),
        columns=3,
    )


def _panel(setting: Setting) -> Panel:
    orders, base = whole_orders(HIGHEST, 60), setting.base
    real = real_orders(orders)
    sparse = real[(real.size - 1) % 5 :: 5]
    exact = np.atleast_1d(divergence(setting.step, order=real))
    tight = [theorem_6(int(order), rate=RATE, curve=base) for order in orders]
    lines = [
        Line.of("unsampled mechanism", sparse, base(sparse), UNSAMPLED),
        Line.of("tight bound (Theorem 6)", orders, tight, TIGHT),
    ]
    for tau, style in TAUS.items():
        reached = orders[orders >= 2 * tau]
        values = [theorem_11(int(order), rate=RATE, tau=tau, curve=base) for order in reached]
        lines.append(Line.of(f"τ = {tau} (Theorem 11)", reached, values, style))
    lines.append(Line.of("exact divergence (ours)", real, exact, EXACT))
    return Panel(
        setting.title,
        Axis("order α (no unit)", "log", low=1.0, high=HIGHEST, plain=True),
        Axis("Renyi divergence (nats)", "log", low=float(exact.min()) / 3.0),
        tuple(lines),
    )
