"""Exact composition by contour integration: cumulants add up, one integral gives delta.

The cost depends neither on the number of steps nor on how small delta is. Every error is bounded: the trapezoidal rule errs
upwards only, by two Chernoff terms; what is cut off of the line is bounded by the decay of the transforms
(``LossTransform.log_decay``); rounding is relative to the tilted mass.

Where the transforms do not decay fast enough, a tiny Gaussian release is composed with the run (``blur``, its squared
reciprocal noise v). That can only cost privacy, so the upper end stays an upper end. And delta D_u of the run with a blur u
satisfies dD_u/du = f_u/2, f_u the density of the loss; so with phi_u the normal density of variance u, and

    integral over u from 0 to v of phi_u(x) <= 2 v phi_v(x)      for every x

(equal at x = 0, and the ratio falls with |x|), D_v - D_0 <= v e^(v/8) f_v, where the factor is for the drift u/2 of the loss.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.composing.contour.composition import Composition, log_corner
from renyi.composing.contour.tilt import (
    Tangent,
    chernoff_exponent,
    delta_tangent,
    delta_tilt,
    epsilon_tangent,
    tangent,
    tangent_epsilon,
)
from renyi.errors import ConvergenceError
from renyi.laws.interval import Interval
from renyi.numerics.contours.contour import Line, Sums
from renyi.numerics.roots.falling_root import falling_root

Array = NDArray[np.float64]


MOST_NODES = 60_000

_SMALL = 33.0  # errors of e^-33 of the answer are asked for
_CUT_SMALL = 22.0  # and where a lump is left out, e^-22: lines are longer there
_ROUGH = 9.0  # and where it only is to be shown that another relation decides, e^-9
_FINE = 1e-10  # relative errors of delta below which no other tilt is tried
_COARSE = 1e-4  # and above which the answer is not given
_PHASE = 2.4e-14  # the relative error of a transform's logarithm, and of a wave's
_WIDE = 0.01  # and above which the lower end is not
# Tilts about the saddle for Chernoff's bound on the aliases; those from the second to the saddle itself may have the line.
_LADDER = np.exp(0.04 * np.array([-18, -15, -12, -9, -6, -3, 0, 2, 4, 7, 10, 14, 19, 26, 33, 40]))
_CANDIDATES = slice(1, 7)


def log_rough_delta(run: Composition, epsilon: float, tilt: float) -> float:
    """log of an upper bound on delta that a short line gives, for aliases only add to it."""
    here = tangent(run, tilt)
    expected = here.cumulant - tilt * epsilon + float(log_corner(np.array([tilt]))[0])
    line, decay = _certified_line(run, here, (_ROUGH - expected) / tilt, _ROUGH + 4.0)
    sums = line.at(epsilon)
    error = _cut_off(line, sums, decay) + _rounding(run, line, sums, epsilon)
    return sums.log_tail + math.log1p(error) if sums.clarity > 1e-7 and error < _WIDE else math.inf


def contour_epsilon(
    whole: Composition, delta: float, guess: float | None = None, cutting: bool = False
) -> tuple[Interval, float]:
    """Epsilon at delta, and the tilt that was used; raises ``ConvergenceError`` where the line would be too long.

    ``cutting`` leaves out the runs that consist of small losses only.
    """
    spent = delta - whole.escaped
    if spent <= 0.0:
        return Interval(math.inf, math.inf), 1.0
    log_delta = math.log(spent)
    saddle = epsilon_tangent(whole, log_delta, guess or 1.0)
    epsilon = tangent_epsilon(saddle, log_delta)
    ceiling = 1.01 * max(epsilon, (saddle.cumulant - log_delta) / saddle.tilt)
    small = _CUT_SMALL if cutting else _SMALL
    best: tuple[float, Interval] | None = None
    tried: set[float] = set()
    lost = math.inf
    for _ in range(7):
        plan = cheapest(whole, saddle.tilt, epsilon, log_delta, small)
        again = plan.here.tilt in tried
        if best is not None and best[0] < _COARSE and (again or plan.lost > lost - 1.0):
            break
        tried.add(plan.here.tilt)
        try:
            run = cut_for(whole, epsilon, plan.here.tilt, log_delta) if cutting else whole
            line, decay = _certified_line(run, plan.here, plan.period, _wanted(plan, cutting))
        except ConvergenceError:
            if best is not None:
                break
            if again or epsilon <= 0.0:
                raise
            epsilon *= 0.1  # where rare large losses rule Chernoff's bound, the truth is far below it
            continue
        found, sums = _solve(line, epsilon, ceiling, log_delta)
        if sums.clarity > 1e-11:
            up, down = _errors(run, line, sums, found, plan, decay)
            if found > 0.0:  # what noise has left between the wanted delta and the one at the root
                up, down = (error + abs(sums.log_tail - log_delta) for error in (up, down))
            if math.isfinite(up + down) and (best is None or up < best[0]):
                best = up, _epsilon_ends(found, sums, log_delta, up, down)
            if up < _FINE * min(abs(sums.slope) * found, 1.0) or (found == 0.0 and up < _FINE):
                break
            # Another line is worth its time where aliases or cuts are what counts, or else where less would cancel on it.
            lost = plan.lost - plan.here.tilt * (found - epsilon) if down < 3.0 * up and not cutting else math.inf
            epsilon = found
        else:
            epsilon *= 0.25  # the guess was so far out that nothing is left of the sums there
        saddle = delta_tangent(whole, max(epsilon, 0.0), saddle.tilt)
    if best is None or best[0] > _COARSE:
        raise ConvergenceError("the contour did not settle.")
    return best[1], saddle.tilt


def _epsilon_ends(epsilon: float, sums: Sums, log_delta: float, up: float, down: float) -> Interval:
    if epsilon == 0.0:
        if sums.log_tail + math.log1p(up) > log_delta:
            raise ConvergenceError("delta is too close to its value at epsilon 0.")
        return Interval(0.0, 0.0)
    rise = 1.0 / abs(sums.slope)
    upper = epsilon + 1.001 * rise * math.log1p(up) + 4e-16 * epsilon
    # Delta's logarithm is steeper to the right than to the left, where the lower end is.
    lower = epsilon + 1.05 * rise * math.log1p(-down) - 4e-16 * epsilon if down < _WIDE else 0.0
    return Interval(max(lower, 0.0), max(upper, 0.0))


def cut_for(run: Composition, epsilon: float, tilt: float, log_delta: float) -> Composition:
    """The composition with the highest cut that leaves out nothing that counts."""
    level = max(epsilon, 1e-12)
    for _ in range(24):
        attempt = run.cut(level)
        if attempt is None:
            break
        if attempt.log_left_out(epsilon, tilt) <= log_delta - _CUT_SMALL:
            return attempt
        level /= 1.6
    raise ConvergenceError("there is no lump of small losses to leave out.")


def contour_delta(
    whole: Composition, epsilon: float, guess: float | None = None, cutting: bool = False
) -> tuple[Interval, float]:
    """Delta at epsilon, and the tilt that was used."""
    saddle = delta_tilt(whole, epsilon, guess)
    log_delta = float(chernoff_exponent(whole, epsilon, np.array([saddle]))[0]) - 2.0
    small = _CUT_SMALL if cutting else _SMALL
    best: tuple[float, Interval] | None = None
    for _ in range(5):
        plan = cheapest(whole, saddle, epsilon, log_delta, small)
        run = cut_for(whole, epsilon, plan.here.tilt, log_delta) if cutting else whole
        line, decay = _certified_line(run, plan.here, plan.period, _wanted(plan, cutting))
        sums = line.at(epsilon)
        if sums.clarity > 1e-11:
            up, down = _errors(run, line, sums, epsilon, plan, decay)
            if math.isfinite(up + down) and (best is None or up < best[0]):
                tail = math.exp(sums.log_tail)
                upper = max(min(whole.escaped + tail * (1.0 + up), 1.0), 5e-324)
                lower = whole.escaped * (1.0 - 1e-14) + tail * (1.0 - min(down, 1.0))
                best = up, Interval(min(max(lower, 0.0), upper), upper)
            if up < _FINE:
                break
            log_delta = min(log_delta, sums.log_tail)
        log_delta -= 3.0
    if best is None or best[0] > _COARSE:
        raise ConvergenceError("the contour did not settle.")
    return best[1], saddle


class Plan(NamedTuple):
    """Where to put a line, the period that makes aliases small there, and cumulants at tilts beyond it, which bound them.

    ``lost`` is about how many digits, as a natural logarithm, cancel on the line.
    """

    here: Tangent
    period: float
    lost: float
    larger: Array
    cumulants: Array


def cheapest(run: Composition, saddle: float, epsilon: float, log_delta: float, small: float = _SMALL) -> Plan:
    """The tilt, at the saddle or below, with the shortest period.

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
        right = np.where(apart > 0.0, (exponents + small) / apart, np.inf)
        right = np.min(np.where(np.isfinite(right), right, np.inf), axis=1)
        period = np.maximum((small - log_delta) / tilts[_CANDIDATES], right)
        lost = exponents[_CANDIDATES] + log_corner(tilts[_CANDIDATES])
        score = np.log(period) + 0.05 * np.maximum(lost - 3.0, 0.0) ** 2
    best = int(np.argmin(np.where(np.isfinite(score), score, np.inf)))
    if not math.isfinite(score[best]):
        raise ConvergenceError("the transform does not exist beyond the saddle.")
    place = best + _CANDIDATES.start
    (a, b, c), (low, middle, high) = tilts[place - 1 : place + 2].tolist(), cumulants[place - 1 : place + 2].tolist()
    before, after = (middle - low) / (b - a), (high - middle) / (c - b)
    variance = max(2.0 * (after - before) / (c - a), 1e-300) if math.isfinite(high) else 1e-300
    return Plan(
        Tangent(b, middle, 0.5 * (before + after), variance),
        float(period[best]),
        float(lost[best]),
        tilts[place + 1 :],
        cumulants[place + 1 :],
    )


