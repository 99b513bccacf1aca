"""Composition on lattices of many scales, for runs that reach epsilon by few rare large losses as well as by many small ones.

There every tilt leaves Chernoff's bound many orders of magnitude above delta, so that contours and transforms drown in
rounding. Sums of positive terms do not (``numerics/many_scales``). Both ends hold: the law of one step is taken above or below
its profile (``laws/dots``), and whenever masses are moved to a coarser lattice they are moved outwards, which raises the
profile of every sum, or inwards and down, which lowers it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from renyi.composing.common.accuracy import FAINTEST_DELTA, GAP, SMALLEST_EPSILON
from renyi.composing.common.grid_source import FAR, LADDER, masses_below, tabled
from renyi.composing.method import Found, Method
from renyi.composing.question import EpsilonAt, Question
from renyi.composing.steps import Steps
from renyi.composing.sums import FiniteRun
from renyi.errors import ConvergenceError
from renyi.laws.dots.convex_dots import Dots
from renyi.laws.dots.dots import dots, excess, upper_masses
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.numerics.lattices.many_scales import MOST_WORK, ScaledLattices, ScaledLaw
from renyi.numerics.rounding import ULP

Array = NDArray[np.float64]
_WIDTHS = {False: 1e-3, True: 0.03}
"""Relative widths of delta's interval above which these sums are tried, and at which they stop; of long runs (True) they take
longer."""

_EPSILON_WIDTHS = {False: 1e-4, True: 0.03}
"""The same for epsilon, of which more digits are read."""

_EPSILON_GAPS = {False: GAP, True: 0.01}
"""The relative width of epsilon at which they stop."""

_LONG = 20_000
"""Steps from which on a run is long."""

_CELLS = (512, 2048, 4096)
"""Points of one lattice, in one attempt after another."""

_FINEST = 3e-5
"""The first lattice's step, for one repetition, as a share of epsilon."""

_BEYOND = 21.0
"""What lies beyond the last lattice is e^-21 of delta: a billionth."""

_NEGLIGIBLE = 1e-14
"""The share of delta that single masses contribute when they are left out."""

_LOST = 1e-313
"""Lost to underflow in one composition: half the smallest number for every product of two cells."""

_ROUNDINGS = 64.0
"""Of a point, on its way through all compositions."""

_MOST_SUMS = 2000
"""Compositions of two laws on one lattice, each a tenth to a third of a millisecond where the lattices are short."""

_LUMP = 4.0
"""Steps, within which losses are one lump for the first lattice."""

_DIGITS = 50
"""Binary digits of places: all points of all lattices are then sums without rounding."""


