"""A whole law of a sum of lattice variables, with relative accuracy in both far tails.

A transform keeps the digits of the masses near the point that its tilt was chosen for. So a ladder of tilts is used, from the
far tail of Q to the far tail of P, and each mass is taken from the tilt at which its noise is least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.numerics.lattices.tilted_fft import LatticeLaw, fast_length, log_moments, moments, tilted_sum
from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]

FAINT = -744.0
"""log of what a float can just hold."""

MARGIN = 1e-11
"""Relative, by which masses are moved outward for the rounding of a profile that is summed over all of them."""

_LOG_TAIL = -50.0  # of what is outside of a tilt's window
_APART = 4.0  # standard deviations between neighbouring tilts


@dataclass(frozen=True, slots=True)
class TiltLadder:
    """Laws to be summed, with a ladder of tilts c and their logarithms of moments K(c)."""

    laws: Sequence[LatticeLaw]
    step: float
    tilt: Array
    log_moment: Array
    bottom: float
    top: float

    @classmethod
    def over(cls, laws: Sequence[LatticeLaw], step: float) -> TiltLadder:
        """From the far tail of Q, where P's masses are tilted by less than -1, to that of P."""
        bottom = sum(law.count * float(law.x[0]) for law in laws)
        top = sum(law.count * float(law.x[-1]) for law in laws)
        ladder = {-1.0: moments(laws, -1.0).log}
        # From P itself to its far tail, from P to Q itself, and from there to the far tail of Q.
        for start, sign in ((0.0, 1.0), (0.0, -1.0), (-1.0, -1.0)):
            tilt, here = start, moments(laws, start)
            for _ in range(400):
                ladder[tilt] = here.log
                # An atom that the tilt has alone is no reason to stop: another tilt sees beyond it.
                spread = max(math.sqrt(here.variance), 0.1 * step)
                edge = top - here.mean if sign > 0.0 else here.mean - bottom
                # Chernoff's bound on P right of the mean, or on Q left of it.
                log_tail = here.log - (max(tilt, 0.0) if sign > 0.0 else min(tilt + 1.0, 0.0)) * here.mean
                if log_tail < FAINT - 10.0 or edge < max(_APART * spread, 0.25 * step):
                    break
                leap = _APART / spread
                while True:
                    following = moments(laws, tilt + sign * leap)
                    wider = math.sqrt(following.variance)
                    if abs(following.mean - here.mean) <= 2.0 * _APART * max(spread, wider) or leap * spread < 0.1:
                        break
                    leap *= 0.5
                tilt, here = tilt + sign * leap, following
                if start == 0.0 and tilt <= -1.0:
                    break
            if start == 0.0 and sign < 0.0:
                continue
            for size in (1.0, 2.0, 4.0):
                outer = tilt + sign * size * _APART / spread
                ladder[outer] = float(log_moments(laws, np.array([outer]))[0])
        tilts = np.array(sorted(ladder))
        return cls(laws, step, tilts, np.array([ladder[tilt] for tilt in tilts]), bottom, top)

    def masses(self, upper: bool) -> tuple[Array, Array, bool]:
        """Losses, logarithms of masses of P there, moved outward, and whether anything is outside of them."""
        low, high = self._ends()
        x = log_p = best = np.empty(0)
        first = 0
        slack = 8.0 * ULP * sum(law.count * float(np.max(np.abs(law.x))) for law in self.laws)
        for tilt, log_moment in zip(self.tilt[3:-3].tolist(), self.log_moment[3:-3].tolist(), strict=True):
            start, end = self._window(tilt, log_moment)
            length = fast_length(max(int((end - start) / self.step) + 4, 16))
            spend(3.0 * length, calls=60)
            law = tilted_sum(self.laws, self.step, tilt, start - self.step, length)
            if not x.size:
                start_index = math.floor((low - law.origin) / self.step)
                number = math.ceil((high - law.origin) / self.step) - start_index + 1
                x = law.origin + self.step * np.arange(start_index, start_index + number, dtype=np.float64)
                first = start_index + law.centre
                log_p, best = np.full(number, -math.inf), np.full(number, math.inf)
            skipped = max(first - law.first - law.centre, 0)
            place = law.first + law.centre + skipped - first
            mass = law.mass[skipped : skipped + max(x.size - place, 0)]
            noise = law.noise + (0.0 if start <= self.bottom and end >= self.top else 2.0 * math.exp(_LOG_TAIL))
            here = slice(place, place + mass.size)
            log_scale = law.log_moment - tilt * x[here]
            better = math.log(noise) + log_scale < best[here]
            with np.errstate(divide="ignore"):
                log_mass = np.log(np.maximum(mass + (noise if upper else -noise), 0.0))
            outward = law.relative + MARGIN + 4.0 * (1.0 + abs(tilt)) * slack
            log_p[here] = np.where(better, log_mass + log_scale + (outward if upper else -outward), log_p[here])
            best[here] = np.where(better, math.log(noise) + log_scale, best[here])
        if upper:
            nowhere = best == math.inf
            log_p[nowhere] = self._log_outside(x[nowhere])
        inside = (x >= self.bottom - 0.5 * self.step) & (x <= self.top + 0.5 * self.step)
        return x[inside], log_p[inside], low > self.bottom or high < self.top

    @property
    def points(self) -> float:
        """How many points the sum has."""
        low, high = self._ends()
        return (high - low) / self.step

    def _ends(self) -> tuple[float, float]:
        """Losses beyond which P, on the right, and Q, on the left, have less than a float can hold, by Chernoff's bound."""
        right, left = self.tilt > 0.0, self.tilt < -1.0
        high = float(np.min((self.log_moment[right] - FAINT) / self.tilt[right], initial=math.inf))
        low = float(np.max((self.log_moment[left] - FAINT) / (self.tilt[left] + 1.0), initial=-math.inf))
        return max(low, self.bottom), min(high, self.top)

    def _window(self, tilt: float, log_moment: float) -> tuple[float, float]:
        """Where the tilted law is but for e^``_LOG_TAIL`` on each side, by Chernoff's bound with the other tilts."""
        away = self.tilt - tilt
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = (self.log_moment - log_moment - _LOG_TAIL) / away
        high = float(np.min(ends[away > 0.0], initial=math.inf))
        low = float(np.max(ends[away < 0.0], initial=-math.inf))
        return max(low, self.bottom), min(high, self.top)

    def _log_outside(self, x: Array) -> Array:
        """log of the most that P can have at points outside of every window."""
        spend(3.0 * x.size * self.tilt.size, calls=3 * self.tilt.size)
        bound = np.full(x.shape, math.inf)
        for tilt, log_moment in zip(self.tilt, self.log_moment, strict=True):
            bound = np.minimum(bound, _LOG_TAIL + log_moment - tilt * x)
        return bound
