"""Points at which a sampled Gaussian is integrated, and paths along which its transform is bounded.

In the notation of ``transform``: u is the output in units of the noise, standard normal under Q; r(u) is the likelihood ratio
and s(u) the probability that the record was drawn, given u. Functions that take ``rate`` and ``noise`` accept one of each, or
columns of them; then every array has one row per member.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from renyi.laws.ratio_law import log_mixed
from renyi.numerics.contours.complex_remainder import log_remainder_bound
from renyi.numerics.logspace import log_sum_exp
from renyi.sampling.poisson.gaussian.law import LOG_ALIASING, LOG_NORMAL

Array = NDArray[np.float64]

LOG_DEPTH = 41.0
"""Terms below e^-41 of the result are left out: e^-41 = 2e-18, so even thousands of them stay below rounding."""

MOST_POINTS = 60_000
"""Points of one quadrature; a law that needs more is refused."""

STRIP_FRACTIONS = np.array([0.0, 0.15, 0.35, 0.6, 0.85])
"""Shifts of the path that are tried for the aliasing bound, as fractions of the strip without zeros; the first is no shift."""

MOST_TERMS = 100_000_000
"""Terms (points times frequencies) of one line: half a second of work, above which other methods are faster."""

PATH_SHAPES = np.array([[0.6, 0.7], [1.0, 0.7], [0.6, 1.6], [1.0, 1.6]])
"""Scale and greatest height (as an angle) of the paths on which decay is bounded; each bound holds, the least one is used."""

LOG_SLIGHT_MASS = -38.0
"""log of a share of mass that is left out where decay is bounded: 3e-17."""

_MASS_ROUNDING = 1e-12
"""Error of a sum of masses: a bound on decay below it says nothing."""


class Cells(NamedTuple):
    """Coarse points u that cover all that matters at a tilt, with log r, s (``drawn``) and s (1 - s) (``spread``) there."""

    step: float
    u: Array
    log_ratio: Array
    drawn: Array
    spread: Array


def drawn_at(u: Array, rate: float | Array, noise: float | Array) -> tuple[Array, Array, Array]:
    """log r, s and s (1 - s) at u."""
    x = log_mixed((u - 0.5 / noise) / noise, rate)
    drawn = rate * np.exp((u - 0.5 / noise) / noise - x)
    return x, drawn, (1.0 - rate) * drawn * np.exp(-x)


class Path(NamedTuple):
    """The ingredients of the bounds of ``decay_along`` at the points where the tilted law has mass.

    The height of a path comes from the integral over x in (0, 1) of exp(x u/sigma - x^2/(2 sigma^2)). Times the rate, that
    integral is taken as odds; ``share`` is the probability with these odds and ``slope`` is its derivative, both scaled as
    ``path_gains`` needs them. ``drawn`` and ``spread`` are s and s (1 - s); ``mass`` is the tilted law, normalised.
    """

    drawn: Array
    spread: Array
    mass: Array
    share: Array
    slope: Array


def path_heights(u: Array, rate: float | Array, noise: float | Array) -> tuple[Array, Array]:
    """The fields ``share`` and ``slope`` of ``Path``."""
    log_potential = np.log(noise) + 0.5 * u * u + LOG_NORMAL + _log_normal_mass(u - 1.0 / noise, u)
    odds = rate * np.exp(np.minimum(log_potential, 300.0))
    ratio = np.exp(np.minimum((u - 0.5 / noise) / noise, 300.0))
    return odds / (1.0 + odds), (u * odds + rate * noise * (1.0 - ratio)) / (1.0 + odds) ** 2


def path_gains(path: Path, noise: float | Array, power: float, frequency: float, scale: Array, height: Array) -> Array:
    """log of the size of the integrand along each path, of this scale and greatest height, over that on the real line."""
    # tanh keeps the angle below ``height``, away from pi, where r may have a zero.
    pace = scale * frequency / (noise**2 * height)
    bend = np.tanh(pace * path.share)
    angle = height * bend
    turn = (noise * height * pace) * (1.0 - bend * bend) * path.slope
    half = np.sin(0.5 * angle) ** 2
    size = (noise * angle) ** 2 + np.log1p(turn * turn) + power * np.log1p(-4.0 * path.spread * half)
    return np.asarray(0.5 * size - frequency * np.arctan2(path.drawn * np.sin(angle), 1.0 - 2.0 * path.drawn * half))


def log_decays(change: Array) -> Array:
    """log of the least of several bounds 1 + change, one per path, but no less than the rounding of the masses allows."""
    return np.asarray(np.log1p(np.min(np.clip(change, -1.0 + _MASS_ROUNDING, 0.0), axis=0)))


def shifted_sizes(cells: Cells, noise: float | Array, power: complex, shifts: Array, *, large: bool) -> Array:
    """log of the size of the integrand at every other cell, on paths moved by ``shifts`` to the side where |r^p| grows."""
    half = np.sin(0.5 / noise * shifts) ** 2
    drawn = cells.drawn[..., ::2]
    log_r = cells.log_ratio[..., ::2] + 0.5 * np.log1p(-4.0 * cells.spread[..., ::2] * half)
    turned = np.arctan2(drawn * np.sin(shifts / noise), 1.0 - 2.0 * drawn * half)
    exponent = power.real * log_r - power.imag * turned if large else log_remainder_bound(power, log_r, turned)
    return np.asarray(exponent - 0.5 * cells.u[::2] ** 2)


def step_for(exponent: Array, shifts: Array, cell: float, log_m: float | Array) -> Array:
    """The step that each shift allows by the aliasing bound 2 G/(e^(2 pi v/h) - 1)."""
    v = shifts[1:, ..., 0]
    # The bound G is itself a sum with a coarse step, off by less than a factor of two: hence the log 2 below.
    log_growth = log_sum_exp(exponent[1:]) + 0.5 * v * v + math.log(4.0 * cell)
    return np.asarray(2.0 * math.pi * v / np.maximum(log_growth - log_m + LOG_ALIASING + math.log(2.0), LOG_ALIASING))


def lattice(cells: Cells, keep: NDArray[np.bool_], step: float) -> tuple[Array, float] | None:
    """Multiples of ``step`` in the cells to ``keep`` and their neighbours, and the step; None if there are too many."""
    coarse, width = cells.u[::2], 2.0 * cells.step
    # One neighbour on either side, because a coarse cell may just miss the edge of what matters.
    keep[1:] |= keep[:-1].copy()
    keep[:-1] |= keep[1:].copy()
    kept = coarse[keep]
    if not (kept.size * width / step) < MOST_POINTS:
        return None
    # Each connected stretch of cells gets its own stretch of fine points, aligned to multiples of the step.
    edges = np.flatnonzero(np.diff(kept) > 1.5 * width)
    starts = kept[np.concatenate([[0], edges + 1])]
    ends = kept[np.concatenate([edges, [kept.size - 1]])]
    pieces = [
        step * np.arange(math.floor((a - 0.5 * width) / step) + 1, math.floor((b + 0.5 * width) / step) + 1)
        for a, b in zip(starts, ends, strict=True)
    ]
    return np.concatenate(pieces), step


def _log_normal_mass(low: Array, high: Array) -> Array:
    """log(Phi(high) - Phi(low)), both taken in the lower tail, where the difference keeps its digits."""
    flip = low > 0.0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    top = log_ndtr(b)
    return top + np.log1p(-np.exp(np.minimum(log_ndtr(a) - top, -1e-16)))
