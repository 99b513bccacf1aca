"""The privacy loss distribution, with two ends: dots above and below each profile, composed by a tilted transform.

The composed delta is M(c)^T e^(-c eps) times a sum over the tilted law, for every tilt c; with c at the saddle that sum is of
order one, however small delta is. The grid follows from the wanted accuracy: the gap between the laws above and below is known
before anything is composed (``Lattice.refined``), and points are added until it is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from renyi.composing.common.grid_source import FAR, LADDER, Source, lattice_law, log_above, sources_of, telling
from renyi.composing.common.worst_loss import infinite_mass, largest_loss
from renyi.composing.grid.infinite_atoms import apart
from renyi.composing.grid.plan import SMALLEST, planned
from renyi.composing.grid.saddle import Question, Saddle, found_saddle
from renyi.errors import ConvergenceError
from renyi.laws.counted import Part
from renyi.laws.dots.convex_dots import Dots
from renyi.laws.dots.dots import LossMasses, excess, upper_masses
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.numerics.rounding import TINY, ULP

WORK = 2e8
"""Numbers that a question may compute: at 70 to 150 million a second, as measured, up to three seconds of them."""

GAP = 5e-5
"""The relative width that is asked for; the upper end is about six times nearer to the truth."""

LOOSE_GAP = 3e-4
"""The same where a pair only dominates: its distance from the truth is larger than this."""

FAINT = 1e-300
"""A delta below which there is no lower end: what finite laws leave out counts there."""

CERTAIN = 0.9 * FAR
"""What is surely lost where a loss counts as infinite: other parts take back a tenth of it with probability e^(-FAR/10)."""


def gap_for(parts: Sequence[Part]) -> float:
    """The gap that is asked of a composition."""
    return GAP if all(part.lower is not None for part in parts) else LOOSE_GAP


def grid_epsilon(parts: Sequence[Part], delta: float, gap: float, floor: float = 0.0) -> Interval:
    """Epsilon at ``delta``; the ends differ by ``gap`` of it, where some hundred thousand points allow.

    Where it is seen at once that epsilon is at most ``floor``, that is the answer.
    """
    parts = telling(parts)
    if not parts or delta >= 1.0:
        return Interval(0.0, 0.0)
    if delta <= 0.0:
        return _pure(parts)
    if (atoms := apart(parts)) is not None:
        return atoms.epsilon(delta, floor, lambda left, below: grid_epsilon(atoms.parts, left, gap, below))
    if sum(part.count * math.exp(excess(part.upper, np.zeros(1))[0]) for part in parts) * (1.0 + 1e-11) <= delta:
        return Interval(0.0, 0.0)  # total variations add
    question = Question(log_delta=math.log(delta))
    with np.errstate(all="ignore"):
        try:
            above = sources_of([(part.upper, part.count) for part in parts])
            if floor > 0.0 and _is_below(above, question, floor, delta):
                return Interval(0.0, floor)
            found = _two_ends(parts, above, question, gap)
            if found.lower > CERTAIN and _surely_infinite(parts) <= delta:
                found = Interval(CERTAIN, found.upper)
            return found
        except (ConvergenceError, ArithmeticError, ValueError):  # too much work, or losses beyond what floats hold
            return Interval(0.0, math.inf)


def grid_delta(parts: Sequence[Part], epsilon: float, gap: float, floor: float = 0.0) -> Interval:
    """Delta at ``epsilon``; the ends differ by ``gap`` of it, where some hundred thousand points allow.

    Where it is seen at once that delta is at most ``floor``, that is the answer.
    """
    parts = telling(parts)
    if not parts:
        return Interval(0.0, 0.0)
    pairs = [(part.upper, part.count) for part in parts]
    if epsilon >= largest_loss(pairs).upper:
        return Interval(_surely_infinite(parts), infinite_mass(pairs).upper)
    if (atoms := apart(parts)) is not None:
        return atoms.delta(epsilon, floor, lambda moved, below: grid_delta(atoms.parts, moved, gap, below))
    with np.errstate(all="ignore"):
        try:
            above = sources_of(pairs)
            question = Question(epsilon=epsilon)
            if floor > 0.0 and _is_below(above, question, epsilon, floor):
                return Interval(0.0, floor)
            found = _two_ends(parts, above, question, gap)
            lower = min(found.lower, _surely_infinite(parts)) if epsilon > CERTAIN else found.lower
            return Interval(lower if lower >= FAINT else 0.0, found.upper)
        except (ConvergenceError, ArithmeticError, ValueError):
            return Interval(0.0, 1.0)


def _is_below(above: Sequence[Source], question: Question, epsilon: float, delta: float) -> bool:
    """Whether Chernoff's bound with a coarse law shows that ``epsilon`` and ``delta`` are enough."""
    if epsilon == math.inf or delta >= 1.0:
        return True
    masses = [(upper_masses(points), source.count) for source, points in _cut(above, question)]
    saddle = found_saddle([lattice_law(one, count, 0.0) for one, count in masses], Question(epsilon=epsilon))
    return saddle is not None and _chernoff(masses, saddle, epsilon) <= delta


