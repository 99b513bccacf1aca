"""Exact composition by contour integration: cumulants add up, one integral gives delta.

The cost depends neither on the number of steps nor on how small delta is. Every error is bounded: the trapezoidal rule errs
upwards only, by two Chernoff terms; what is cut off of the line is bounded by the decay of the transforms
(``LossTransform.log_decay``); rounding is relative to the tilted mass.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.composing.composition import Composition, log_corner
from renyi.composing.contour.tilt import (
    Tangent,
    chernoff_exponent,
    delta_tangent,
    delta_tilt,
    epsilon_tangent,
    log_chernoff_delta,
    tangent,
    tangent_epsilon,
)
from renyi.composing.method import Found, Method
from renyi.composing.question import EpsilonAt, Question
from renyi.composing.steps import Steps
from renyi.errors import ConvergenceError
from renyi.laws.interval import Interval
from renyi.numerics.contours.contour import Line, LineSums
from renyi.numerics.roots.falling_root import falling_root

Array = NDArray[np.float64]

MOST_NODES = 60_000
"""On one line: a tenth of a second of work, and a few megabytes."""

_LOG_ERROR = 33.0
"""Aliases and what is cut off of a line are made smaller than e^-33 of the answer: below what rounding leaves of it."""

_LOG_ROUGH_ERROR = 9.0
"""The same where a line only has to show that another relation decides: five digits are plenty for that."""

_FINE_ERROR = 1e-10
"""A relative error of delta below which no other tilt is tried."""

_COARSEST_ANSWER = 1e-4
"""A relative error of delta above which the answer is not given: the grid reaches 5e-5."""

_WIDEST_LOWER = 0.01
"""A relative error of delta above which there is no lower end: linearising beyond it would not hold."""

PHASE_ERROR = 2.4e-14
"""The relative error of a transform's logarithm, and of a wave's phase, as tested against 40 digits."""

_LEAST_CLARITY, _CLEAR = 1e-11, 1e-7
"""The size of a line's sum beside the sum of its terms' sizes: below the first nothing is left of it but rounding, from the
second on Newton's method works."""

_SETTLED_WIDTH = 1e-9
"""A relative width from which on no other method improves the upper end: it is the bounds on the errors that are wide, the
trapezoidal sum itself is nearer to the truth than that."""

_SURELY_BELOW = 1e-6
"""Of the logarithm of delta, by which another relation must lie below: more than the rounding of both."""

_LOWERED = 0.7
"""The factor by which a tilt is lowered where a line takes too much work and would take less at a smaller tilt."""

# Tilts about the saddle for Chernoff's bound on the aliases; those from the second to the saddle itself may have the line.
_LADDER = np.exp(0.04 * np.array([-18, -15, -12, -9, -6, -3, 0, 2, 4, 7, 10, 14, 19, 26, 33, 40]))
_CANDIDATES = slice(1, 7)


class NoDecay(ConvergenceError):
    """No line is long enough: atoms keep the transform from falling, at this tilt and at those near it."""