class Scales(Method):
    """Positive sums on lattices of many scales, where the other methods leave the ends far apart.

    A law with none below it that is attained may be further from the truth than these sums would improve it.
    """

    words = "sums on lattices of many scales"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``."""
        ends = known.interval
        width = ends.upper - ends.lower
        asks_epsilon = isinstance(question, EpsilonAt)
        widest = (_EPSILON_WIDTHS if asks_epsilon else _WIDTHS)[_is_long(steps)]
        close = (asks_epsilon and width <= SMALLEST_EPSILON) or width <= widest * ends.upper < math.inf
        return steps.below is not None and not close

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        return Found(scaled_answer(steps, question, known.interval), self.words)


def _is_long(steps: Steps) -> bool:
    return steps.count > _LONG


def scaled_answer(steps: Steps, question: Question, known: Interval) -> Interval:
    """The answer within what is known, on finer and finer lattices, until its ends are close or the work is too much."""
    ends, work = known, 0
    for cells in _CELLS:
        if _is_close(steps, question, ends) or work * (cells / _CELLS[0]) ** 2 > MOST_WORK:
            break
        try:
            plan = _plan(steps, question, ends, cells)
            law = plan.law(outwards=True)
            work = work or law.work
            upper = min(ends.upper, plan.run(law).answer(question).upper)
            ends = Interval(min(ends.lower, upper), upper)
            if _is_close(steps, question, ends):
                break
            lower = max(ends.lower, plan.run(plan.law(outwards=False)).answer(question).lower)
            ends = Interval(min(lower, upper), upper)
        except (ConvergenceError, ArithmeticError, ValueError):  # too much work, or numbers that overflow
            break
    return ends


def _is_close(steps: Steps, question: Question, ends: Interval) -> bool:
    width = ends.upper - ends.lower
    if isinstance(question, EpsilonAt):
        return width <= _EPSILON_GAPS[_is_long(steps)] * max(ends.upper, SMALLEST_EPSILON) < math.inf
    return width <= _WIDTHS[_is_long(steps)] * ends.upper


def _plan(steps: Steps, question: Question, ends: Interval, cells: int) -> _Plan:
    """Lattices about where the answer is, as far as it is known."""
    if isinstance(question, EpsilonAt):
        alone = max(_alone(pair, count, question.delta) for pair, count in steps.counted)
        # The sum of the largest losses bounds every run: it does not tell where the answer is.
        top = ends.upper if ends.upper < steps.largest_loss.upper else math.inf
        least = 1e-3 * top if top < math.inf else 0.0
        near = max(ends.lower, min(alone, ends.upper), least, SMALLEST_EPSILON)
        return _Plan.of(steps, question.delta, near, top, cells)
    alone = math.exp(max(float(excess(pair, np.array([question.epsilon]))[0]) for pair, _ in steps.counted))
    delta = max(alone, ends.lower) or ends.upper * 1e-30
    return _Plan.of(steps, delta, max(question.epsilon, SMALLEST_EPSILON), question.epsilon, cells)


def _alone(pair: DominatingPair, count: int, delta: float) -> float:
    """About the epsilon at which one of the steps fails, if delta were the sum of what they do."""
    likely = excess(pair, LADDER) + math.log(count) > math.log(delta)
    return float(np.max(LADDER[likely], initial=0.0))


@dataclass(frozen=True, slots=True)
class _Step:
    """One part: its profile at the points of all lattices, moved by ``start``."""

    pair: DominatingPair
    count: int
    start: float
    points: Dots


@dataclass(frozen=True, slots=True)
class _Plan:
    """The lattices for a question, and the parts on them; about how small delta is, and how large epsilon."""

    scales: ScaledLattices
    steps: tuple[_Step, ...]
    delta: float
    near: float

    @classmethod
    def of(cls, steps: Steps, delta: float, near: float, top: float, cells: int) -> _Plan:
        """Errors of the first lattice are of the order of its step, squared, for every repetition."""
        if not FAINTEST_DELTA <= delta < 1.0:
            raise ConvergenceError("masses as small as this delta underflow.")
        pairs = steps.counted
        step = 2.0 ** math.floor(math.log2(_FINEST * near / math.sqrt(steps.count)))
        top = max(4.0 * near, 2.0 * top if top < math.inf else 0.0)
        for pair, number in pairs:
            reach = _reach(pair, LADDER, math.log(delta) - math.log(number) - _BEYOND)
            top = max(top, min(reach, pair.max_loss))
        if not top <= FAR:
            raise ConvergenceError("losses as large as these have no digits left where they are added.")
        if not math.log2(top / step) < _DIGITS:
            raise ConvergenceError("losses are too far apart for lattices.")
        scales = ScaledLattices(step, cells, max(math.ceil(math.log2(top / (cells * step))), 0) + 1)
        if scales.levels * sum(number.bit_length() + number.bit_count() for _, number in pairs) > _MOST_SUMS:
            raise ConvergenceError("so many parts so often on so many lattices take too long.")
        placed = tuple(_placed(tabled(pair), number, scales, delta) for pair, number in pairs)
        return cls(scales, placed, delta, near)

    def law(self, *, outwards: bool) -> ScaledLaw:
        """The composed law above or below, from where all parts start."""
        negligible = _NEGLIGIBLE * self.delta
        whole: ScaledLaw | None = None
        for step in self.steps:
            law = self._one(step, outwards).repeated(step.count, negligible)
            whole = law if whole is None else whole.composed(law, negligible)
        assert whole is not None
        return whole

    def _one(self, step: _Step, outwards: bool) -> ScaledLaw:
        with np.errstate(all="ignore"):
            if outwards:
                masses = upper_masses(step.points)
            else:
                masses = masses_below(step.pair, step.points, -math.log(self.delta) / self.near)
        where = masses.place.astype(np.intp)
        size = self.scales.levels, self.scales.width
        mass = np.zeros(size)
        mass.ravel()[where] = np.exp(masses.log_p)
        if np.isnan(mass).any():
            raise ConvergenceError("a mass is no number.")  # what is lost silently would lower an upper end
        x = self.scales.everywhere()
        lowered = x.ravel()[where] + step.start - masses.x
        return ScaledLaw(
            self.scales,
            mass,
            masses.infinite + _LOST if outwards else 0.0,
            outwards,
            shift=step.start - max(float(np.max(lowered, initial=0.0)), 0.0),
            rounding=_ROUNDINGS * ULP * (float(np.sum(mass * np.abs(x))) + abs(step.start)),
        )

    def run(self, law: ScaledLaw) -> FiniteRun:
        """The composed law as one of finitely many losses."""
        count = sum(step.count for step in self.steps)
        # Each sum of positive terms is off by their number of roundings, and what one step is off every repetition is.
        error = 2.0 * count * (self.scales.width + 16.0 * self.scales.levels) * ULP + 1e-12
        held = law.mass > 0.0
        return FiniteRun(
            (self.scales.everywhere() + law.shift)[held],
            np.log(law.mass[held]),
            min(law.beyond, 1.0),
            error if law.beyond > 0.0 else 0.0,
            error,
            _ROUNDINGS * ULP,
            law.rounding,
        )


def _reach(pair: DominatingPair, ladder: Array, log_faint: float) -> float:
    """How far out a pair's profile exceeds the trivial one by what counts."""
    faint = excess(pair, ladder) < log_faint
    return float(np.abs(ladder[np.argmax(faint)])) if faint.any() else math.inf


