"""A contour for runs whose transforms do not decay: a tiny Gaussian release is composed with the run.

That can only cost privacy, so the upper end stays an upper end. And with v the squared reciprocal noise of that release, delta
D_u of the run with a blur u satisfies dD_u/du = f_u/2, f_u the density of the loss; so with phi_u the normal density of
variance u, and

    integral over u from 0 to v of phi_u(x) <= 2 v phi_v(x)      for every x

(equal at x = 0, and the ratio falls with |x|), D_v - D_0 <= v e^(v/8) f_v, where the factor is for the drift u/2 of the loss.
That is added to the error of the lower end.
"""

from __future__ import annotations

import math

import numpy as np

from renyi.composing.common.grid_source import is_on_one_lattice
from renyi.composing.composition import Composition
from renyi.composing.contour.contour import contour_answer
from renyi.composing.contour.tilt import chernoff_exponent, question_tilt, tangent, tangent_epsilon
from renyi.composing.method import EXACT_WIDTH, Found, Method
from renyi.composing.question import EpsilonAt, Question
from renyi.composing.steps import Steps
from renyi.laws.interval import Interval

_MOVED = 1e-5
"""By how much of itself the blur moves the answer: about half of that is how far the upper end lies above the truth. The line
grows with the square root of its reciprocal."""


_SETTLED_WIDTH = 2e-5
"""A relative width from which on no other method improves the upper end, where Renyi bounds are far above it."""

_MARGIN = 0.01
"""By how much of epsilon Chernoff's bound must lie above it: up to the delta below, the best conversion of a Renyi divergence
gains at most 1.2e-7 of it on Chernoff's (Gaussian and pure curves of 29 sizes each)."""

_LARGEST_DELTA = 1e-5
"""A delta above which the best conversion may gain much more than that."""


class Blurred(Method):
    """Contour integration with a blur, where some law has a transform that does not decay: atoms, or a bounded density."""

    words = "contour integration with a blur"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``. Losses on one lattice are composed without error by a grid."""
        return steps.transform is not None and not known.answered and not is_on_one_lattice(steps.counted)

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        run = steps.transform
        assert run is not None
        tilt = question_tilt(run, question)
        interval, _ = contour_answer(run.blurred(_blur(run, question, tilt)), question, known.tilt)
        # The composition of pure levels may be exact where all losses are finitely many: there it must be compared.
        alone = any(pair.finite is None for pair, _ in steps.counted) and _is_far_above(run, question, tilt, interval)
        # Next to the largest loss delta falls within less than the blur, and in the midst of the losses their density is large
        # beside delta: a grid, which is not blurred, is closer there.
        close = interval.upper - interval.lower <= _SETTLED_WIDTH * interval.upper
        return Found(interval, self.words, answered=close, settled_width=_SETTLED_WIDTH if alone else EXACT_WIDTH)


def _is_far_above(run: Composition, question: Question, tilt: float, found: Interval) -> bool:
    """Whether Chernoff's bound, and with it every Renyi bound, lies so far above an interval that it cannot improve it."""
    epsilon, delta = question.with_answer(found.upper)
    log_bound = float(chernoff_exponent(run, epsilon, np.array([tilt]))[0])
    # At a fixed delta the bound on epsilon is larger by the gap of the logarithms over the tilt.
    return 0.0 < delta <= _LARGEST_DELTA and log_bound - math.log(delta) > _MARGIN * max(tilt * epsilon, 1.0)


def _blur(run: Composition, question: Question, tilt: float) -> float:
    """A blur v moves epsilon by about v (1 + tilt)/2, and the logarithm of delta by the tilt times that."""
    if isinstance(question, EpsilonAt):
        near = tangent_epsilon(tangent(run, tilt), EpsilonAt(question.delta - run.escaped).log_delta)
    else:
        near = 1.0 / tilt
    return _MOVED * max(near, 1e-6) / (1.0 + tilt)
