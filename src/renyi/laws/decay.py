"""How fast a loss transform decays along a vertical line, by what is known of the tilted law of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_VARIATION_ERROR = 1e-12
"""Rounding of the logarithms of masses and variations, relative to their size: far more than it is."""

_WINDOW_ERROR = 1e-9
"""Of masses and variances of windows, relative to them: far more than sums are rounded by, or a quadrature is off by."""


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Parts of a tilted law that lie in short intervals of losses: ``mass``, ``reach`` and ``spread`` of each.

    Two independent losses of a part of mass m, variance V and reach R differ by d <= R, and (1 - cos u)/u^2 falls for u up to
    pi, so that 1 - cos(w d) >= (d/R)^2 (1 - cos(w R)) wherever w R <= pi. The transform of the part is therefore at most

        m sqrt(1 - 2 (V/R^2) (1 - cos(w R)))

    there, and that of the rest is at most its mass. ``spread`` is V/R^2. The windows are sorted by falling reach, so that each
    serves up to a higher frequency pi/R than those before it.
    """

    mass: Array
    reach: Array
    spread: Array

    @classmethod
    def between(cls, loss: Array, log_mass: Array, cuts: Places) -> Windows:
        """Windows from either end of a law of atoms, at rising losses, up to each of the ``cuts``; and the whole.

        Where atoms stand for a quadrature, a cut must be where one of its panels ends.
        """
        weight = np.exp(log_mass - np.max(log_mass))
        weight /= np.sum(weight)
        left = _from_first(loss, weight, np.append(cuts, loss.size))
        right = _from_first(loss[::-1], weight[::-1], loss.size - cuts)
        mass, reach, spread = (np.concatenate(both) for both in zip(left, right, strict=True))
        order = np.argsort(-reach)
        order = order[reach[order] > 0.0]
        return cls(mass[order], reach[order], spread[order])

    def log_sizes(self, frequency: Array) -> Array:
        """log of the bound of every window (columns) at every frequency (rows), infinite beyond the window's last."""
        angle = np.multiply.outer(frequency, self.reach)
        share = 2.0 * self.spread * (1.0 - np.cos(np.minimum(angle, math.pi)))
        lost = -np.expm1(0.5 * np.log1p(-np.minimum(share, 1.0 - _WINDOW_ERROR)))
        return np.where(angle <= math.pi, np.log1p(-(1.0 - _WINDOW_ERROR) * self.mass * lost), math.inf)


def _from_first(loss: Array, weight: Array, cuts: Places) -> tuple[Array, Array, Array]:
    """Mass, reach and spread of the atoms before each cut."""
    away = np.abs(loss - loss[0])
    mass, first, second = (np.cumsum(weight * away**power)[cuts - 1] for power in range(3))
    reach = away[np.minimum(cuts, loss.size - 1)]  # the panel ends before this atom
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (1.0 - _WINDOW_ERROR) * second / mass - (first / mass) ** 2
        spread = np.maximum(variance / reach**2, 0.0)
    return mass, reach, np.where(np.isfinite(spread), spread, 0.0)


@dataclass(frozen=True, eq=False)
class Decay:
    """A tilted law of losses as atoms and a density: the logarithms of the atoms' mass and of the density's variation.

    Integrating by parts, the transform of a density at a frequency w is at most its variation over w, jumps at the ends of its
    support included; the transform of atoms is at most their mass. Where that says little, at lower frequencies, windows may
    say more. ``cumulant`` is log M(tilt), to which the former are relative.
    """

    cumulant: float
    log_atoms: float
    log_density: float
    windows: Windows | None = None

    def at(self, frequency: float) -> float:
        """A bound on log |M(tilt + i w)/M(tilt)| for every w >= ``frequency``."""
        asked = np.array([frequency])
        bound = float(self._by_variation(asked)[0])
        ends, beyond = self._ladder
        place = int(np.searchsorted(ends, frequency, side="right"))
        if self.windows is not None and place < ends.size:  # up to the next end of a window, and from there on
            bound = max(min(bound, float(np.min(self.windows.log_sizes(asked)[0, place:]))), float(beyond[place]))
        return min(bound, 0.0)

    def _by_variation(self, frequency: Array) -> Array:
        size = np.logaddexp(self.log_atoms, self.log_density - np.log(frequency)) - self.cumulant
        return np.asarray(size + _VARIATION_ERROR * (1.0 + abs(self.cumulant)), dtype=np.float64)

    @cached_property
    def _ladder(self) -> tuple[Array, Array]:
        """The last frequency of every window, rising, and a bound that holds from each on.

        Between two neighbouring ends all bounds fall, so what they are at the first of them holds up to the next; and there
        only windows serve that do not end before it.
        """
        if self.windows is None:
            return np.empty(0), np.empty(0)
        ends = math.pi / self.windows.reach
        sizes = self.windows.log_sizes(ends)
        later = np.where(np.triu(np.ones(sizes.shape, dtype=bool), 1), sizes, math.inf)
        steps = np.minimum(np.min(later, axis=1), self._by_variation(ends))
        return ends, np.maximum.accumulate(steps[::-1])[::-1]