def _chernoff(masses: Sequence[tuple[LossMasses, int]], saddle: Saddle, epsilon: float) -> float:
    """A bound on the delta of laws at a tilt c > 0.

    delta(eps) <= M(c) e^(-c eps) c^c/(1 + c)^(1 + c), the largest payoff of a tilted loss.
    """
    c = saddle.tilt
    log_bound = saddle.here.log - c * epsilon + c * math.log(c / (1.0 + c)) - math.log1p(c)
    rounding = 1e-9 + sum(count * 64.0 * ULP * (1.0 + c * float(np.max(np.abs(one.x)))) for one, count in masses)
    infinite = sum(count * one.infinite for one, count in masses)
    return math.exp(min(log_bound + rounding, 0.0)) + infinite * (1.0 + 1e-9)


def _two_ends(parts: Sequence[Part], above: Sequence[Source], question: Question, gap: float) -> Interval:
    same = all(part.lower == part.upper for part in parts)
    known = all(part.lower is not None for part in parts)
    lower, upper = _ends(above, question, gap, True, same)
    if known and not same:
        below = [(part.lower, part.count) for part in parts if part.lower is not None]
        lower, _ = _ends(sources_of(below), question, gap, False, True)
    return Interval(min(lower, upper), upper)


def _ends(
    sources: Sequence[Source], question: Question, gap: float, wants_upper: bool, wants_lower: bool
) -> tuple[float, float]:
    """The best valid ends: the lattice is refined until they are close enough, or it is as long as it may be."""
    lower, upper = 0.0, math.inf if question.for_epsilon else 1.0
    masses = [(upper_masses(points), source.count) for source, points in _cut(sources, question)]
    saddle = found_saddle([lattice_law(one, count, 0.0) for one, count in masses], question)
    if saddle is not None and not question.for_epsilon and _chernoff(masses, saddle, question.epsilon) == 0.0:
        return 0.0, TINY
    budget, before, stuck = 1.0, math.inf, False
    for _ in range(4):
        if saddle is None:
            break
        plan = planned(sources, question, saddle, gap * budget)
        saddle = plan.saddle
        if wants_upper:
            upper = min(upper, plan.answer(question, True))
        if wants_lower:
            lower = max(lower, plan.answer(question, False))
        if not (wants_upper and wants_lower):
            reached = plan.error
            wanted = plan.target
        else:
            reached = upper - lower
            wanted = gap * (max(upper, SMALLEST) if question.for_epsilon else upper)
        bound = plan.longest and plan.error > plan.target
        if reached <= max(wanted, 1e-300) or bound or not math.isfinite(reached):
            break
        if reached > 0.9 * before:
            # What was refined was not what mattered: once more, and thoroughly.
            if stuck:
                break
            stuck = True
            budget *= 0.1
        budget *= min(0.4, max(0.85 * wanted / reached, 1e-2))
        before = reached
    return lower, upper


def _cut(sources: Sequence[Source], question: Question) -> Iterator[tuple[Source, Dots]]:
    """Each ladder without what is negligible next to delta, for a far and faint mode of a law would attract every tilt.

    Where epsilon is given, delta is at least that of any one part.
    """
    log_delta = question.log_delta
    if not question.for_epsilon:
        log_delta = max(float(excess(source.pair, np.array([question.epsilon]))[0]) for source in sources)
    for source in sources:
        points = source.ladder
        enough = (points.x > 0.0) & (
            log_above(points.log_v, points.log_v[-1]) + math.log(source.count) <= log_delta - 28.0
        )
        last = int(np.argmax(enough)) if enough.any() else points.x.size - 1
        yield source, points.kept(np.arange(last + 1))


def _surely_infinite(parts: Sequence[Part]) -> float:
    """A probability of an infinite loss, from below; pairs that only dominate have none for certain."""
    return infinite_mass([(part.lower, part.count) for part in parts if part.lower is not None]).lower


def _pure(parts: Sequence[Part]) -> Interval:
    """Epsilon at delta 0: the sum of the largest losses, or of losses that are certainly reached."""
    upper = largest_loss([(part.upper, part.count) for part in parts]).upper
    lower = sum(part.count * _reached(part.lower) for part in parts) * (1.0 - 8.0 * ULP)
    return Interval(min(lower, upper), upper)


def _reached(pair: DominatingPair | None) -> float:
    if pair is None:
        return 0.0
    if pair.max_loss < math.inf:
        return max(pair.max_loss - pair.loss_error, 0.0)
    if excess(pair, np.array([1e300]))[0] > -math.inf:
        return math.inf
    reached = LADDER[excess(pair, LADDER) > -math.inf]
    return math.inf if reached.size == LADDER.size else float(np.max(reached, initial=0.0))
