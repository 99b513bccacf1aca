"""Infinite losses beside other steps: their probability is exact, so it is taken out before anything is put on a lattice.

Let a step's P have the mass m_i where Q has nothing, and m = 1 - prod (1 - m_i). With P~ the rest of P, renormalised, whose
losses are smaller by log(1 - m_i), the composition has

    delta(eps) = m + (1 - m) H(P~ || Q) at the level e^eps/(1 - m),

since nothing that Q cannot produce is ever worth less than its whole mass. A lattice would have to tell that mass from the
losses far out, and its law below would lose a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.composing.steps import Steps, any_infinite
from renyi.laws.interval import Interval
from renyi.laws.pair import Counted, FiniteLossPair
from renyi.numerics.rounding import ULP

_FAINTEST = 1e-300
"""A mass at infinite loss that is not worth taking out: finite laws leave out as much themselves."""

_NEGLIGIBLE = 1e-20
"""The share of a delta that is asked for below which infinite losses stay on the lattice: it may lose them without moving a
digit, while taking them out changes where a law ends, after which its law below may be far off (measured: 0.1 in place of 0.7).
Where epsilon is asked for they are always taken out: left in, a lower end of 8.156 became 7.971."""


@dataclass(frozen=True, slots=True)
class Apart:
    """The steps with finite losses alone, and the probability that one of the others was infinite."""

    steps: Steps
    mass: Interval
    shift: float
    """-log(1 - m): by so much the finite losses have grown."""
    slack: float
    """By how much the rounding of all the masses may have moved the sum of the losses."""

    def is_part_of(self, delta: float) -> bool:
        """Whether infinite losses are a part of this delta that is worth taking out."""
        return self.mass.upper > _NEGLIGIBLE * delta

    def answer(self, question: Question, ask: Callable[[Steps, Question], Interval]) -> Interval:
        """The answer, given one who answers for the finite losses."""
        if isinstance(question, EpsilonAt):
            return self._epsilon(question.delta, ask)
        return self._delta(question.epsilon, ask)

    def _epsilon(self, delta: float, ask: Callable[[Steps, Question], Interval]) -> Interval:
        if delta < self.mass.lower:
            return Interval(math.inf, math.inf)
        least, most = self._left(delta, self.mass.upper), self._left(delta, self.mass.lower)
        upper = ask(self.steps, EpsilonAt(least)).upper if least > 0.0 else math.inf
        lower = ask(self.steps, EpsilonAt(most)).lower if most > 0.0 else 0.0
        upper = max(upper - self.shift + self.slack, 0.0) * (1.0 + 2.0 * ULP)
        return Interval(min(max(lower - self.shift - self.slack, 0.0), upper), upper)

    def _delta(self, epsilon: float, ask: Callable[[Steps, Question], Interval]) -> Interval:
        """Moving all losses moves a delta by no more than they are moved."""
        found = ask(self.steps, DeltaAt(epsilon + self.shift))
        lower = self.mass.lower + (1.0 - self.mass.upper) * found.lower - self.slack
        upper = self.mass.upper + (1.0 - self.mass.lower) * found.upper + self.slack
        return Interval(max(lower * (1.0 - 4.0 * ULP), self.mass.lower), min(upper * (1.0 + 4.0 * ULP), 1.0))

    @staticmethod
    def _left(delta: float, mass: float) -> float:
        """What is left of delta for the finite losses."""
        return (delta - mass) / (1.0 - mass) if mass < 1.0 else 0.0


def apart(steps: Steps) -> Apart | None:
    """The steps without the infinite losses of those that are finite laws; None where there is none to take out."""
    kept: list[Counted] = []
    taken: list[tuple[FiniteLossPair, int]] = []
    for pair, count in steps.counted:
        finite = pair.finite if pair.infinite_mass > _FAINTEST else None
        if finite is None or finite.infinite_mass >= 1.0:
            kept.append((pair, count))
            continue
        taken.append((finite, count))
        kept.append((_renormalised(finite), count))
    if not taken:
        return None
    shift = math.fsum(-count * math.log1p(-pair.infinite_mass) for pair, count in taken)
    error = max(pair.mass_error for pair, _ in taken) + 8.0 * ULP
    rounding = max(pair.rounding for pair, _ in taken)
    counted = tuple(kept)
    return Apart(
        Steps(counted, () if steps.below is None else counted),
        any_infinite(tuple(taken)),
        shift,
        shift * (error + rounding),
    )


def _renormalised(pair: FiniteLossPair) -> FiniteLossPair:
    """What P can share with Q, as a law of its own."""
    scale = math.log1p(-pair.infinite_mass)
    shared = pair.losses < math.inf
    return FiniteLossPair(
        pair.losses[shared] - scale, pair.log_p[shared] - scale, pair.log_q[shared], pair.attained, pair.rounding
    )
