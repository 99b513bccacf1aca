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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.numerics.contour import Line, Sums
from renyi.numerics.falling_root import falling_root
from renyi.numerics.minimise import bracket
from renyi.numerics.power_sums import complex_expm1, complex_log1p
from renyi.privacy.interval import Interval
from renyi.privacy.transform import CutTransform, GaussianTransform, LossTransform

Array = NDArray[np.float64]


MOST_NODES = 60_000

_SMALL = 33.0  # errors of e^-33 of the answer are asked for
_CUT_SMALL = 22.0  # and where a lump is left out, e^-22: lines are longer there
_FINE = 1e-10  # relative errors of delta below which no other tilt is tried
_COARSE = 1e-4  # and above which the answer is not given
_WIDE = 0.01  # and above which the lower end is not
_LARGER = np.array([1.2, 1.4, 1.7, 2.2, 3.0, 5.0])  # tilts for Chernoff's bound on the aliases, relative to the line's
_HERE_AND_LARGER = np.concatenate([[1.0], _LARGER])
_LADDER = 2.0 ** np.arange(-3.0, 3.1, 0.5)
_LARGEST_TILT = 1e7
_SMALLEST_TILT = 1e-6


@dataclass(frozen=True, slots=True)
class Composition:
    """Transforms with their counts, and the mass at infinite loss, which is kept apart."""

    parts: tuple[tuple[LossTransform, int], ...]
    escaped: float = 0.0
    blur: float = 0.0
    cuts: tuple[CutTransform, ...] = ()

    @property
    def small(self) -> float:
        """Errors of e^-small of the answer are asked for."""
        return _CUT_SMALL if self.cuts else _SMALL

    def blurred(self, blur: float) -> Composition:
        """The composition with a Gaussian release of squared reciprocal noise ``blur``."""
        return replace(self, parts=(*self.parts, (GaussianTransform(1.0 / math.sqrt(blur)), 1)), blur=blur)

    def cut(self, level: float) -> Composition | None:
        """The same without what consists of small losses only, in every part below ``level``; None where a part has no cut."""
        cuts = tuple(transform.cut(level) for transform, _ in self.parts)
        if any(cut is None for cut in cuts):
            return None
        return replace(self, cuts=tuple(cut for cut in cuts if cut is not None))

    def log_left_out(self, epsilon: float, tilt: float) -> float:
        """log of a bound on the delta of what a cut leaves out, by Chernoff's bound at a few large tilts."""
        if not self.cuts:
            return -math.inf
        tilts = tilt * np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0])
        total = -tilts * epsilon + _log_corner(tilts)
        for cut, (_, count) in zip(self.cuts, self.parts, strict=True):
            total += count * cut.below(tilts)
        return float(np.min(total))

    def cumulant(self, tilt: float) -> float:
        """log M of the whole."""
        return math.fsum(count * transform.cumulant(tilt) for transform, count in self.parts)

    def cumulants(self, tilt: Array) -> Array:
        """The same at several tilts, inf where a transform has no value."""
        total = np.zeros(tilt.shape)
        for transform, count in self.parts:
            total += count * transform.cumulants(tilt)
        return total

    def log_decay(self, tilt: float, frequency: float) -> float:
        """Bounds log |M/M(tilt)| at every higher frequency, of what is not left out."""
        if self.cuts:
            steps = math.fsum(
                count * math.exp(min(cut.log_above_decay(tilt, frequency) - transform.cumulant(tilt), 600.0))
                for cut, (transform, count) in zip(self.cuts, self.parts, strict=True)
            )
            # |M^T - A^T| <= (|A| + |S|)^T - |A|^T, and |A| <= M(tilt).
            return math.log(math.expm1(steps)) if steps < 600.0 else steps
        return math.fsum(count * transform.log_decay(tilt, frequency) for transform, count in self.parts)

    def line(self, tilt: float, step: float, nodes: int) -> Line:
        """The transform on a line."""
        if self.cuts:
            return self._cut_line(tilt, step, nodes)
        total = np.zeros(nodes, dtype=np.complex128)
        peak = 0.0
        for transform, count in self.parts:
            with np.errstate(invalid="ignore"):
                values = count * transform.line(tilt, step, nodes)
            peak += float(values[0].real)
            total += values - values[0].real
        if not np.all(np.isfinite(total)):
            raise ConvergenceError("the transform is not finite on the line.")
        with np.errstate(under="ignore"):
            ratio = np.exp(total)
            return Line(tilt, step, peak, ratio)

    def _cut_line(self, tilt: float, step: float, nodes: int) -> Line:
        """Of the product of M = A + S less the product of A."""
        peak = self.cumulant(tilt)
        below = np.full(nodes, -peak, dtype=np.complex128)
        above = np.zeros(nodes, dtype=np.complex128)
        for cut, (_, count) in zip(self.cuts, self.parts, strict=True):
            log_a, s = cut.lines(tilt, step, nodes)
            below = below + count * np.where(np.isfinite(log_a), log_a, np.inf)
            with np.errstate(invalid="ignore", over="ignore"):
                above += count * complex_log1p(s * np.exp(-log_a))
        if not (np.all(np.isfinite(below)) and np.all(np.isfinite(above))):
            raise ConvergenceError("the transform is not finite on the line.")
        with np.errstate(under="ignore"):
            return Line(tilt, step, peak, np.exp(below) * complex_expm1(above))

    def rounding(self, line: Line) -> float:
        """What the errors of the logarithms on a line make of its values, relatively."""
        nodes = line.ratio.size
        if not self.cuts:
            return math.fsum(
                count * transform.line_error(line.tilt, line.step, nodes) for transform, count in self.parts
            )
        total = 0.0
        for cut, (_, count) in zip(self.cuts, self.parts, strict=True):
            log_a, s = cut.lines(line.tilt, line.step, nodes)
            total += count * 1e-14 * (abs(complex(log_a[0])) + abs(complex(s[0])))
        return total