def _placed(pair: DominatingPair, count: int, scales: ScaledLattices, delta: float) -> _Step:
    """A pair on the lattices, moved so that the lump of its small losses has its mean just right of 0.

    A lump narrower than the first lattice's step would go down by a step else, in every repetition of the law below.
    """
    faint = math.log(delta) - math.log(count) - 2.0 * _BEYOND
    reach = _reach(pair, -LADDER, faint), _reach(pair, LADDER, faint)
    plain = _dotted(pair, scales, 0.0, reach)
    with np.errstate(all="ignore"):
        masses = upper_masses(plain)
        large = np.abs(masses.x) > _LUMP * scales.step
        p = float(np.sum(np.exp(masses.log_p[large]))) + masses.infinite
        q = float(np.sum(np.exp(masses.log_p[large] - masses.x[large]))) + masses.behind
    if not max(p, q) < 0.5:
        return _Step(pair, count, 0.0, plain)
    finest = scales.step * 2.0 ** max(-12, scales.levels + math.ceil(math.log2(scales.cells)) - _DIGITS - 1)
    start = finest * math.floor((math.log1p(-p) - math.log1p(-q)) / finest)
    return _Step(pair, count, start, _dotted(pair, scales, start, reach))


def _dotted(pair: DominatingPair, scales: ScaledLattices, start: float, reach: tuple[float, float]) -> Dots:
    """The profile at the points of all lattices, moved by ``start``, but for those that only another pair's losses reach."""
    places, where = scales.points()
    x = places + start
    first, stop = max(int(np.searchsorted(x, -reach[0])) - 1, 0), int(np.searchsorted(x, reach[1])) + 1
    x, where = x[first:stop], where[first:stop]
    return dots(x, excess(pair, x), where.astype(np.float64))
