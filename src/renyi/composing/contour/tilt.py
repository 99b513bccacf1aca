"""The tilt at which to look at a composition: where Chernoff's bound on epsilon or delta is smallest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.composing.composition import Composition, log_corner
from renyi.composing.question import EpsilonAt, Question

Array = NDArray[np.float64]

_NEAR = np.array([0.98, 1.0, 1.02])  # tilts for derivatives
_LARGEST_TILT = 1e13
_SMALLEST_TILT = 1e-6


class Tangent(NamedTuple):
    """The cumulant at a tilt, and its first two derivatives, roughly: the mean and the variance of the tilted loss."""

    tilt: float
    cumulant: float
    mean: float
    variance: float


def tangent(run: Composition, tilt: float) -> Tangent:
    """By differences over two hundredths of the tilt to both sides."""
    low, middle, high = run.cumulants(tilt * _NEAR).tolist()
    width = 0.02 * tilt
    return Tangent(
        tilt, middle, (high - low) / (2.0 * width), max((high - 2.0 * middle + low) / (width * width), 1e-300)
    )


def question_tilt(run: Composition, question: Question) -> float:
    """The tilt at which Chernoff's bound on the answer is smallest."""
    if isinstance(question, EpsilonAt):
        return epsilon_tangent(run, math.log(question.delta - run.escaped), 1.0).tilt
    return delta_tilt(run, question.epsilon)


def delta_tilt(run: Composition, epsilon: float, guess: float | None = None) -> float:
    """The tilt at which Chernoff's bound on delta is smallest."""
    return delta_tangent(run, epsilon, guess or 1.0).tilt


def epsilon_tangent(run: Composition, log_delta: float, guess: float) -> Tangent:
    """The derivative of (K(t) - log delta + corner)/t is t K' - K + log(1 + t) + log delta, over t^2."""

    def judge(here: Tangent) -> tuple[float, float, float]:
        t = here.tilt
        rise = t * here.mean - here.cumulant + math.log1p(t)
        slope = t * t * here.variance + t / (1.0 + t)
        # Like t^2 for Gaussians, so by Newton's method in logarithms.
        power = rise / slope * math.log(-log_delta / rise) if rise > 0.0 else math.inf
        return rise + log_delta, slope, t * math.exp(min(max(power, -2.0), 2.0))

    return _search(run, guess, judge)


def delta_tangent(run: Composition, epsilon: float, guess: float) -> Tangent:
    """The derivative of K(t) - t epsilon + corner is K' - epsilon + log(t/(1 + t))."""

    def judge(here: Tangent) -> tuple[float, float, float]:
        t = here.tilt
        rise = here.mean - epsilon - math.log1p(1.0 / t)
        bend = here.variance + 1.0 / (t * (1.0 + t))
        return t * rise, t * t * bend, min(max(t - rise / bend, t / 8.0), 8.0 * t)

    return _search(run, guess, judge)


def _search(run: Composition, tilt: float, judge: Callable[[Tangent], tuple[float, float, float]]) -> Tangent:
    """Where a bound has its minimum, to within a fiftieth of a unit of log delta.

    ``judge`` says how fast the bound rises with the logarithm of the tilt, how fast that rises itself, and where to look next.
    """
    low, high = _SMALLEST_TILT, _LARGEST_TILT
    tilt = min(max(tilt, 2.0 * low), 0.5 * high)
    for _ in range(60):
        here = tangent(run, tilt)
        finite = math.isfinite(here.mean) and math.isfinite(here.variance)
        rise, slope, following = judge(here) if finite else (math.inf, 1.0, math.inf)
        if rise * rise < 0.04 * slope or high < low * 1.0001:
            break
        if rise > 0.0:
            high = tilt
            tilt = following if low < following < high else max(0.25 * tilt, math.sqrt(low * tilt))
        else:
            low = tilt
            tilt = following if low < following < high else min(4.0 * tilt, math.sqrt(tilt * high))
    return here


def log_chernoff_delta(run: Composition, epsilon: float, guess: float) -> float:
    """log of the smallest of a few of Chernoff's bounds on delta, at tilts from the guess on."""
    return float(np.min(chernoff_exponent(run, epsilon, guess * 2.0 ** np.arange(-1.0, 7.0))))


def tilted_range(run: Composition, tilt: float) -> tuple[float, float]:
    """The mean of the tilted loss, twelve standard deviations to both sides."""
    here = tangent(run, tilt)
    spread = 12.0 * math.sqrt(here.variance) + 40.0 / (1.0 + tilt)
    return here.mean - spread, here.mean + spread


def chernoff_exponent(run: Composition, epsilon: float, tilt: Array) -> Array:
    """log of Chernoff's bound on delta at each tilt."""
    with np.errstate(invalid="ignore", over="ignore"):
        value = run.cumulants(tilt) - tilt * epsilon + log_corner(tilt)
    return np.nan_to_num(value, nan=1e300, posinf=1e300)


def tangent_epsilon(here: Tangent, log_delta: float) -> float:
    """The saddle is a little off, where epsilon is not this tilt's: the exponent's second-order expansion finds it."""
    t = here.tilt
    spread = here.variance + t**-2 + (1.0 + t) ** -2
    top = here.cumulant - math.log(t * (1.0 + t)) - 0.5 * math.log(2.0 * math.pi * spread) - log_delta
    epsilon = top / t
    for _ in range(2):
        off = here.mean - epsilon - 1.0 / t - 1.0 / (1.0 + t)
        better = (top - 0.5 * off * off / spread) / t
        if not abs(better - epsilon) < 0.2 * abs(epsilon):
            break
        epsilon = better
    return epsilon
