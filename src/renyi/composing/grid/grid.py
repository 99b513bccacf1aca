"""The privacy loss distribution, with two ends: dots above and below each profile, composed by a tilted transform.

The composed delta is M(c)^T e^(-c eps) times a sum over the tilted law, for every tilt c; with c at the saddle that sum is of
order one, however small delta is. The grid follows from the wanted accuracy: the gap between the laws above and below is known
before anything is composed (``Lattice.refined``), and points are added until it is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from renyi.composing.common.accuracy import FAINTEST_DELTA, GAP, SMALLEST_EPSILON
from renyi.composing.common.chernoff_lower import chernoff_lower
from renyi.composing.common.grid_source import FAR, LADDER, Source, lattice_law, log_above, sources_of
from renyi.composing.grid.infinite_atoms import apart
from renyi.composing.grid.plan import planned
from renyi.composing.grid.saddle import Saddle, found_saddle
from renyi.composing.method import Found, Method
from renyi.composing.question import DeltaAt, EpsilonAt, Question
from renyi.composing.steps import Steps, any_infinite
from renyi.errors import TooLarge
from renyi.laws.dots.convex_dots import Dots
from renyi.laws.dots.dots import LossMasses, excess, upper_masses
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.numerics.rounding import TINY, ULP

LOOSE_GAP = 3e-4
"""The same where a pair only dominates: its distance from the truth is larger than this."""

CERTAIN = 0.9 * FAR
"""What is surely lost where a loss counts as infinite: other steps take back a tenth of it with probability e^(-FAR/10)."""


class Grid(Method):
    """The privacy loss distribution on a lattice: any laws, both ends, as long as some hundred thousand points allow."""

    words = "tilted loss grid"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``. Where a contour answers, it is closer by orders of magnitude."""
        return not known.answered

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        return Found(grid_answer(steps, question), self.words)

    def rules_out(self, steps: Steps, question: Question, bound: float, tilt: float | None) -> bool:
        """See ``Method``; by Chernoff's bound with a coarse law."""
        epsilon, delta = question.with_answer(bound)
        if steps.transform is not None or not 0.0 < delta < 1.0 or not 0.0 < epsilon < math.inf:
            return False  # with a transform, a contour tells more
        sources = sources_of(steps.informative.counted)
        masses = [(upper_masses(points), source.count) for source, points in _cut(sources, EpsilonAt(delta))]
        saddle = found_saddle([lattice_law(one, count, 0.0) for one, count in masses], DeltaAt(epsilon))
        return saddle is not None and _chernoff(masses, saddle, epsilon) <= delta


def grid_answer(steps: Steps, question: Question) -> Interval:
    """The answer; its ends differ by ``GAP`` of it, where the number of points allows."""
    steps = steps.informative
    if not steps.counted:
        return Interval(0.0, 0.0)
    with np.errstate(all="ignore"):
        if isinstance(question, EpsilonAt):
            return _epsilon(steps, question)
        return _delta(steps, question)


def _epsilon(steps: Steps, question: EpsilonAt) -> Interval:
    if question.delta >= 1.0:
        return Interval(0.0, 0.0)
    if question.delta <= 0.0:
        return _pure(steps)
    if (atoms := apart(steps)) is not None:
        return atoms.answer(question, grid_answer)
    variations = math.fsum(count * math.exp(excess(pair, np.zeros(1))[0]) for pair, count in steps.counted)
    if variations * (1.0 + 1e-11) <= question.delta:
        return Interval(0.0, 0.0)  # total variations add
    found = _two_ends(steps, question)
    if found.lower > CERTAIN and _surely_infinite(steps) <= question.delta:
        return Interval(CERTAIN, found.upper)
    return found


def _delta(steps: Steps, question: DeltaAt) -> Interval:
    if question.epsilon >= steps.largest_loss.upper:
        return Interval(_surely_infinite(steps), steps.infinite_mass.upper)
    if (atoms := apart(steps)) is not None and atoms.is_part_of(chernoff_lower(steps, question.epsilon)):
        return atoms.answer(question, grid_answer)
    found = _two_ends(steps, question)
    lower = min(found.lower, _surely_infinite(steps)) if question.epsilon > CERTAIN else found.lower
    return Interval(lower if lower >= FAINTEST_DELTA else 0.0, found.upper)


