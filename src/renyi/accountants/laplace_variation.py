"""The total variation of repeated Laplace noise, on a Poisson sample or not, to ten digits.

The loss of one step is one of its two ends, l0 and l1, or between them, so that M = A + S with two exponentials A; and S falls
like the reciprocal of the frequency only. So the runs in which all steps, or all but one, end at l0 or l1 are summed by hand,
and a contour has what is left, M^n - A^n - n A^(n-1) S, which falls by a power more and is divided by another two.

    |M^n - A^n - n A^(n-1) S| <= (a + s)^n - a^n - n a^(n-1) s      for |A| <= a, |S| <= s.

The density h of the loss, tilted, falls at first and then rises (or does one of both only), so |S| <= 2 (h(l0) + h(l1))/w at
frequency w. In terms of r, the logarithm of the unmixed ratio, the second law has mass e^(-r/2 - 1/(2b))/4 dr between the ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi.errors import ConvergenceError
from renyi.laws.interval import Interval
from renyi.laws.ratio_law import log_mixed
from renyi.numerics.contours.contour import Line
from renyi.numerics.contours.power_sums import plain_power_sums
from renyi.numerics.quadrature import on_panels

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_SMALL = 1e-10  # relative errors of cutting that are asked for
_ALIASES = 26.0  # and e to minus that of aliases
_LARGEST_PEAK = 1.0  # log M^n on the line: more digits would cancel
_MOST_NODES = 200_000
_MOST_WORK = 2_000_000_000  # products
_MOST_STEPS = 100_000  # beyond which rounding takes too many digits
_LARGEST_LOSS = 30.0
_PHASE = 12.0  # radians that twenty nodes resolve


@dataclass(frozen=True, slots=True)
class LaplaceRun:
    """``count`` steps of a Laplace law of scale ``scale`` about 1 against about 0, the first drawn at ``rate`` only."""

    scale: float
    rate: float
    count: int

    def total_variation(self, about: float) -> Interval | None:
        """None where there is no such line; ``about`` is a value near it."""
        if not 2 <= self.count <= _MOST_STEPS or self.scale * _LARGEST_LOSS < 1.0:
            return None
        by_hand = self._without_segment() + self._with_one()
        try:
            rest, up, down = self._with_more(about)
        except ConvergenceError:
            return None
        slack = 1e-12 * by_hand
        return Interval(max(by_hand + rest - down - slack, 0.0), min(by_hand + rest + up + slack, 1.0))

    @property
    def _ends(self) -> tuple[Array, Array]:
        """The two extreme losses, and the logarithms of their probabilities under the second law."""
        return self._mixed(np.array([-1.0, 1.0]) / self.scale), np.log(0.5) - np.array([0.0, 1.0 / self.scale])

    def _mixed(self, raw: Array) -> Array:
        return raw if self.rate == 1.0 else log_mixed(raw, self.rate)

    def _segment(self, phase: float) -> tuple[Array, Array]:
        """Losses between the ends and their probabilities under the second law, as a rule for waves of that phase."""
        most = 1.0 / self.scale
        panels = math.ceil(max(2.0 * most, phase / _PHASE)) + 1
        raw, weight = on_panels(np.linspace(-most, most, panels + 1), 20)
        return self._mixed(raw), 0.25 * weight * np.exp(-0.5 * (raw + most))

    def _sums(self, steps: int) -> tuple[Array, Array]:
        """The losses of ``steps`` steps at the ends, and log-probabilities under the second law."""
        (low, high), (log_low, log_high) = (column.tolist() for column in self._ends)
        ups = np.arange(steps + 1.0)
        ways = gammaln(steps + 1.0) - gammaln(ups + 1.0) - gammaln(steps - ups + 1.0)
        return ups * high + (steps - ups) * low, ways + ups * log_high + (steps - ups) * log_low

    def _without_segment(self) -> float:
        loss, log_q = self._sums(self.count)
        return float(np.sum(np.exp(log_q + loss) * -np.expm1(-np.maximum(loss, 0.0))))

    def _with_one(self) -> float:
        """The sum over the losses x of the others of e^x E_Q (e^L - e^-x)_+, where L is between the ends."""
        loss, log_q = self._sums(self.count - 1)
        most = 1.0 / self.scale
        rise = np.expm1(np.minimum(-loss, 600.0))  # e^-x - 1, and e^L - e^-x = rate (e^r - 1) - rise
        with np.errstate(divide="ignore"):
            start = np.clip(np.log1p(np.maximum(rise / self.rate, -1.0)), -most, most)
        falling = 2.0 * (np.exp(-0.5 * start) - math.exp(-0.5 * most))
        rising = 2.0 * (math.exp(0.5 * most) - np.exp(0.5 * start))
        payoff = 0.25 * math.exp(-0.5 * most) * (self.rate * rising - (self.rate + rise) * falling)
        return self.count * float(np.sum(np.exp(log_q + loss) * np.maximum(payoff, 0.0)))

    def _with_more(self, about: float) -> tuple[float, float, float]:
        """What the contour gives, and by how much the truth may exceed it and fall short of it."""
        nodes, step, tilt = self._line(about)
        ends, segment = self._transforms(tilt, step, nodes)
        log_m = np.log(ends + segment)
        peak = self.count * float(log_m[0].real)
        with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
            others = np.exp((self.count - 1) * np.log(ends) - peak)
            ratio = np.exp(self.count * log_m - peak) - others * (ends + self.count * segment)
        found = math.exp(Line(tilt, step, peak, ratio).at(0.0).log_tail)
        length = step * (nodes - 1)
        cut = math.exp(self._log_rest(tilt, length)) / (math.pi * length) * (1.0 + 1.0 / nodes)
        size = (
            math.exp(peak) / (math.pi * tilt) * (step / (1.0 + tilt) + math.pi)
        )  # the sum of the terms' sizes, or more
        rounding = (4e-15 + self.count * 5e-16) * size
        return found, cut + rounding, cut + rounding + 4.0 * math.exp(-_ALIASES) * about

    def _line(self, about: float) -> tuple[int, float, float]:
        """The fewest nodes, their step and the tilt.

        The period makes aliases negligible: to the right there are none beyond the largest loss of all.
        """
        losses, log_q = self._ends
        tilts = np.geomspace(1e-3, 60.0, 120) / losses[1]
        between, weight = self._segment(0.0)
        all_losses, all_logs = np.concatenate([losses, between]), np.concatenate([log_q, np.log(weight)])
        cumulants = self.count * np.log(np.sum(np.exp((tilts[:, None] + 1.0) * all_losses + all_logs), axis=1))
        best = (_MOST_NODES, 0.0, 0.0)
        for place in np.flatnonzero(cumulants <= _LARGEST_PEAK).tolist():
            tilt = float(tilts[place])
            right = (cumulants[place + 1 :] - math.log(about) + _ALIASES) / (tilts[place + 1 :] - tilt)
            none = 1.001 * self.count * float(losses[1])
            period = max((_ALIASES - math.log(about)) / tilt, min(float(np.min(right, initial=math.inf)), none))
            step = 2.0 * math.pi / period
            best = min(best, (self._nodes(tilt, step, about), step, tilt))
        if best[1] == 0.0:
            raise ConvergenceError("every line would be too long.")
        return best

    def _transforms(self, tilt: float, step: float, nodes: int) -> tuple[Complex, Complex]:
        """A and S on the line."""
        losses, log_q = self._ends
        t = np.asarray(tilt + 1j * step * np.arange(nodes), dtype=np.complex128)
        ends = np.exp((t[:, None] + 1.0) * losses + log_q).sum(axis=1)
        if self.rate == 1.0:
            low, high = losses.tolist()
            return ends, (np.exp(t * high) - np.exp((t + 1.0) * low)) / (2.0 * (2.0 * t + 1.0))
        between, weight = self._segment(step * nodes * float(losses[1] - losses[0]))
        if between.size * nodes > _MOST_WORK:
            raise ConvergenceError("the rule for the losses has too many nodes.")
        return ends, plain_power_sums(complex(tilt + 1.0), step, nodes, between, weight)

    def _nodes(self, tilt: float, step: float, about: float) -> int:
        """So many that what is cut off does not count."""
        nodes = 64
        while nodes < _MOST_NODES and self._log_rest(tilt, step * nodes) > math.log(_SMALL * about * step * nodes):
            nodes = math.ceil(1.3 * nodes)
        return nodes

    def _log_rest(self, tilt: float, frequency: float) -> float:
        """A bound on log |M^n - A^n - n A^(n-1) S| from that frequency on."""
        losses, log_q = self._ends
        a = float(np.sum(np.exp((tilt + 1.0) * losses + log_q)))
        between, weight = self._segment(0.0)
        whole = float(np.sum(weight * np.exp((tilt + 1.0) * between)))
        raw = np.array([-1.0, 1.0]) / self.scale
        density = 0.25 / self.rate * np.exp(-0.5 / self.scale - 1.5 * raw + (tilt + 2.0) * losses)
        share = min(whole, 2.0 * float(density.sum()) / frequency) / a
        more = self.count * math.log1p(share)
        if more > 30.0:
            log_left = more
        elif more > 1e-3:
            log_left = math.log(math.expm1(more) - self.count * share)
        else:
            log_left = 2.0 * math.log(self.count * share)
        return self.count * math.log(a) + log_left