class Contour(Method):
    """The integral of the composed transform along a line, where every law has a transform that decays."""

    words = "contour integration"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``."""
        return steps.transform is not None and not known.answered

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        assert steps.transform is not None
        interval, tilt = contour_answer(steps.transform, question, known.tilt)
        return Found(interval, self.words, settled_width=_SETTLED_WIDTH, tilt=tilt)

    def rules_out(self, steps: Steps, question: Question, bound: float, tilt: float | None) -> bool:
        """Whether Chernoff's bound, or a short line, shows that delta is small enough at an epsilon.

        The tilt of the relation that reached the bound serves: the laws of two relations are nearly the same.
        """
        epsilon, delta = question.with_answer(bound)
        if tilt is None or steps.transform is None or not 0.0 < epsilon < math.inf or delta <= steps.transform.escaped:
            return False
        log_delta = math.log(delta - steps.transform.escaped) - _SURELY_BELOW
        return (
            log_chernoff_delta(steps.transform, epsilon, tilt) <= log_delta
            or _log_rough_delta(steps.transform, epsilon, tilt) <= log_delta
        )


def contour_answer(run: Composition, question: Question, guess: float | None) -> tuple[Interval, float]:
    """The answer, and the tilt that was used; raises ``ConvergenceError`` where the line would be too long."""
    if isinstance(question, EpsilonAt):
        return contour_epsilon(run, question.delta, guess)
    return contour_delta(run, question.epsilon, guess)


def _log_rough_delta(run: Composition, epsilon: float, tilt: float) -> float:
    """log of an upper bound on delta that a short line gives, for aliases only add to it."""
    here = tangent(run, tilt)
    expected = here.cumulant - tilt * epsilon + float(log_corner(np.array([tilt]))[0])
    line, decay = certified_line(run, here, (_LOG_ROUGH_ERROR - expected) / tilt, _LOG_ROUGH_ERROR + 4.0)
    sums = line.at(epsilon)
    error = cut_off(line, sums, decay) + _rounding(line, sums, epsilon)
    return sums.log_tail + math.log1p(error) if sums.clarity > _CLEAR and error < _WIDEST_LOWER else math.inf


def contour_epsilon(run: Composition, delta: float, guess: float | None = None) -> tuple[Interval, float]:
    """Epsilon at delta, and the tilt that was used; raises ``ConvergenceError`` where the line would be too long."""
    spent = delta - run.escaped
    if spent <= 0.0:
        return Interval(math.inf, math.inf), 1.0
    log_delta = math.log(spent)
    saddle = epsilon_tangent(run, log_delta, guess or 1.0)
    epsilon = tangent_epsilon(saddle, log_delta)
    ceiling = 1.01 * max(epsilon, (saddle.cumulant - log_delta) / saddle.tilt)
    best: tuple[float, Interval] | None = None
    tried: set[float] = set()
    lost = below = math.inf
    for _ in range(9):
        plan = cheapest(run, saddle.tilt, epsilon, log_delta, below)
        again = plan.here.tilt in tried
        if best is not None and best[0] < _COARSEST_ANSWER and (again or plan.lost > lost - 1.0):
            break
        tried.add(plan.here.tilt)
        try:
            line, decay = certified_line(run, plan.here, plan.period, _LOG_ERROR + 4.0)
        except ConvergenceError as error:
            if best is not None:
                break
            if run.dearer_beyond and (again or below < math.inf):
                below = _LOWERED * plan.here.tilt
                saddle = saddle._replace(tilt=below)
            elif again or epsilon <= 0.0 or isinstance(error, NoDecay):
                raise
            else:
                epsilon *= 0.1  # where rare large losses rule Chernoff's bound, the truth is far below it
            continue
        found, sums = _solve(line, epsilon, ceiling, log_delta)
        if sums.clarity > _LEAST_CLARITY:
            up, down = _errors(run, line, sums, found, plan, decay)
            if found > 0.0:  # what noise has left between the wanted delta and the one at the root
                up, down = (error + abs(sums.log_tail - log_delta) for error in (up, down))
            if math.isfinite(up + down) and (best is None or up < best[0]):
                best = up, _epsilon_ends(found, sums, log_delta, up, down)
            if up < _FINE_ERROR * min(abs(sums.slope) * found, 1.0) or (found == 0.0 and up < _FINE_ERROR):
                break
            # Another line is worth its time where aliases or cuts are what counts, or else where less would cancel on it.
            lost = plan.lost - plan.here.tilt * (found - epsilon) if down < 3.0 * up else math.inf
            epsilon = found
        else:
            epsilon *= 0.25  # the guess was so far out that nothing is left of the sums there
        saddle = delta_tangent(run, max(epsilon, 0.0), saddle.tilt)
        saddle = saddle._replace(tilt=min(saddle.tilt, below))
    if best is None or best[0] > _COARSEST_ANSWER:
        raise ConvergenceError("the contour did not settle.")
    return best[1], saddle.tilt


def _epsilon_ends(epsilon: float, sums: LineSums, log_delta: float, up: float, down: float) -> Interval:
    if epsilon == 0.0:
        if sums.log_tail + math.log1p(up) > log_delta:
            raise ConvergenceError("delta is too close to its value at epsilon 0.")
        return Interval(0.0, 0.0)
    rise = 1.0 / abs(sums.slope)
    upper = epsilon + 1.001 * rise * math.log1p(up) + 4e-16 * epsilon
    # Delta's logarithm is steeper to the right than to the left, where the lower end is.
    lower = epsilon + 1.05 * rise * math.log1p(-down) - 4e-16 * epsilon if down < _WIDEST_LOWER else 0.0
    return Interval(max(lower, 0.0), max(upper, 0.0))


def contour_delta(run: Composition, epsilon: float, guess: float | None = None) -> tuple[Interval, float]:
    """Delta at epsilon, and the tilt that was used."""
    saddle = delta_tilt(run, epsilon, guess)
    log_delta = float(chernoff_exponent(run, epsilon, np.array([saddle]))[0]) - 2.0
    best: tuple[float, Interval] | None = None
    for _ in range(5):
        plan = cheapest(run, saddle, epsilon, log_delta)
        line, decay = certified_line(run, plan.here, plan.period, _LOG_ERROR + 4.0)
        sums = line.at(epsilon)
        if sums.clarity > _LEAST_CLARITY:
            up, down = _errors(run, line, sums, epsilon, plan, decay)
            if math.isfinite(up + down) and (best is None or up < best[0]):
                tail = math.exp(sums.log_tail)
                upper = max(min(run.escaped + tail * (1.0 + up), 1.0), 5e-324)
                lower = run.escaped * (1.0 - 1e-14) + tail * (1.0 - min(down, 1.0))
                best = up, Interval(min(max(lower, 0.0), upper), upper)
            if up < _FINE_ERROR:
                break
            log_delta = min(log_delta, sums.log_tail)
        log_delta -= 3.0
    if best is None or best[0] > _COARSEST_ANSWER:
        raise ConvergenceError("the contour did not settle.")
    return best[1], saddle


class LinePlan(NamedTuple):
    """Where to put a line, the period that makes aliases small there, and cumulants at tilts beyond it, which bound them.

    ``lost`` is about how many digits, as a natural logarithm, cancel on the line.
    """

    here: Tangent
    period: float
    lost: float
    larger: Array
    cumulants: Array


def cheapest(run: Composition, saddle: float, epsilon: float, log_delta: float, below: float = math.inf) -> LinePlan:
    """The tilt, at the saddle or below, and ``below`` another one, with the shortest period.

    Where rare large losses make the cumulant explode beyond the saddle, aliases from the right would need a very long period;
    a little to the left they do not, and the digits that cancel there are few. How long the line must be is decided by the bulk
    of the losses, at every tilt; so the period decides.
    """
    # In steps of 0.04 of the logarithm, so that neighbouring questions share their work.
    tilts = math.exp(round(math.log(saddle) / 0.04) * 0.04) * _LADDER
    cumulants = run.cumulants(tilts)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        exponents = cumulants - tilts * epsilon - log_delta
        apart = tilts - tilts[_CANDIDATES, None]
        right = np.where(apart > 0.0, (exponents + _LOG_ERROR) / apart, np.inf)
        right = np.min(np.where(np.isfinite(right), right, np.inf), axis=1)
        period = np.maximum((_LOG_ERROR - log_delta) / tilts[_CANDIDATES], right)
        lost = exponents[_CANDIDATES] + log_corner(tilts[_CANDIDATES])
        score = np.log(period) + 0.05 * np.maximum(lost - 3.0, 0.0) ** 2
        score = np.where(tilts[_CANDIDATES] < 1.05 * below, score, np.inf)
    best = int(np.argmin(np.where(np.isfinite(score), score, np.inf)))
    if not math.isfinite(score[best]):
        raise ConvergenceError("the transform does not exist beyond the saddle.")
    place = best + _CANDIDATES.start
    (a, b, c), (low, middle, high) = tilts[place - 1 : place + 2].tolist(), cumulants[place - 1 : place + 2].tolist()
    before, after = (middle - low) / (b - a), (high - middle) / (c - b)
    variance = max(2.0 * (after - before) / (c - a), 1e-300) if math.isfinite(high) else 1e-300
    return LinePlan(
        Tangent(b, middle, 0.5 * (before + after), variance),
        float(period[best]),
        float(lost[best]),
        tilts[place + 1 :],
        cumulants[place + 1 :],
    )


def certified_line(run: Composition, here: Tangent, period: float, wanted: float) -> tuple[Line, float]:
    """A line of at least this period, so long that it has decayed by e^-wanted; and the bound that shows it."""
    if run.log_decay(here.tilt, math.inf) > -wanted:
        raise NoDecay("the transform does not decay.")
    step = 2.0 ** (math.floor(8.0 * math.log2(2.0 * math.pi / period)) / 8.0)
    decays: dict[int, float] = {}
    rung = math.ceil(12.0 * math.log2(math.sqrt(2.0 * wanted / here.variance))) + 1
    for _ in range(60):
        if 2.0 ** (rung / 12.0) / step > MOST_NODES:
            raise ConvergenceError("the transform decays too slowly for a contour.")
        decays[rung] = run.log_decay(here.tilt, 2.0 ** (rung / 12.0))
        following = _next_rung(decays, wanted)
        if following in decays:
            frequency = 2.0 ** (following / 12.0)
            return run.line(here.tilt, step, math.ceil(frequency / step) + 1), decays[following]
        rung = following
    raise ConvergenceError("the transform decays too slowly for a contour.")


def _next_rung(decays: dict[int, float], wanted: float) -> int:
    """The next frequency to look at, as a twelfth of an octave; one that is known already where that will do.

    The decay is like a power of the frequency, the second for Gaussians and less where losses are rare.
    """
    enough = min((rung for rung, decay in decays.items() if decay <= -wanted), default=None)
    short = max((rung for rung, decay in decays.items() if decay > -wanted), default=None)
    if short is None:
        assert enough is not None
        return enough if decays[enough] > -1.3 * wanted else enough - 3
    if enough is not None:
        if enough - short <= 2 or decays[enough] > -1.1 * wanted:
            return enough
        share = math.log(-wanted / min(decays[short], -1e-9)) / math.log(decays[enough] / min(decays[short], -1e-9))
        return min(short + math.ceil(share * (enough - short)), enough - 1)
    before = max((rung for rung in decays if rung < short), default=None)
    missing = math.log(wanted / max(-decays[short], 1e-9))
    power = 2.0
    if before is not None and decays[short] < decays[before] < 0.0:
        power = math.log(decays[short] / decays[before]) / ((short - before) * math.log(2.0) / 12.0)
    climb = math.ceil(12.0 * missing / (math.log(2.0) * min(max(power, 0.2), 2.0)))
    return short + min(max(climb, 1), 24)


def _solve(line: Line, epsilon: float, ceiling: float, log_delta: float) -> tuple[float, LineSums]:
    """Where the line's delta is the wanted one: 0 if it is smaller there already; clarity 0 if it cannot be told.

    Newton's method on the logarithm of delta; by false position from 0 on where that goes astray.
    """
    here = line.at(epsilon)
    for _ in range(30):
        if not here.slope < 0.0 or here.clarity < _CLEAR:
            break
        step = (log_delta - here.log_tail) / here.slope
        epsilon += step
        here = line.at(epsilon)
        if here.clarity >= _CLEAR and (abs(step) <= 1e-15 * abs(epsilon) or abs(log_delta - here.log_tail) < 2e-15):
            if epsilon >= 0.0:
                return epsilon, here
            break
    start = line.at(0.0)
    if start.clarity < _LEAST_CLARITY or start.log_tail <= log_delta:
        return 0.0, start

    def excess(x: float) -> float:
        sums = line.at(x)
        return sums.log_tail - log_delta if sums.clarity >= _LEAST_CLARITY else -1e3

    _, epsilon = falling_root(excess, 0.0, max(ceiling, 1e-300))
    found = line.at(epsilon)
    settled = found.clarity >= _LEAST_CLARITY and abs(found.log_tail - log_delta) < _COARSEST_ANSWER
    return epsilon, found if settled else replace(found, clarity=0.0)


def _errors(
    run: Composition, line: Line, sums: LineSums, epsilon: float, plan: LinePlan, decay: float
) -> tuple[float, float]:
    """By how much the truth may exceed the sum, and fall short of it, relatively."""
    up = cut_off(line, sums, decay) + _rounding(line, sums, epsilon)
    blurred = run.blur * math.exp(run.blur / 8.0) * sums.density  # see contour/blurred
    return up, aliases(plan, line.step, epsilon, sums.log_tail) + up + blurred * (1.0 + 1e-6)


def aliases(plan: LinePlan, step: float, epsilon: float, log_tail: float) -> float:
    """A bound on what the trapezoidal rule adds to the tail, relative to it."""
    tilt, period = plan.here.tilt, 2.0 * math.pi / step
    left = math.exp(min(-tilt * period - log_tail, 0.0))
    exponents = plan.cumulants - plan.larger * epsilon - (plan.larger - tilt) * period - log_tail
    return 1.5 * (left + math.exp(min(float(np.nanmin(exponents)), 0.0)))


def cut_off(line: Line, sums: LineSums, decay: float) -> float:
    """A bound on the rest of the line, of which every value is e^decay of the peak or less, relative to the sum."""
    length = line.step * (line.ratio.size - 1)
    log_size = sums.scale - sums.log_tail  # of M(c) e^(-c x) beside the tail
    return math.exp(min(decay + log_size - math.log(math.pi * length), 0.0)) * (1.0 + line.step / length)


def _rounding(line: Line, sums: LineSums, epsilon: float) -> float:
    """Errors of the peak's logarithm, and of the waves, which are relative to the sum of their sizes instead of the sum.

    A wave's phase is w epsilon, and the transform's about as large, for the mean of the tilted loss is about epsilon.
    """
    waves = line.error + 4e-15 * (1.0 + abs(epsilon) * line.tilt) + PHASE_ERROR * abs(epsilon) * line.frequency
    return waves * (1.0 + 1.0 / max(sums.clarity, 1e-300))
