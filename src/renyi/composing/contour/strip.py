"""Delta by a line between the two poles, for large deltas: those of which an attacker's error rates are made.

Moving the line of ``numerics.contours.contour`` across the pole at 0 leaves the complement of delta,

    1 - delta(x) = E min(1, e^(x - X)) = -1/(2 pi) integral over w of M(t) e^(-x t)/(t (t + 1)),    t = c + iw, -1 < c < 0.

There M is at most 1 at real t, however likely large losses are: at low noise it grows so fast beyond the poles that no line
there is short enough. And c need not follow epsilon closely, so that one line serves many. The error is absolute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from renyi.composing.composition import Composition
from renyi.composing.contour.contour import PHASE_ERROR, certified_line, cut_off
from renyi.composing.contour.tilt import tangent
from renyi.composing.method import Found, Method
from renyi.composing.question import DeltaAt, Question
from renyi.composing.steps import Steps
from renyi.errors import ConvergenceError
from renyi.laws.interval import Interval
from renyi.numerics.contours.contour import Line
from renyi.numerics.rounding import ULP

_TILT = -0.45
"""Near the middle of the strip, where aliases die fastest on both sides; at -1/2 some transforms are a quotient of zeros."""

_NO_TILT = -1e-4
"""A tilt at which a cumulant is the mean loss times it, to a few digits."""

_LOG_ERROR = 36.0
"""Aliases, and what is cut off of a line, are made smaller than e^-36 = 2e-16."""

_USUAL_EPSILON = 8.0
"""Up to it all epsilons share one line. The terms on it are e^(-c epsilon) times what they add up to, or more, so that c is
halved for the octave beyond, and so on."""

_SMALLEST_DELTA = 1e-5
"""A lower bound on delta below which this is not asked: an error of some 1e-14 would leave too few digits."""

_SETTLED_WIDTH = 1e-9
"""A relative width from which on no other method improves the upper end."""


class Strip(Method):
    """Contour integration between the poles, where delta is surely large and no line beyond them is short enough."""

    words = "contour integration between the poles"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``."""
        if known.answered or not isinstance(question, DeltaAt) or known.interval.lower < _SMALLEST_DELTA:
            return False
        return steps.transform is not None and steps.transform.known_between_poles

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        assert isinstance(question, DeltaAt)
        assert steps.transform is not None
        interval = strip_delta(steps.transform, question.epsilon)
        if interval.upper - interval.lower > _SETTLED_WIDTH * interval.upper:
            raise ConvergenceError("delta is too small for a line between the poles.")
        return Found(interval, self.words, settled_width=_SETTLED_WIDTH)


def strip_delta(run: Composition, epsilon: float) -> Interval:
    """Delta at an epsilon >= 0; raises ``ConvergenceError`` where the line would be too long."""
    octave = max(0, math.ceil(math.log2(max(epsilon, 1e-300) / _USUAL_EPSILON)))
    found = _certified(run, _TILT / 2.0**octave)
    line = found.line
    sums = line.at(epsilon)
    if not sums.clarity > 0.0:
        raise ConvergenceError("nothing but rounding is left of the sums.")
    rest = math.exp(sums.log_tail)
    phases = PHASE_ERROR * (abs(epsilon) + found.means) * line.frequency
    waves = line.error * found.cancelling + 4e-15 * (1.0 + abs(epsilon)) + phases
    error = rest * (cut_off(line, sums, found.decay) + waves * (1.0 + 1.0 / sums.clarity)) + 2.0 * ULP
    period = 2.0 * math.pi / line.step
    # The complement is at most 1 on the right, and at most e^x on the left.
    aliases = 1.5 * (math.exp(line.tilt * period) + math.exp(epsilon - (1.0 + line.tilt) * period))
    lower, upper = max(1.0 - rest - error, 0.0), min(1.0 - rest + error + aliases, 1.0)
    return Interval(min(lower, upper), upper)


@dataclass(frozen=True, slots=True, eq=False)
class _CertifiedLine:
    """A line, and what bounds its errors.

    ``decay`` bounds what is cut off. M - 1 is summed as t times the mean loss and a remainder: ``means`` are the mean losses
    with and without tilt, added up, with which phases grow, and ``cancelling`` is how much larger than log M those terms are.
    """

    line: Line
    decay: float
    means: float
    cancelling: float


@lru_cache(maxsize=8)  # all epsilons of a trade-off curve, in both orders of the datasets
def _certified(run: Composition, tilt: float) -> _CertifiedLine:
    here = tangent(run, tilt)
    line, decay = certified_line(run, here, (_LOG_ERROR + _USUAL_EPSILON) / -tilt, _LOG_ERROR + 1.0)
    mean = abs(run.cumulant(_NO_TILT) / _NO_TILT)
    terms = 2.0 * abs(tilt) * mean / max(abs(here.cumulant), 1e-300)
    return _CertifiedLine(line, decay, abs(here.mean) + mean, 1.0 + terms)
