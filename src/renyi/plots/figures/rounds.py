"""Zhu & Wang (2019), Figure 4: epsilon after many rounds, by moments accountants and by naive composition."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.accountants import Classical, Exact
from renyi.laws.conversion import classic_epsilon
from renyi.plots.chart import Axis, Chart, Line, Panel
from renyi.plots.figures.divergence_bounds import bounds
from renyi.plots.figures.looks import ABADI, GENERAL, NAIVE, TIGHT, WITHOUT_REPLACEMENT
from renyi.plots.figures.settings import DELTA, RATE, SETTINGS, Setting, whole_orders
from renyi.plots.style import EXACT, Style

Array = NDArray[np.float64]

METHODS: dict[str, tuple[str, Style]] = {
    "tight": ("MA, tight bound (Theorem 6)", TIGHT),
    "general": ("MA, general bound (Theorem 5)", GENERAL),
    "without replacement": ("MA, without replacement (Wang et al.)", WITHOUT_REPLACEMENT),
    "abadi": ("MA, bound of Abadi et al.", ABADI),
}

MOST_ROUNDS = 100_000
"""Largest number of rounds drawn."""


def rounds() -> Chart:
    """Epsilon against the number of rounds, by each method of the paper and exactly."""
    return Chart(
        name="zhu-wang-figure-4",
        title="Privacy loss after k rounds (Zhu & Wang 2019, Figure 4)",
        caption=(
            f"ε at δ = {DELTA:g} after k releases, each on a fresh sample of rate γ = {RATE}; add-or-remove neighbours, but "
            "for sampling without replacement, which is about replace-one. MA: the moments accountant with this bound and "
            "the paper's conversion (2), ε = D(α) + log(1/δ)/(α − 1), at the best integer order (or the infinite one for "
            "pure DP). Naive: each release is amplified by Lemma 4, then the optimal composition of (ε, δ), over the best "
            "division of δ. Exact: composition of the privacy loss itself, numerical error included."
        ),
        quantities=("rounds", "epsilon"),
        panels=tuple(_panel(setting) for setting in SETTINGS),
        columns=3,
    )


def _panel(setting: Setting) -> Panel:
    counts = np.unique(np.rint(np.geomspace(1.0, MOST_ROUNDS, 11)))
    # Just before the Gaussian's curve turns upward, the last good order is the best one, so no order may be skipped there.
    dense = np.arange(2.0, 501.0 if math.isinf(setting.capped) else 3.0)
    orders = np.union1d(dense, whole_orders(10_000, 120))
    naive = [Classical().epsilon(setting.step * int(count), delta=DELTA).upper for count in counts]
    lines = []
    highest = 0.0
    for method, divergences in bounds(setting, orders).items():
        label, style = METHODS[method]
        spent = [_moments_accountant(orders, divergences, setting.capped, count) for count in counts]
        lines.append(Line.of(label, counts, spent, style))
        highest = max(highest, *spent)
    lines.append(Line.of("naive composition of (ε, δ)", counts, naive, NAIVE))
    exact = [Exact().epsilon(setting.step * int(count), delta=DELTA).upper for count in counts]
    lines.append(Line.of("exact composition (ours)", counts, exact, EXACT))
    return Panel(
        setting.title,
        Axis("rounds k (count)", "log"),
        Axis("privacy loss ε (nats)", "log", high=3.0 * highest),
        tuple(lines),
    )


def _moments_accountant(orders: Array, divergences: Array, capped: float, count: float) -> float:
    """The smallest epsilon over these orders and the infinite order."""
    log_delta = math.log(DELTA)
    known = [(float(order), float(value)) for order, value in zip(orders, divergences, strict=True) if value < math.inf]
    return min([count * capped, *(classic_epsilon(order, count * value, log_delta) for order, value in known)])
