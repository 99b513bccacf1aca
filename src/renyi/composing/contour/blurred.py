"""A contour for long runs whose transforms do not decay: a tiny Gaussian release is composed with the run.

That can only cost privacy, so the upper end stays an upper end. And with v the squared reciprocal noise of that release, delta
D_u of the run with a blur u satisfies dD_u/du = f_u/2, f_u the density of the loss; so with phi_u the normal density of
variance u, and

    integral over u from 0 to v of phi_u(x) <= 2 v phi_v(x)      for every x

(equal at x = 0, and the ratio falls with |x|), D_v - D_0 <= v e^(v/8) f_v, where the factor is for the drift u/2 of the loss.
That is added to the error of the lower end.
"""

from __future__ import annotations

from renyi.composing.composition import Composition
from renyi.composing.contour.contour import contour_answer
from renyi.composing.contour.tilt import question_tilt, tangent, tangent_epsilon
from renyi.composing.method import Found, Method
from renyi.composing.question import EpsilonAt, Question
from renyi.composing.steps import Steps

_FEWEST_STEPS = 20_000
"""Of short runs the grid is close and the line with a blur too long."""

_CLOSE_ENOUGH = 5e-5
"""A relative width of the interval, the grid's usual one, below which a blur would not improve it."""

_MOVED = 1e-5
"""By how much of itself the blur moves epsilon: half a unit of the fifth digit."""


class Blurred(Method):
    """Contour integration with a blur, where a grid has left the ends of a long run apart."""

    words = "contour integration with a blur"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``."""
        ends = known.interval
        close = ends.upper - ends.lower <= _CLOSE_ENOUGH * ends.upper
        return steps.transform is not None and steps.count > _FEWEST_STEPS and not close

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        assert steps.transform is not None
        blurred = steps.transform.blurred(_blur(steps.transform, question))
        return Found(contour_answer(blurred, question, known.tilt)[0], self.words)


def _blur(run: Composition, question: Question) -> float:
    """A blur v moves epsilon by about v (1 + tilt)/2."""
    tilt = question_tilt(run, question)
    if isinstance(question, EpsilonAt):
        near = tangent_epsilon(tangent(run, tilt), EpsilonAt(question.delta - run.escaped).log_delta)
    else:
        near = question.epsilon
    return _MOVED * max(near, 1e-6) / (1.0 + tilt)
