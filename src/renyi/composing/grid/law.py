"""A composed law with all its errors, asked for epsilon or delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.composing.question import EpsilonAt, Question
from renyi.numerics.lattices.tilted_fft import TiltedSum
from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]

_LEAST = 5e-324  # the smallest positive number
_EXPONENTIAL = 1e-12  # the relative error of a delta that was a logarithm


@dataclass(frozen=True, slots=True)
class ComposedLaw:
    """A composed law with all its errors, ready to be asked."""

    law: TiltedSum | None
    step: float
    infinite: float
    upper: bool
    log_wrapped: float
    slack: float
    focus: float
    top: float
    """Beyond it the law has no mass but noise."""

    def answer(self, question: Question) -> float:
        """An end of epsilon, or of delta."""
        if isinstance(question, EpsilonAt):
            return self._epsilon(question.log_delta)
        return self._delta(question.epsilon)

    def _profile(self, reach: float = 40.0) -> tuple[Array, Array, Array, float, float]:
        """Points x, D and minus its slope in y there, scaled; the logarithms of what one unit of D, and a wrapped mass, are.

        From the right, D grows by the Q-mass behind times the step in y: sums of positive terms.
        """
        law = self.law
        assert law is not None
        c, ref = law.tilt, self.focus
        end = law.place(self.top)
        left = max(30.0 / (1.0 + c) + min(300.0 / (1.0 + c), 0.5 / c), min(3.0 * self.step, 600.0 / (1.0 + c)))
        start = min(law.place(ref - left), end)
        # Beyond 600 the payoff is 1 to the last digit; beyond ``reach``/c what is left is worth next to nothing. No term of a
        # bound from above may underflow: from there on all is counted in full.
        near = min(600.0, reach / c, 650.0 / (1.0 + c) if self.upper else math.inf)
        stop = min(max(law.place(ref + near), start), end)
        last = min(max(law.place(ref + reach / c), stop), end)
        rest = 0.0
        if last > stop:
            rest = float(np.sum(self._masses(stop, last) * np.exp(-c * (law.x(stop, last) - ref))))
        if self.upper and end > last:
            rest += math.exp(-c * (float(law.x(last, last + 1)[0]) - ref)) * float(np.sum(self._masses(last, end)))
        x = law.x(start, stop)
        gap = x - ref
        with np.errstate(under="ignore"):
            q = self._masses(start, stop)
            q *= np.exp(-(1.0 + c) * gap)
            behind = np.cumsum(q[::-1])[::-1]  # Q-mass at and right of each point
            grown = np.exp(gap)
            widths = grown[:-1] * math.expm1(self.step) if self.step < 1.0 else np.diff(grown)
            rise = behind[1:] * widths
        value = np.empty(x.shape)
        if x.size:
            value[-1] = rest
            value[:-1] = np.cumsum(rise[::-1])[::-1]
            value[:-1] += rest
        relative = law.relative if self.upper else -law.relative
        return x, value, behind, law.log_moment - c * ref + relative, self.log_wrapped

    def _masses(self, start: int, stop: int) -> Array:
        """Tilted masses from one place to another, moved by their noise."""
        assert self.law is not None
        mass = self.law.mass[start:stop] + (self.law.noise if self.upper else -self.law.noise)
        return np.maximum(mass, 0.0, out=mass)

    def _epsilon(self, log_delta: float) -> float:
        """Where the profile crosses delta, outward."""
        spent = _less(log_delta, self.infinite * (1.0 + _EXPONENTIAL if self.upper else 1.0 - _EXPONENTIAL))
        if spent == -math.inf:
            return math.inf if self.upper else (math.inf if self.infinite > 0.0 else 0.0)
        if self.law is None:
            return 0.0
        x, value, behind, log_unit, log_wrapped = self._profile()
        target = math.exp(min(spent - log_unit, 700.0))
        if x.size and target <= 2.0 * float(value[-1]):
            x, value, behind, log_unit, log_wrapped = self._profile(700.0)
        if not x.size:
            return math.inf if self.upper else 0.0
        found = self._crossing(x, value, behind, target)
        # A wrapped mass is worth e^(log_wrapped - c (eps - focus)); below, allow for a factor e.
        sign = -1.0 if self.upper else 2.0 * math.e
        wrapped = (
            math.exp(min(log_wrapped - self.law.tilt * (found - self.focus), 700.0)) if math.isfinite(found) else 0.0
        )
        moved = self._crossing(x, value, behind, target + sign * wrapped)
        if not self.upper and moved < found - 1.0 / self.law.tilt:
            return 0.0
        if self.upper:
            return max(moved + self.slack, 0.0)
        return max(moved - self.slack, 0.0)

    def _crossing(self, x: Array, value: Array, behind: Array, target: float) -> float:
        if target <= 0.0 and self.upper:
            return math.inf
        index = int(np.searchsorted(-value, -max(target, 0.0)))  # the first point with value <= target
        if index == 0:
            return float(x[0]) if self.upper else -math.inf
        if index >= x.size:
            return math.inf if self.upper else float(x[-1])
        y = math.exp(float(x[index]) - self.focus)
        drop = (target - float(value[index])) / (float(behind[index]) * y) if behind[index] > 0.0 else 0.0
        return max(float(x[index]) + math.log1p(-min(drop, 1.0 - 1e-16)), float(x[index - 1]))

    def _delta(self, epsilon: float) -> float:
        fails = self.infinite + 0.0
        at = epsilon - self.slack if self.upper else epsilon + self.slack
        if self.law is not None and at < self.top:
            x, value, behind, log_unit, log_wrapped = self._profile()
            index = int(np.searchsorted(x, at, side="right"))
            if index == 0 and self.upper:
                return 1.0  # epsilon lies left of all points, or so far left that only 1 is certain
            worth = float(value[-1]) if x.size else 0.0  # of what lies beyond the points, far enough to count in full
            if index == 0:
                worth = 0.0
            elif index < x.size:
                worth = float(value[index]) + float(behind[index]) * math.exp(at - self.focus) * math.expm1(
                    float(x[index]) - at
                )
            wrapped = math.exp(min(log_wrapped - self.law.tilt * (at - self.focus), 700.0))
            worth = worth + wrapped if self.upper else max(worth - 2.0 * wrapped, 0.0)
            if worth > 0.0:
                fails += math.exp(min(log_unit + math.log(worth), 0.0))
        if self.upper:
            fails = max(fails, _LEAST)  # masses may have underflowed; that there are none is known elsewhere
        return min(fails * (1.0 + 4.0 * ULP), 1.0) if self.upper else max(fails * (1.0 - 4.0 * ULP), 0.0)


def _less(log_delta: float, infinite: float) -> float:
    """log(delta - infinite), -inf if that is not positive."""
    if infinite == 0.0:
        return log_delta
    rest = 1.0 - infinite * math.exp(min(-log_delta, 700.0))
    return log_delta + math.log(rest) if rest > 0.0 else -math.inf