def epsilon_tilt(run: Composition, log_delta: float, guess: float | None = None) -> float:
    """The tilt at which Chernoff's bound on epsilon is smallest."""

    def chernoff(tilt: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            value = (run.cumulants(tilt) - log_delta + _log_corner(tilt)) / tilt
        return np.nan_to_num(value, nan=1e300, posinf=1e300)

    return _best_tilt(chernoff, guess or _gaussian_tilt(run, log_delta), float)


def delta_tilt(run: Composition, epsilon: float, guess: float | None = None) -> float:
    """The tilt at which Chernoff's bound on delta is smallest."""
    return _best_tilt(partial(_exponent, run, epsilon), guess or 1.0, lambda _: 1.0)


def log_chernoff_delta(run: Composition, epsilon: float, guess: float) -> float:
    """log of the smallest of a few of Chernoff's bounds on delta, at tilts from the guess on."""
    return float(np.min(_exponent(run, epsilon, guess * 2.0 ** np.arange(-1.0, 7.0))))


def tilted_range(run: Composition, tilt: float) -> tuple[float, float]:
    """The mean of the tilted loss, twelve standard deviations to both sides."""
    width = 0.02 * tilt
    low, middle, high = run.cumulants(tilt + width * np.array([-1.0, 0.0, 1.0]))
    mean = (high - low) / (2.0 * width)
    spread = 12.0 * math.sqrt(max((high - 2.0 * middle + low) / (width * width), 1e-300)) + 40.0 / (1.0 + tilt)
    return mean - spread, mean + spread


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
    saddle = epsilon_tilt(whole, log_delta, guess)
    epsilon = saddle_epsilon(whole, saddle, log_delta)
    ceiling = 1.01 * max(epsilon, (whole.cumulant(saddle) - log_delta) / saddle)
    best: tuple[float, Interval] | None = None
    tried: set[float] = set()
    for _ in range(7):
        tilt = _cheapest_tilt(whole, saddle, epsilon, log_delta)
        if tilt in tried and best is not None and best[0] < _COARSE:
            break
        tried.add(tilt)
        try:
            run = cut_for(whole, epsilon, tilt, log_delta) if cutting else whole
            line = _certified_line(run, tilt, epsilon, log_delta)
        except ConvergenceError:
            if best is not None:
                break
            if len(tried) > 3 or epsilon <= 0.0:
                raise
            epsilon *= 0.1  # where rare large losses rule Chernoff's bound, the truth is far below it
            continue
        found, sums = _solve(line, epsilon, ceiling, log_delta)
        if sums.clarity > 1e-11:
            up, down = _errors(run, line, sums, found)
            if found > 0.0:  # what noise has left between the wanted delta and the one at the root
                up, down = (error + abs(sums.log_tail - log_delta) for error in (up, down))
            if math.isfinite(up + down) and (best is None or up < best[0]):
                best = up, _epsilon_ends(found, sums, log_delta, up, down)
            if up < _FINE * min(abs(sums.slope) * found, 1.0) or (found == 0.0 and up < _FINE):
                break
            epsilon = found
        else:
            epsilon *= 0.25  # the guess was so far out that nothing is left of the sums there
        saddle = delta_tilt(whole, max(epsilon, 0.0), saddle)
    if best is None or best[0] > _COARSE:
        raise ConvergenceError("the contour did not settle.")
    return best[1], saddle


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
    log_delta = float(_exponent(whole, epsilon, np.array([saddle]))[0]) - 2.0
    best: tuple[float, Interval] | None = None
    for _ in range(5):
        tilt = _cheapest_tilt(whole, saddle, epsilon, log_delta)
        run = cut_for(whole, epsilon, tilt, log_delta) if cutting else whole
        line = _certified_line(run, tilt, epsilon, log_delta)
        sums = line.at(epsilon)
        if sums.clarity > 1e-11:
            up, down = _errors(run, line, sums, epsilon)
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


def _exponent(run: Composition, epsilon: float, tilt: Array) -> Array:
    """log of Chernoff's bound on delta at each tilt."""
    with np.errstate(invalid="ignore", over="ignore"):
        value = run.cumulants(tilt) - tilt * epsilon + _log_corner(tilt)
    return np.nan_to_num(value, nan=1e300, posinf=1e300)


def _log_corner(tilt: Array) -> Array:
    """log of tilt^tilt/(1 + tilt)^(1 + tilt): E (1 - e^(x-X))_+ is at most that times M(tilt) e^(-tilt x)."""
    return tilt * np.log(tilt) - (1.0 + tilt) * np.log1p(tilt)


def _gaussian_tilt(run: Composition, log_delta: float) -> float:
    """Where a Gaussian with the same cumulant at 1 has its best tilt."""
    one = run.cumulant(1.0)
    return math.sqrt(max(-log_delta, 0.1) / (0.5 * one)) if 0.0 < one < math.inf else 1.0


def _best_tilt(function: Callable[[Array], Array], guess: float, weight: Callable[[float], float]) -> float:
    """Where a function of the tilt, times ``weight`` in units of log delta, is smallest to within one unit."""
    guess = min(max(guess, 16.0 * _SMALLEST_TILT), _LARGEST_TILT / 16.0)
    points = guess * _LADDER
    for _ in range(30):
        values = function(points)
        best = int(np.argmin(values))
        if points.size == _LADDER.size and best in (0, points.size - 1):
            low, high = bracket(function, guess=guess, smallest=_SMALLEST_TILT, largest=_LARGEST_TILT)
            points = np.geomspace(low, high, 7)
            continue
        left, right = max(best - 1, 0), min(best + 1, points.size - 1)
        low, high = float(points[left]), float(points[right])
        if max(values[left], values[right]) - values[best] < 0.5 / weight(float(points[best])) or high < low * 1.0001:
            break
        points = np.geomspace(low, high, 7)
    return float(points[best])


def _quantised(tilt: float) -> float:
    """The nearest of the tilts that differ by a factor of 1.04, so that neighbouring questions share their work."""
    return math.exp(round(math.log(tilt) / 0.04) * 0.04)


def _cheapest_tilt(run: Composition, saddle: float, epsilon: float, log_delta: float) -> float:
    """The tilt, at the saddle or below, with the shortest line.

    Where rare large losses make the cumulant explode beyond the saddle, aliases from the right would need a very long period;
    a little to the left they do not, and the digits that cancel there are few.
    """
    if _right_period(run, saddle, epsilon, log_delta) * saddle < 2.0 * (run.small - log_delta):
        return _quantised(saddle)
    tilts: Array = saddle * 0.85 ** np.arange(8.0)
    with np.errstate(invalid="ignore", over="ignore"):
        near = run.cumulants((tilts[:, None] * _HERE_AND_LARGER).ravel()).reshape(tilts.size, -1)
        larger = tilts[:, None] * _LARGER
        right = (near[:, 1:] - larger * epsilon - log_delta + run.small) / (larger - tilts[:, None])
        period = np.maximum((run.small - log_delta) / tilts, np.nanmin(right, axis=1))
        lost = near[:, 0] - tilts * epsilon + _log_corner(tilts) - log_delta
        # How long the line must be is decided by the bulk of the losses, at every tilt; so the period decides.
        score = np.log(period) + 0.5 * np.maximum(lost - 3.0, 0.0)
    score = np.nan_to_num(score, nan=1e300, posinf=1e300)
    return _quantised(float(tilts[int(np.argmin(score))]))


def _variance(run: Composition, tilt: float) -> float:
    """The second derivative of the cumulant, roughly."""
    width = 0.02 * tilt
    low, middle, high = run.cumulants(tilt + width * np.array([-1.0, 0.0, 1.0]))
    return max((high - 2.0 * middle + low) / (width * width), 1e-300)


def saddle_epsilon(run: Composition, tilt: float, log_delta: float) -> float:
    """The epsilon at which the saddle-point formula with this tilt gives delta."""
    spread = _variance(run, tilt) + tilt**-2 + (1.0 + tilt) ** -2
    return (
        run.cumulant(tilt) - math.log(tilt * (1.0 + tilt)) - 0.5 * math.log(2.0 * math.pi * spread) - log_delta
    ) / tilt


def _certified_line(run: Composition, tilt: float, epsilon: float, log_delta: float) -> Line:
    """A line whose step and length make the two kinds of error small."""
    period = max((run.small - log_delta) / tilt, _right_period(run, tilt, epsilon, log_delta))
    step = 2.0 ** (math.floor(4.0 * math.log2(2.0 * math.pi / period)) / 4.0)
    wanted = run.small + 4.0
    rung = math.ceil(12.0 * math.log2(math.sqrt(2.0 * wanted / _variance(run, tilt))))
    for _ in range(60):
        frequency = 2.0 ** (rung / 12.0)
        if frequency / step > MOST_NODES:
            raise ConvergenceError("the transform decays too slowly for a contour.")
        decay = run.log_decay(tilt, frequency)
        if decay <= -wanted:
            return run.line(tilt, step, math.ceil(frequency / step) + 1)
        rung += min(max(math.ceil(6.0 * math.log2(wanted / max(-decay, 1e-9))), 1), 12)
    raise ConvergenceError("the transform decays too slowly for a contour.")


def _right_period(run: Composition, tilt: float, epsilon: float, log_delta: float) -> float:
    """The shortest period that makes the aliases from the right small, by Chernoff's bound at several larger tilts."""
    larger = tilt * _LARGER
    with np.errstate(invalid="ignore", over="ignore"):
        need = (run.cumulants(larger) - larger * epsilon - log_delta + run.small) / (larger - tilt)
    finite = need[np.isfinite(need)]
    if not finite.size:
        raise ConvergenceError("the transform does not exist beyond the saddle.")
    return float(np.min(finite))


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


def _errors(run: Composition, line: Line, sums: Sums, epsilon: float) -> tuple[float, float]:
    """By how much the truth may exceed the sum, and fall short of it, relatively."""
    period = 2.0 * math.pi / line.step
    left = math.exp(min(-line.tilt * period - sums.log_tail, 0.0))
    larger = line.tilt * _LARGER
    with np.errstate(invalid="ignore", over="ignore"):
        exponents = run.cumulants(larger) - larger * epsilon - (larger - line.tilt) * period - sums.log_tail
    right = math.exp(min(float(np.nanmin(exponents)), 0.0))
    length = line.step * (line.ratio.size - 1)
    log_size = sums.scale - sums.log_tail  # of M(c) e^(-c x) beside the tail
    decay = run.log_decay(line.tilt, length)
    cut = math.exp(min(decay + log_size - math.log(math.pi * length), 0.0)) * (1.0 + line.step / length)
    # Errors of the peak's logarithm, and of the waves, which are relative to the sum of their sizes instead of the sum.
    waves = run.rounding(line) + 4e-15 * (1.0 + abs(epsilon) * line.tilt)
    rounding = waves * (1.0 + 1.0 / max(sums.clarity, 1e-300))
    blurred = run.blur * math.exp(run.blur / 8.0) * sums.density
    up = cut + rounding + math.exp(min(run.log_left_out(epsilon, line.tilt) - sums.log_tail, 0.0))
    return up, 1.5 * (left + right) + cut + rounding + blurred * (1.0 + 1e-6)


def composition(parts: Sequence[tuple[LossTransform, int]], escaped: float = 0.0) -> Composition:
    """Transforms with positive counts, composed."""
    return Composition(tuple(parts), escaped)
