"""The minimum of a function of one positive variable: a bracket from a geometric ladder, then Brent's method.

The variable (an order, a tilt) may lie anywhere over hundreds of decades, so the search is geometric, in log x.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
"""Fraction of an interval at which golden-section search puts its next point, 0.382."""

_LADDER_FACTOR = 4.0
"""Ratio of neighbouring points of the first ladder; ``_ladder`` counts steps in halves of a binary logarithm to match."""


def bracket(
    function: Callable[[Array], Array], *, guess: float, smallest: float, largest: float
) -> tuple[float, float]:
    """An interval of x around the smallest value of ``function`` on a geometric ladder in [smallest, largest].

    The ladder climbs by factors of 4 to just above the guess. While the smallest value stands at one of its ends, it is
    extended there, until the minimum is inside or the end of the domain is reached. Then a finer ladder between the minimum's
    two neighbours narrows the interval.
    """
    top = min(max(_LADDER_FACTOR * guess, smallest), largest)
    points = _ladder(max(min(guess, top) / 64.0, smallest), top)
    values = function(points)
    growth = _LADDER_FACTOR**4
    while True:
        best = int(np.argmin(values))
        if best == 0 and points[0] > smallest:
            new = _ladder(max(points[0] / growth, smallest), points[0])[:-1]
            points, values = np.concatenate([new, points]), np.concatenate([function(new), values])
        elif best == len(points) - 1 and points[-1] < largest:
            new = _ladder(points[-1], min(points[-1] * growth, largest))[1:]
            points, values = np.concatenate([points, new]), np.concatenate([values, function(new)])
        else:
            break
        # Each extension is the square of the last, so that a guess wrong by hundreds of decades costs a few of them.
        growth *= growth
    low, high = float(points[max(best - 1, 0)]), float(points[min(best + 1, len(points) - 1)])
    points = np.geomspace(low, high, 9)
    best = int(np.argmin(function(points)))
    return float(points[max(best - 1, 0)]), float(points[min(best + 1, len(points) - 1)])


def minimise(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Where ``function`` is smallest on [low, high], 0 < low <= high, to a relative tolerance: Brent's method in log x.

    Brent (1973), Algorithms for Minimization without Derivatives, chapter 5, in his letters: [a, b] holds the minimum; x is the
    best point so far, w the second best, v the previous w; d is the last step, e the one before it; u is the next point.
    """
    a, b = math.log(low), math.log(high)
    if not b > a:
        return low

    def f(t: float) -> float:
        return function(math.exp(t))

    x = w = v = a + _GOLDEN * (b - a)
    fx = fw = fv = f(x)
    d = e = 0.0
    for _ in range(100):
        middle = 0.5 * (a + b)
        if abs(x - middle) <= 2.0 * tolerance - 0.5 * (b - a):
            break
        golden = True
        # A parabola through x, w and v is tried if the step before last was not already tiny.
        if abs(e) > tolerance:
            r = (x - w) * (fx - fv)
            q = (x - v) * (fx - fw)
            p = (x - v) * q - (x - w) * r
            q = 2.0 * (q - r)
            p, q = (-p, q) if q > 0.0 else (p, -q)
            # It is trusted if it stays inside and the steps are halving; infinite values, outside the domain, spoil it.
            if math.isfinite(p) and abs(p) < abs(0.5 * q * e) and q * (a - x) < p < q * (b - x):
                e, d = d, p / q
                if (x + d) - a < 2.0 * tolerance or b - (x + d) < 2.0 * tolerance:
                    d = math.copysign(tolerance, middle - x)
                golden = False
        if golden:
            e = (a if x >= middle else b) - x
            d = _GOLDEN * e
        # Points closer than the tolerance could not be told apart.
        u = x + (d if abs(d) >= tolerance else math.copysign(tolerance, d))
        fu = f(u)
        if fu <= fx:
            a, b = (x, b) if u >= x else (a, x)
            v, w, x, fv, fw, fx = w, x, u, fw, fx, fu
        else:
            a, b = (u, b) if u < x else (a, u)
            if fu <= fw or w == x:
                v, w, fv, fw = w, u, fw, fu
            elif fu <= fv or v in (x, w):
                v, fv = u, fu
    return math.exp(x)


def _ladder(low: float, high: float) -> Array:
    """Points from ``low`` to ``high``, both included, at ratios of at most 4."""
    # The 1e-9 keeps a ratio of exactly 4^n, blurred by rounding, from taking one step more.
    steps = max(1, math.ceil(0.5 * math.log2(high / low) - 1e-9)) if high > low else 0
    return np.geomspace(low, high, steps + 1)
