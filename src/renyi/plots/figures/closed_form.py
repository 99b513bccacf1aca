"""Mironov, Talwar & Zhang (2019), arXiv:1908.10530v1, Figure 1: how far the closed form reaches, and how close it is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from renyi.accountants import divergence
from renyi.composing.event_laws import renyi_curve
from renyi.events.nodes import Sampled
from renyi.laws.relation import Relation
from renyi.mechanisms import Gaussian
from renyi.numerics.roots.falling_root import falling_root
from renyi.papers.sampled_gaussian.mironov_talwar_zhang import (
    condition_4,
    condition_5,
    erfc_series,
    largest_order,
    theorem_11,
)
from renyi.plots.chart import Axis, Chart, Line, Panel
from renyi.plots.style import BLUE, DASHED, DOTTED, EXACT, GREEN, NONE, ORANGE, SKY, VERMILION, Style
from renyi.sampling.poisson.poisson import Poisson

NOISES = (4.0, 10.0)
RATE = 0.01
"""Sampling rate of the right panel."""


def closed_form() -> Chart:
    """Left: the largest order of the closed form against the rate. Right: the closed form beside the divergence."""
    return Chart(
        name="mironov-talwar-zhang-figure-1",
        title="The closed form for the sampled Gaussian (Mironov, Talwar & Zhang 2019, Figure 1)",
        caption=(
            "Left: the largest order that conditions (4) and (5) of Theorem 11 admit, their minimum, and the order up to "
            f"which the exact divergence stays below the closed form 2 q² α/σ². Right: at rate q = {RATE} the closed form "
            "up to its largest order, the divergence by the paper's series (section 3.3), and ours at every real order "
            "and in both directions. Sampled Gaussian mechanism, add-or-remove neighbours."
        ),
        quantities=("x", "y"),
        panels=(_reach(), _curves()),
        columns=2,
        legend_columns=4,
    )


def last_order(condition: Callable[..., float], *, rate: float, noise: float) -> float:
    """The order at which a condition ceases to hold."""
    return falling_root(lambda order: condition(order, rate=rate, noise=noise), 1.0 + 1e-9, 1e9)[0]


def exact_order(*, rate: float, noise: float) -> float:
    """The order at which the exact divergence reaches 2 q^2 alpha/sigma^2: the closed form is true up to there."""
    step = Gaussian(noise).on(Poisson(rate))
    slope = theorem_11(1.5, rate=rate, noise=noise) / 1.5  # the closed form is a line

    def slack(log_order: float) -> float:
        order = math.exp(log_order)
        return 1.0 - float(divergence(step, order=order)) / (slope * order)

    return math.exp(falling_root(slack, math.log(1.5), math.log(1e7))[0])


def _reach() -> Panel:
    rates = np.append(np.geomspace(1e-5, 0.1, 17), 0.2)
    lines = []
    for noise, dark, pale in ((NOISES[0], BLUE, SKY), (NOISES[1], VERMILION, ORANGE)):
        fourth = [last_order(condition_4, rate=float(rate), noise=noise) for rate in rates]
        fifth = [last_order(condition_5, rate=float(rate), noise=noise) for rate in rates]
        both = [largest_order(rate=float(rate), noise=noise) for rate in rates]
        exact = [exact_order(rate=float(rate), noise=noise) for rate in rates]
        lines += [
            Line.of(f"both conditions, σ = {noise:g}", rates, both, Style(pale, width=4.0)),
            Line.of(f"condition (4), σ = {noise:g}", rates, fourth, Style(dark, DASHED)),
            Line.of(f"condition (5), σ = {noise:g}", rates, fifth, Style(dark, DOTTED, width=1.8)),
            Line.of(f"exact, σ = {noise:g}", rates, exact, Style(dark, "-", "o" if noise == NOISES[0] else "s")),
        ]
    return Panel(
        "Largest order",
        Axis("sampling rate q (no unit)", "log"),
        Axis("order α (no unit)", "log", plain=True),
        tuple(lines),
    )


def _curves() -> Panel:
    lines = []
    for noise, colour, marker in ((NOISES[0], BLUE, "o"), (NOISES[1], VERMILION, "s")):
        end = largest_order(rate=RATE, noise=noise)
        admitted = np.geomspace(1.05, end, 40)
        closed = [theorem_11(float(order), rate=RATE, noise=noise) for order in admitted]
        step = Sampled(Gaussian(noise), Poisson(RATE))
        real = np.geomspace(1.05, 8.0 * end, 60)
        some = np.geomspace(1.3, 8.0 * end, 9)
        series = [erfc_series(float(order), rate=RATE, noise=noise) for order in some]
        lines += [
            Line.of(f"Theorem 11, σ = {noise:g}", admitted, closed, Style(colour, DASHED, width=1.8)),
            Line.of(f"paper's series, σ = {noise:g}", some, series, Style(colour, NONE, marker, size=5.0)),
            Line.of(f"exact, removing, σ = {noise:g}", real, renyi_curve(step, Relation.REMOVE)(real), EXACT),
            Line.of(f"exact, adding, σ = {noise:g}", real, renyi_curve(step, Relation.ADD)(real), Style(GREEN, DOTTED)),
        ]
    return Panel(
        f"Divergence at q = {RATE}",
        Axis("order α (no unit)", "log", plain=True),
        Axis("Renyi divergence (nats)", "log"),
        tuple(lines),
    )