def _wanted(plan: Plan, cutting: bool) -> float:
    """How far a line must decay.

    What cancels on it makes rounding large too, and that as much; but the part that a cut keeps is tiny beside the whole.
    """
    return _CUT_SMALL + max(plan.lost, 4.0) if cutting else _SMALL + 4.0


def _certified_line(run: Composition, here: Tangent, period: float, wanted: float) -> tuple[Line, float]:
    """A line of at least this period, so long that it has decayed by e^-wanted; and the bound that shows it."""
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


def _solve(line: Line, epsilon: float, ceiling: float, log_delta: float) -> tuple[float, Sums]:
    """Where the line's delta is the wanted one: 0 if it is smaller there already; clarity 0 if it cannot be told.

    Newton's method on the logarithm of delta; by false position from 0 on where that goes astray.
    """
    here = line.at(epsilon)
    for _ in range(30):
        if not here.slope < 0.0 or here.clarity < 1e-7:
            break
        step = (log_delta - here.log_tail) / here.slope
        epsilon += step
        here = line.at(epsilon)
        if here.clarity >= 1e-7 and (abs(step) <= 1e-15 * abs(epsilon) or abs(log_delta - here.log_tail) < 2e-15):
            if epsilon >= 0.0:
                return epsilon, here
            break
    start = line.at(0.0)
    if start.clarity < 1e-11 or start.log_tail <= log_delta:
        return 0.0, start

    def excess(x: float) -> float:
        sums = line.at(x)
        return sums.log_tail - log_delta if sums.clarity >= 1e-11 else -1e3

    _, epsilon = falling_root(excess, 0.0, max(ceiling, 1e-300))
    found = line.at(epsilon)
    settled = found.clarity >= 1e-11 and abs(found.log_tail - log_delta) < _COARSE
    return epsilon, found if settled else replace(found, clarity=0.0)