def _chernoff(masses: Sequence[tuple[LossMasses, int]], saddle: Saddle, epsilon: float) -> float:
    """A bound on the delta of laws at a tilt c > 0.

    delta(eps) <= M(c) e^(-c eps) c^c/(1 + c)^(1 + c), the largest payoff of a tilted loss.
    """
    c = saddle.tilt
    log_bound = saddle.here.log - c * epsilon + c * math.log(c / (1.0 + c)) - math.log1p(c)
    rounding = 1e-9 + sum(count * 64.0 * ULP * (1.0 + c * float(np.max(np.abs(one.x)))) for one, count in masses)
    infinite = sum(count * one.infinite for one, count in masses)
    return math.exp(min(log_bound + rounding, 0.0)) + infinite * (1.0 + 1e-9)


def _two_ends(steps: Steps, question: Question) -> Interval:
    """The best valid ends: the lattice is refined until they are close enough, or it is as long as it may be.

    Where the pairs are not those that neighbours realise, their lower end is not told, and only the distance of the law above
    is watched.
    """
    sources, attained = sources_of(steps.counted), steps.below is steps
    gap = LOOSE_GAP if steps.below is None else GAP
    lower, upper = question.unknown.lower, question.unknown.upper
    masses = [(upper_masses(points), source.count) for source, points in _cut(sources, question)]
    saddle = found_saddle([lattice_law(one, count, 0.0) for one, count in masses], question)
    if saddle is None:
        return question.unknown  # some law is at infinite loss altogether
    if isinstance(question, DeltaAt) and _chernoff(masses, saddle, question.epsilon) == 0.0:
        return Interval(0.0, TINY)
    budget, before, stuck = 1.0, math.inf, False
    for _ in range(4):
        plan = planned(sources, question, saddle, gap * budget)
        saddle = plan.saddle
        upper = min(upper, plan.answer(question, True))
        if attained:
            lower = max(lower, plan.answer(question, False))
            reached = upper - lower
            wanted = gap * (max(upper, SMALLEST_EPSILON) if isinstance(question, EpsilonAt) else upper)
        else:
            reached, wanted = plan.error, plan.target
        bound = plan.longest and plan.error > plan.target
        if reached <= max(wanted, FAINTEST_DELTA) or bound or not math.isfinite(reached):
            break
        if reached > 0.9 * before:
            # What was refined was not what mattered: once more, and thoroughly.
            if stuck:
                break
            stuck = True
            budget *= 0.1
        budget *= min(0.4, max(0.85 * wanted / reached, 1e-2))
        before = reached
    if not attained and steps.below is not None:
        # It is not told, but methods that are asked later see by it whether the upper end is worth their work.
        with suppress(TooLarge):
            lower = plan.answer(question, False)
    return Interval(min(lower, upper), upper)


def _cut(sources: Sequence[Source], question: Question) -> Iterator[tuple[Source, Dots]]:
    """Each ladder without what is negligible next to delta, for a far and faint mode of a law would attract every tilt.

    Where epsilon is given, delta is at least that of any one part.
    """
    if isinstance(question, EpsilonAt):
        log_delta = question.log_delta
    else:
        log_delta = max(float(excess(source.pair, np.array([question.epsilon]))[0]) for source in sources)
    for source in sources:
        points = source.ladder
        enough = (points.x > 0.0) & (
            log_above(points.log_v, points.log_v[-1]) + math.log(source.count) <= log_delta - 28.0
        )
        last = int(np.argmax(enough)) if enough.any() else points.x.size - 1
        yield source, points.kept(np.arange(last + 1))


def _surely_infinite(steps: Steps) -> float:
    """A probability of an infinite loss, from below; pairs that only dominate have none for certain."""
    return any_infinite(steps.counted_below).lower


def _pure(steps: Steps) -> Interval:
    """Epsilon at delta 0: the sum of the largest losses, or of losses that are certainly reached."""
    upper = steps.largest_loss.upper
    reached = sum(count * _reached(pair) for pair, count in steps.counted_below)
    return Interval(min(reached * (1.0 - 8.0 * ULP), upper), upper)


def _reached(pair: DominatingPair) -> float:
    """A loss that is reached with some probability; infinite where the profile never ends."""
    if pair.max_loss < math.inf:
        return max(pair.max_loss - pair.loss_error, 0.0)
    if excess(pair, np.array([1e300]))[0] > -math.inf:
        return math.inf
    reached = LADDER[excess(pair, LADDER) > -math.inf]
    return math.inf if reached.size == LADDER.size else float(np.max(reached, initial=0.0))
