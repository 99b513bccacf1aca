"""The best line from a good guess: where a Gaussian has its own, moved by as much as it was beside it on a similar curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from renyi.laws.trade_offs.lines import LARGEST_EPSILON, Lines

_MOST_LINES = 8
"""Lines after which this search gives way to one that makes no assumptions; a smooth profile takes two to four."""

_FIRST_STEP = 1e-8
"""By how much the second line would lie above the first if that were the best, relatively: a thousand times the rounding of a
profile, and so little that a curvature which is off by a fifth misjudges the best by 1e-10 of it."""

_NOISE_SEEN_THROUGH = 30.0
"""The same in units of the width of delta's interval, where that is wide."""

_FARTHEST_GUESS = 0.1
"""How far, relatively, the Gaussian of the guess may differ from the one by the first line's height before another is taken."""

_HALVINGS = 20
"""Halvings after which a guess of mu is a millionth off."""

_MOST_BENT = 30.0
"""The largest ratio of a smooth profile's curvature to a Gaussian's, and of a Gaussian's to it; beyond it there are kinks."""

_NARROWEST = 1e-13
"""Distance of two epsilons, relative to them or to 1e-3, below which rounding is all that differs."""


def separation(fpr: float, tpr: float) -> float:
    """The mu of the Gaussian whose best test has these rates: Phi^-1(tpr) - Phi^-1(fpr)."""
    return float(ndtri(tpr)) - float(ndtri(fpr))


@dataclass(frozen=True, slots=True)
class Bearing:
    """How a curve's best line differs from that of the Gaussian with the same true-positive rate.

    With z = -Phi^-1(fpr) that Gaussian of separation mu has its best line at epsilon = mu z - mu^2/2, and there the second
    derivative of the lines' height is e^epsilon phi(z)/mu. ``shift`` is added to the first, ``bend`` multiplies the second.
    """

    shift: float = 0.0
    bend: float = 1.0

    def at(self, fpr: float, mu: float) -> tuple[float, float]:
        """The epsilon that is expected, and the second derivative."""
        z = -float(ndtri(fpr))
        gaussian = mu * z - 0.5 * mu * mu
        epsilon = min(max(gaussian + self.shift, -LARGEST_EPSILON), LARGEST_EPSILON)
        return epsilon, self.bend * math.exp(min(gaussian - 0.5 * z * z, LARGEST_EPSILON)) / (2.506628274631 * mu)

    @classmethod
    def seen(cls, fpr: float, tpr: float, epsilon: float, bend: float | None = None) -> Bearing | None:
        """The bearing of a best line that was found; None where it tells nothing, or the profile is not smooth."""
        mu = separation(fpr, tpr)
        if not 0.0 < mu < math.inf:
            return None
        expected, bent = cls().at(fpr, mu)
        ratio = 1.0 if bend is None else bend / bent if bent > 0.0 else math.inf
        return cls(epsilon - expected, ratio) if 1.0 / _MOST_BENT < ratio < _MOST_BENT else None


def _separation_by_line(fpr: float, epsilon: float, rate: float) -> float:
    """The mu of the Gaussian whose line at this epsilon is so high; it rises with mu. All curves lie below their lines."""
    epsilon = min(max(epsilon, -LARGEST_EPSILON), LARGEST_EPSILON)

    def line(mu: float) -> float:
        away = epsilon / mu
        beyond = float(ndtr(0.5 * mu - away)) - math.exp(epsilon) * float(ndtr(-0.5 * mu - away))
        return fpr * math.exp(epsilon) + beyond

    low, high = 0.0, separation(fpr, rate)
    for _ in range(_HALVINGS if high > 0.0 else 0):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if line(middle) > rate else (middle, high)
    return high


def best_line(
    lines: Lines, height: Callable[[float], tuple[float, float]], bearing: Bearing, mu: float
) -> Bearing | None:
    """Ask for lines until the best is about as high as the lowest one asked, by parabolas; None where that is not seen.

    ``height`` gives the height of the line at an epsilon and how uncertain it is; ``mu`` is the separation that is expected.
    """
    epsilon, bend = bearing.at(lines.fpr, mu)
    first, noise = height(epsilon)
    if not lines.rate(first) < 1.0:
        return None
    nearer = _separation_by_line(lines.fpr, epsilon - bearing.shift, lines.rate(first))
    if not nearer > 0.0:
        return None
    if not abs(nearer - mu) < _FARTHEST_GUESS * mu:
        epsilon, bend = bearing.at(lines.fpr, nearer)
        first, noise = height(epsilon)
    lifted = max(_FIRST_STEP * abs(first), _NOISE_SEEN_THROUGH * noise)
    second = min(epsilon + math.sqrt(2.0 * lifted / bend), LARGEST_EPSILON) if bend > 0.0 else epsilon
    if second == epsilon:
        return None
    known = {epsilon: first, second: height(second)[0]}
    while True:
        best = min(known, key=known.__getitem__)
        near = sorted(known, key=lambda one: abs(one - best))[:3]
        slope = (known[near[1]] - known[best]) / (near[1] - best)
        if len(near) == 3:
            other = (known[near[2]] - known[best]) / (near[2] - best)
            bend = 2.0 * (other - slope) / (near[2] - near[1])
        if not 0.0 < bend < math.inf:
            return None
        move = 0.5 * (near[1] - best) - slope / bend
        lowest, tolerance = known[best], max(lines.tolerance(known[best]), 4.0 * noise)
        if 0.5 * bend * move * move <= tolerance or abs(move) <= _NARROWEST * max(abs(best), 1e-3):
            return Bearing.seen(lines.fpr, lines.rate(lowest), best + move, bend)
        following = min(max(best + move, -LARGEST_EPSILON), LARGEST_EPSILON)
        if following in known or len(known) >= _MOST_LINES:
            return None
        known[following] = height(following)[0]
