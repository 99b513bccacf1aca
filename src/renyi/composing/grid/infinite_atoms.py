"""Infinite losses beside other parts: their probability is exact, so it is taken out before anything is put on a lattice.

Let a part's P have the mass m_i where Q has nothing, and m = 1 - prod (1 - m_i). With P~ the rest of P, renormalised, whose
losses are smaller by log(1 - m_i), the composition has

    delta(eps) = m + (1 - m) H(P~ || Q) at the level e^eps/(1 - m),

since nothing that Q cannot produce is ever worth less than its whole mass. A lattice would have to tell that mass from the
losses far out, and its law below would lose a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from renyi.composing.common.worst_loss import infinite_mass
from renyi.laws.counted import Part
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.finite import FiniteLossPair
from renyi.numerics.rounding import ULP

_FAINTEST = 1e-300  # a mass that finite laws leave out is no more


@dataclass(frozen=True, slots=True)
class Apart:
    """The parts with finite losses alone, and the probability that one of the others was infinite."""

    parts: tuple[Part, ...]
    mass: Interval
    shift: float
    """-log(1 - m): by so much the finite losses have grown."""
    slack: float
    """By how much the rounding of all the masses may have moved the sum of the losses."""

    def epsilon(self, delta: float, floor: float, ask: Callable[[float, float], Interval]) -> Interval:
        """Epsilon at ``delta``; ``ask`` takes a delta and a floor, and answers for the finite losses."""
        if delta < self.mass.lower:
            return Interval(math.inf, math.inf)
        moved = floor + self.shift if 0.0 < floor < math.inf else floor
        left, most = self._left(delta, self.mass.upper), self._left(delta, self.mass.lower)
        upper = ask(left, moved).upper if left > 0.0 else math.inf
        lower = ask(most, moved).lower if most > 0.0 else 0.0
        if upper <= moved:  # another relation's answer covers it, and is not to be rounded
            return Interval(0.0, floor)
        upper = max(upper - self.shift + self.slack, 0.0) * (1.0 + 2.0 * ULP)
        return Interval(min(max(lower - self.shift - self.slack, 0.0), upper), upper)

    def delta(self, epsilon: float, floor: float, ask: Callable[[float, float], Interval]) -> Interval:
        """Delta at ``epsilon``, likewise; moving all losses moves a delta by no more than they are moved."""
        found = ask(epsilon + self.shift, max(self._left(floor, self.mass.upper), 0.0))
        lower = self.mass.lower + (1.0 - self.mass.upper) * found.lower - self.slack
        upper = self.mass.upper + (1.0 - self.mass.lower) * found.upper + self.slack
        return Interval(max(lower * (1.0 - 4.0 * ULP), self.mass.lower), min(upper * (1.0 + 4.0 * ULP), 1.0))

    @staticmethod
    def _left(delta: float, mass: float) -> float:
        """What is left of delta for the finite losses."""
        return (delta - mass) / (1.0 - mass) if mass < 1.0 else 0.0


def apart(parts: Sequence[Part]) -> Apart | None:
    """The parts without the infinite losses of those that are finite laws; None where there is none to take out."""
    kept: list[Part] = []
    taken: list[tuple[DominatingPair, int]] = []
    for part in parts:
        known = part.upper.infinite_mass > _FAINTEST and part.lower in (None, part.upper)
        finite = part.upper.finite() if known else None
        if not isinstance(finite, FiniteLossPair) or finite.infinite_mass >= 1.0:
            kept.append(part)
            continue
        taken.append((finite, part.count))
        rest = _renormalised(finite)
        kept.append(Part(rest, None if part.lower is None else rest, part.count))
    if not taken:
        return None
    shift = math.fsum(-count * math.log1p(-pair.infinite_mass) for pair, count in taken)
    error = max(pair.mass_error for pair, _ in taken) + 8.0 * ULP
    rounding = max(pair.rounding for pair, _ in taken if isinstance(pair, FiniteLossPair))
    return Apart(tuple(kept), infinite_mass(taken), shift, shift * (error + rounding))


def _renormalised(pair: FiniteLossPair) -> FiniteLossPair:
    """What P can share with Q, as a law of its own."""
    scale = math.log1p(-pair.infinite_mass)
    rows = zip(pair.losses, pair.log_p, pair.log_q, strict=True)
    losses, log_p, log_q = zip(*((loss - scale, p - scale, q) for loss, p, q in rows if loss < math.inf), strict=True)
    return FiniteLossPair(losses, log_p, log_q, pair.attained, pair.rounding)
