"""Zhu & Wang (2019), Figure 2: two Poisson laws whose odd chi-divergences are negative, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi.laws.pair import FiniteLossPair
from renyi.papers.zhu_wang.pearson_vajda import pearson_vajda_moment
from renyi.papers.zhu_wang.zhu_wang import theorem_5, theorem_6
from renyi.plots.chart import Axis, Chart, Line, Panel
from renyi.plots.style import BLUE, DASHED, EXACT, GREEN, GREY, SKY, SOLID, VERMILION, Style

Array = NDArray[np.float64]

SMALL, LARGE = 0.3, 0.6
"""The means of the two laws of Nielsen & Nock (2014)."""

RATE = 0.1

_OUTCOMES = 400
"""Outcomes of each law that are listed: the ratio is about 2^k, and its moment of order l comes from outcomes k near 0.3
2^l."""

_ORDERS = range(2, 12)
"""Orders of the moments drawn."""


def odd_moments() -> Chart:
    """The chi-divergences of the laws, and the divergences on a sample whose bounds depend on them."""
    return Chart(
        name="zhu-wang-figure-2",
        title="Odd χ-divergences can be negative (Zhu & Wang 2019, Figure 2)",
        caption=(
            f"Left: the Pearson-Vajda divergence E_Q (P/Q − 1)^n of two Poisson laws, exact sums. With means {SMALL} and "
            f"{LARGE} it is negative at odd orders, so condition (4) of Theorem 8 fails; with means 1 and 2 it is "
            f"positive. Right: the first pair as a mechanism (mean {SMALL} with the record, {LARGE} without) on a Poisson "
            f"sample of rate {RATE}. Theorem 6 with the divergences of one direction only lies below the exact divergence "
            "of adding a record; with the larger of both directions it is an upper bound for add-or-remove neighbours "
            "(and leaves the panel), and Theorem 5 lies above it."
        ),
        quantities=("order", "divergence"),
        panels=(_moments(), _sampled(_pair(SMALL, LARGE))),
        columns=2,
        legend_columns=2,
    )


def _moments() -> Panel:
    looks = {(SMALL, LARGE): Style(VERMILION, SOLID, "o"), (1.0, 2.0): Style(BLUE, DASHED, "s")}
    return Panel(
        "χ-divergence of order n",
        Axis("order n (integer)"),
        Axis("E_Q (P/Q − 1)^n (no unit)", "symlog", low=-0.1),
        (
            Line.of("", (2.0, 11.0), (0.0, 0.0), Style(GREY, width=0.8)),
            *(
                Line.of(
                    f"P = Poisson({first:g}), Q = Poisson({second:g})",
                    _ORDERS,
                    [pearson_vajda_moment(_pair(first, second), order).value for order in _ORDERS],
                    style,
                )
                for (first, second), style in looks.items()
            ),
        ),
    )


def _sampled(pair: FiniteLossPair) -> Panel:
    forward, backward = pair.renyi(), pair.reversed().renyi()
    orders = np.arange(2.0, 9.0)
    real = np.linspace(1.0, 8.0, 29)
    mixture = pair.ratio_law(float(real[-1])).mixed(RATE)

    def larger(order: Array) -> Array:
        return np.maximum(forward(order), backward(order))

    def bound(theorem: Callable[..., float], curve: Callable[[Array], Array]) -> list[float]:
        return [theorem(int(order), rate=RATE, curve=curve) for order in orders]

    return Panel(
        f"Divergence on a sample of rate {RATE}",
        Axis("order α (no unit)"),
        Axis("Renyi divergence (nats)", low=0.0, high=0.012),
        (
            Line.of("Theorem 6, larger of both directions", orders, bound(theorem_6, larger), Style(SKY, width=4.0)),
            Line.of("Theorem 5 (factor 3), the same", orders, bound(theorem_5, larger), Style(GREEN, DASHED, "^")),
            Line.of("Theorem 6, one direction only", orders, bound(theorem_6, forward), Style(VERMILION, DASHED, "v")),
            Line.of("exact, removing a record (ours)", real, mixture.divergence(real), Style(BLUE)),
            Line.of("exact, adding a record (ours)", real, mixture.reverse_divergence(real), EXACT),
        ),
    )


def _pair(first: float, second: float) -> FiniteLossPair:
    """The Poisson law of one mean against that of another."""
    k = np.arange(float(_OUTCOMES))
    log_p, log_q = (k * np.log(mean) - mean - gammaln(k + 1.0) for mean in (first, second))
    losses = k * np.log(first / second) + (second - first)
    return FiniteLossPair(tuple(losses.tolist()), tuple(log_p.tolist()), tuple(log_q.tolist()))