def _errors(run: Composition, line: Line, sums: Sums, epsilon: float, plan: Plan, decay: float) -> tuple[float, float]:
    """By how much the truth may exceed the sum, and fall short of it, relatively."""
    cut = _cut_off(line, sums, decay)
    rounding = _rounding(run, line, sums, epsilon)
    blurred = run.blur * math.exp(run.blur / 8.0) * sums.density
    up = cut + rounding + math.exp(min(run.log_left_out(epsilon, line.tilt) - sums.log_tail, 0.0))
    return up, aliases(plan, line.step, epsilon, sums.log_tail) + cut + rounding + blurred * (1.0 + 1e-6)


def aliases(plan: Plan, step: float, epsilon: float, log_tail: float) -> float:
    """A bound on what the trapezoidal rule adds to the tail, relative to it."""
    tilt, period = plan.here.tilt, 2.0 * math.pi / step
    left = math.exp(min(-tilt * period - log_tail, 0.0))
    exponents = plan.cumulants - plan.larger * epsilon - (plan.larger - tilt) * period - log_tail
    return 1.5 * (left + math.exp(min(float(np.nanmin(exponents)), 0.0)))


def _cut_off(line: Line, sums: Sums, decay: float) -> float:
    """A bound on the rest of the line, of which every value is e^decay of the peak or less, relative to the sum."""
    length = line.step * (line.ratio.size - 1)
    log_size = sums.scale - sums.log_tail  # of M(c) e^(-c x) beside the tail
    return math.exp(min(decay + log_size - math.log(math.pi * length), 0.0)) * (1.0 + line.step / length)


def _rounding(run: Composition, line: Line, sums: Sums, epsilon: float) -> float:
    """Errors of the peak's logarithm, and of the waves, which are relative to the sum of their sizes instead of the sum.

    A wave's phase is w epsilon, and the transform's about as large, for the mean of the tilted loss is about epsilon.
    """
    waves = run.rounding(line) + 4e-15 * (1.0 + abs(epsilon) * line.tilt) + _PHASE * abs(epsilon) * line.frequency
    return waves * (1.0 + 1.0 / max(sums.clarity, 1e-300))
