"""Zhu & Wang (2019), Figure 3: bounds on the Renyi curve of three mechanisms on a Poisson sample."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from renyi.accountants import divergence
from renyi.errors import InvalidInput
from renyi.mechanisms import Gaussian
from renyi.numerics.roots.falling_root import falling_root
from renyi.papers.zhu_wang.published_bounds import abadi
from renyi.papers.zhu_wang.zhu_wang import theorem_5, theorem_6
from renyi.plots.chart import Axis, Chart, Line, Panel
from renyi.plots.figures.looks import ABADI, CAP, GENERAL, MARK, TIGHT, UNSAMPLED, WITHOUT_REPLACEMENT
from renyi.plots.figures.settings import RATE, SETTINGS, Setting, real_orders, whole_orders
from renyi.plots.style import EXACT
from renyi.sampling.replacing.without_replacement_bound import wang_balle_kasiviswanathan

Array = NDArray[np.float64]

HIGHEST = 2000
"""Highest order drawn."""


def divergence_bounds() -> Chart:
    """Every bound that the paper compares, and the exact divergence at every real order."""
    return Chart(
        name="zhu-wang-figure-3",
        title="Renyi divergence of a Poisson-sampled release (Zhu & Wang 2019, Figure 3)",
        caption=(
            f"Renyi divergence of one release on a sample of rate γ = {RATE}, against the order; add-or-remove neighbours. "
            "The bound for sampling without replacement is about replace-one neighbours, with the noise relative to what "
            "one replacement changes. The moments bound of Abadi et al. ends at α = 1 + σ² log(1/(γσ)). Circles: α γ "
            "e^ε(α) = 1/γ, where the paper sees the Gaussian leave its amplified branch; from there on the curve runs to "
            "the unsampled one. Pure-DP mechanisms run into the cap of Lemma 4 instead."
        ),
        quantities=("order", "divergence"),
        panels=tuple(_panel(setting) for setting in SETTINGS),
        columns=3,
    )


def bounds(setting: Setting, orders: Array) -> dict[str, Array]:
    """The paper's bounds at integer orders; infinite where a bound does not apply."""
    base = setting.base

    def without_replacement(order: int) -> float:
        return wang_balle_kasiviswanathan(order, rate=RATE, curve=base, limit=base.limit)

    def each(bound: object) -> Array:
        return np.array([bound(int(order)) for order in orders])  # type: ignore[operator]

    found = {
        "tight": each(lambda order: theorem_6(order, rate=RATE, curve=base)),
        "general": each(lambda order: theorem_5(order, rate=RATE, curve=base)),
        "without replacement": each(without_replacement),
    }
    if isinstance(setting.mechanism, Gaussian):
        noise = setting.mechanism.noise_multiplier
        found["abadi"] = each(lambda order: _where_it_applies(order, noise))
    return found


def transition(setting: Setting) -> float:
    """The order at which alpha gamma e^eps(alpha) = 1/gamma."""
    low, high = falling_root(lambda order: -math.log(order) - setting.base.at(order) - 2.0 * math.log(RATE), 1.0, 1e6)
    return 0.5 * (low + high)


def _panel(setting: Setting) -> Panel:
    orders = whole_orders(HIGHEST, 60)
    found = bounds(setting, orders)
    real = real_orders(orders)
    sparse = real[(real.size - 1) % 5 :: 5]
    exact = np.atleast_1d(divergence(setting.step, order=real))
    lines = [
        Line.of("unsampled mechanism", sparse, setting.base(sparse), UNSAMPLED),
        Line.of("tight bound (Theorem 6)", orders, found["tight"], TIGHT),
        Line.of("general bound (Theorem 5)", orders, found["general"], GENERAL),
        Line.of("without replacement (Wang et al.)", orders, found["without replacement"], WITHOUT_REPLACEMENT),
    ]
    if "abadi" in found:
        lines.append(Line.of("moments bound (Abadi et al.)", orders, found["abadi"], ABADI))
    if math.isfinite(setting.capped):
        lines.append(Line.of("cap of pure DP (Lemma 4)", [1.0, HIGHEST], [setting.capped] * 2, CAP))
    lines.append(Line.of("exact divergence (ours)", real, exact, EXACT))
    if isinstance(setting.mechanism, Gaussian):
        order = transition(setting)
        here = float(divergence(setting.step, order=order))
        lines.append(Line.of("α γ e^ε(α) = 1/γ", [order], [here], MARK))
    return Panel(
        setting.title,
        Axis("order α (no unit)", "log", low=1.0, high=HIGHEST, plain=True),
        Axis("Renyi divergence (nats)", "log", low=float(exact.min()) / 3.0),
        tuple(lines),
    )


def _where_it_applies(order: int, noise: float) -> float:
    """The bound of Abadi et al.; infinite where its conditions do not hold."""
    try:
        return abadi(order, rate=RATE, noise=noise)
    except InvalidInput:
        return math.inf
