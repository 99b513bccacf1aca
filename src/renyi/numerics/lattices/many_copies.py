"""The sum of very many copies of a nonnegative lattice variable with a heavy tail.

A Fourier transform adds noise to all masses, relative to the largest. A tilt makes it relative to the masses near a point; but
where a sum gets far by many moderate terms as well as by one rare large term, no tilt serves both. So terms are divided into a
*body*, below a cut, and *jumps*, sorted into levels. Sums without a jump are computed under several tilts, each used where its
noise is smallest. Sums whose largest jump is of level j are the difference of two powers, (A + m)^t - A^t with A the
transform of all below the level and m that of the level itself; it is formed before the inverse transform, so that its noise is
relative to the probability of such a jump. Level j lives on a lattice that is as much coarser as its jumps are larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from renyi.errors import ConvergenceError
from renyi.numerics.contours.power_sums import complex_log1p
from renyi.numerics.lattices.tilted_fft import LatticeLaw, log_moments, moments, tail_points, tilted_sum
from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Complex = NDArray[np.complex128]

_LOG_TAIL = -60.0
"""Log of the tilted mass that may wrap around a cyclic transform, and is added to its noise."""

_FFT_ERROR_PER_BIT = 1e-15
"""Error of a transform in the Euclidean norm, relative and per binary digit of its length (``tilted_fft``)."""

_JUMP_TILT = 5.0
"""The tilt of a level to the right, times its largest jump: masses grow by e^4 from its smallest jump to the largest."""

_LEFT_SPAN = -6.0
"""The distance, in standard deviations of what lies below a level, that its tilt to the left is for."""

_LONGEST_BELOW = 1_000_000
"""Points of the jumps of one sum in a law from below; sums with more jumps are left out."""

LONGEST = 5_000_000
"""Points of one transform: half a second, and some hundred megabytes."""

_MOST_JUMPS = 2000
"""Large summands at once, each a term of a sum over all frequencies: beyond, the split into small and large is of no use."""


@dataclass(frozen=True, slots=True)
class Level:
    """Masses e^``log_mass`` at whole ``place``s, which are multiples of ``step``."""

    place: Places
    log_mass: Array
    step: int


@dataclass(frozen=True, slots=True)
class PartialSum:
    """Masses of sums at ``place``s, moved up or down by their error."""

    place: Places
    log_mass: Array


_Tilted: TypeAlias = tuple[float, float, Places, Array]
"""A tilt c; the a of the noise e^(a - cx), without the tilt; places x, and the logs of their masses, without the tilt."""


@dataclass(frozen=True, slots=True)
class ManyCopies:
    """The sum of ``count`` copies of a variable whose body is the first of ``levels``.

    ``spans`` are distances from the mean of the body's sum, in its standard deviations, that tilts are chosen for: to the right
    of it where sums are wanted that are larger than usual, to the left where those are wanted that are smaller. ``upper`` says
    which way masses are moved by their error; levels are moved to coarser lattices outwards, which raises the mean of
    every convex function, and so must have equal steps for a law from below.
    """

    levels: Sequence[Level]
    count: int
    spans: Sequence[float]
    upper: bool

    @property
    def body(self) -> LatticeLaw:
        """The body, in units of its lattice."""
        first = self.levels[0]
        return LatticeLaw(first.place.astype(np.float64), first.log_mass, first.place, self.count)

    def parts(self) -> Iterator[PartialSum]:
        """The sums without a jump, then those of each level."""
        yield self._without_jumps()
        for level in range(1, len(self.levels)):
            if self.levels[level].place.size:
                yield self._with_jumps(level)

    def tilts(self) -> list[float]:
        """One for every span, in rising order."""
        here = moments([self.body], 0.0)
        spread = math.sqrt(max(here.variance, 1e-12))
        widest = 600.0 / max(float(self.levels[0].place[-1]), 1.0)
        return sorted(min(max(span / spread, -widest), widest) for span in self.spans)

    def log_tails(self, low: float, high: float) -> tuple[float, float]:
        """log of a bound on the mass of sums without a jump left of ``low``, and on the mean of those right of ``high``."""
        place, tilts = self.levels[0].place, self.tilts()
        steepest = max(abs(tilt) for tilt in tilts)
        left = min(_log_moment(self.body, c) - c * low for c in (-steepest, -0.5 * steepest, -0.25 * steepest))
        # x <= high e^((x - high)/high) for x >= high, so a tilt c bounds the mean like a tilt c - 1/high bounds the mass.
        right = min(
            _log_moment(self.body, c) - c * high + math.log(max(high, 1.0))
            for c in (steepest, 0.5 * steepest, 0.25 * steepest)
            if c > 1.0 / high or c == steepest
        )
        lowest, highest = (self.count * float(place[end]) for end in (0, -1))
        return -math.inf if low <= lowest else min(left, 0.0), -math.inf if high >= highest else right

    def ends(self) -> tuple[int, int]:
        """The places between which sums without a jump are held."""
        tilts = self.tilts()
        low, _ = tail_points([self.body], tilts[0], -50.0)
        _, high = tail_points([self.body], tilts[-1], -50.0)
        return max(math.floor(low), 0), math.ceil(high)

    def _without_jumps(self) -> PartialSum:
        law, (start, stop) = self.body, self.ends()
        if stop - start > LONGEST:
            raise ConvergenceError("the sum of so many copies spreads over too many places.")
        found = []
        for tilt in self.tilts():
            low, high = tail_points([law], tilt, _LOG_TAIL)
            length = scipy.fft.next_fast_len(max(int(high - low) + 4, 16), real=True)
            if length > LONGEST:
                raise ConvergenceError("the sum of so many copies needs too long a transform.")
            spend(2.0 * length)
            total = tilted_sum([law], 1.0, tilt, low - 1.0, length)
            first = total.centre + total.first
            noise = total.noise + math.exp(_LOG_TAIL)
            mass = total.mass + noise if self.upper else total.mass - noise
            relative = total.relative if self.upper else -total.relative
            place = np.arange(max(first, start), min(first + length, stop + 1), dtype=np.int64)
            with np.errstate(divide="ignore"):
                log_mass = np.log(np.maximum(mass[place - first], 0.0))
            log_mass = np.minimum(log_mass + (total.log_moment + relative - tilt * place), 0.0)
            found.append((tilt, math.log(noise) + total.log_moment, place, log_mass))
        return _least_noise(found, start, stop, self.upper)

    def _with_jumps(self, level: int) -> PartialSum:
        """Sums whose largest term is of a level, under a tilt towards those that are wanted."""
        step, jumps, count = self.levels[level].step, self.levels[level], self.count
        below = [_coarser(one, step) for one in self.levels[:level]]
        size = max(int(one[0][-1]) for one in below if one[0].size) + 1
        masses = np.zeros(size)
        for place, mass in below:
            masses[place] += mass  # places of one level are distinct
        at = jumps.place // step
        held = np.flatnonzero(masses > 0.0)
        tilt = _JUMP_TILT / float(at[-1])
        if max(self.spans) <= 0.0:
            spread = moments([LatticeLaw(held.astype(np.float64), _log(masses[held]), held, count)], 0.0).variance
            tilt = max(_LEFT_SPAN / math.sqrt(max(spread, 1e-12)), -_JUMP_TILT)
        log_under = _log(masses[held]) + tilt * held
        peak = float(np.max(log_under))
        one = peak + math.log(float(np.sum(np.exp(log_under - peak))))
        under = LatticeLaw(held.astype(np.float64), log_under - one, held, count)
        weight = np.exp(jumps.log_mass + tilt * at - one)
        jumped = float(np.sum(weight))
        # Far out a sum is large, so that less of its mass may be in the wrong place.
        log_tail = _LOG_TAIL - math.log(float(jumps.place[-1]))
        most = _most_jumps(jumped, count, log_tail)
        if not self.upper:
            most = min(most, max(_LONGEST_BELOW // int(at[-1]), 2), count)
        low = max(math.floor(tail_points([under], 0.0, log_tail)[0] + float(at[0]) - most * float(size)), 0)
        high = math.ceil(_right_end(under, log_tail) + most * float(at[-1]))
        length = scipy.fft.next_fast_len(max(high - low + 4, 16), real=True)
        if length > LONGEST:
            raise ConvergenceError("the sum of so many copies needs too long a transform.")
        spend(4.0 * length)
        mean = round(float(np.sum(np.exp(under.log_mass) * held)))
        base = scipy.fft.rfft(np.bincount((held - mean) % length, np.exp(under.log_mass), length))
        more = scipy.fft.rfft(np.bincount((at - mean) % length, weight, length))
        norm = _FFT_ERROR_PER_BIT * math.log2(length) * math.sqrt(length)
        error_base = norm * math.sqrt(float(np.sum(np.exp(2.0 * under.log_mass))))
        error_more = norm * float(np.linalg.norm(weight))
        sizes = np.abs(base) + np.abs(more) + (error_base + error_more)
        # Frequencies at which all powers are negligible are left out; most of them are, where copies are many.
        seen = np.flatnonzero(sizes > math.exp((log_tail - 10.0) / count))
        with np.errstate(all="ignore"):
            risen = _risen(base[seen], more[seen], count) if self.upper else _few(base[seen], more[seen], count, most)
            risen[~np.isfinite(risen)] = 0.0
            log_size = np.log(sizes[seen])
            power, least = np.exp((count - 1) * log_size), np.exp(max(count - 2, 0) * log_size)
        # The derivatives of the difference of powers, by the Cauchy-Schwarz inequality; rounding of logarithms; the inverse
        # transform; what wraps around. A frequency and its mirror image both count, hence the factors 2.
        noise = (
            count * error_more * math.sqrt(2.0 * float(np.sum(power * power))) / length
            + count * (count - 1.0) * jumped * error_base * math.sqrt(2.0 * float(np.sum(least * least))) / length
            + 16.0 * ULP * (count + 1) * 2.0 * float(np.sum(np.abs(risen))) / length
            + norm / math.sqrt(length) * math.sqrt(2.0 * float(np.sum(np.abs(risen) ** 2)) / length)
            + 2.0 * math.exp(log_tail)
        )
        shift = (low - count * mean) % length
        found = np.zeros(base.size, dtype=np.complex128)
        found[seen] = risen * np.exp((2.0j * math.pi / length) * (seen * shift % length))
        mass = scipy.fft.irfft(found, length, overwrite_x=True)
        mass = mass + noise if self.upper else mass - noise
        place = low + np.arange(length, dtype=np.int64)
        relative = count * ULP * (32.0 + 8.0 * _JUMP_TILT + 4.0 * abs(_LOG_TAIL)) * (1.0 if self.upper else -1.0)
        log_mass = np.minimum(_log(np.maximum(mass, 0.0)) + (count * one + relative - tilt * place), 0.0)
        return PartialSum(place * step, log_mass)


def _risen(base: Complex, more: Complex, count: int) -> Complex:
    """(base + more)^count - base^count, without cancellation where ``more`` is small."""
    ratio = more / base
    close = np.abs(ratio) < 0.5
    small = np.exp(count * np.log(base)) * np.expm1(count * complex_log1p(np.where(close, ratio, 0.0)))
    if close.all():
        return np.asarray(small, dtype=np.complex128)
    return np.where(close, small, np.exp(count * np.log(base + more)) - np.exp(count * np.log(base)))


def _few(base: Complex, more: Complex, count: int, most: int) -> Complex:
    """The terms of (base + more)^count with 1 to ``most`` factors ``more``."""
    total = np.zeros_like(base)
    for k in range(1, most + 1):
        total += math.comb(count, k) * more**k * np.exp((count - k) * np.log(base))
    return total


def _most_jumps(probability: float, count: int, log_tail: float) -> int:
    """A number of jumps that is exceeded with a negligible probability, which for n of them is at most (t p)^n/n!."""
    n, log_expected = 1, math.log(max(count * probability, 1e-300))
    while n < count and (n + 1) * log_expected - math.lgamma(n + 2.0) > log_tail:
        n += 1
        if n > _MOST_JUMPS:
            raise ConvergenceError("too many summands are large at once.")
    return n


def _right_end(law: LatticeLaw, log_tail: float) -> float:
    """A point right of which the sum lies with a negligible probability: Chernoff's bound, at tilts of all sizes."""
    top = max(float(law.x[-1]), 1.0)
    tilts = np.geomspace(0.02 / top, 200.0 / top, 10)
    ends = (log_moments([law], tilts) - log_tail) / tilts
    return min(float(np.min(ends)), law.count * top, tail_points([law], 0.0, log_tail)[1])


def _least_noise(found: Sequence[_Tilted], start: int, stop: int, upper: bool) -> PartialSum:
    """At every place the mass under the tilt whose noise is smallest there; the noise is e^(a - tilt x), a line each."""
    place = np.arange(start, stop + 1, dtype=np.int64)
    best = np.full(place.size, math.inf)
    result = np.full(place.size, math.inf if upper else -math.inf)
    for tilt, level, where, log_mass in found:
        if not where.size:
            continue
        inside = slice(int(where[0]) - start, int(where[-1]) - start + 1)
        noise = level - tilt * where
        better = noise < best[inside]
        best[inside] = np.where(better, noise, best[inside])
        result[inside] = np.where(better, log_mass, result[inside])
    known = np.isfinite(result) | (result == -math.inf)
    if upper and not known.all():
        raise ConvergenceError("some sums lie between the windows of all tilts.")
    return PartialSum(place[known], result[known])


def _coarser(level: Level, step: int) -> tuple[Places, Array]:
    """A level on a lattice of a larger step, in its units: a mass between two points is shared, so that its mean is kept."""
    mass = np.exp(level.log_mass)
    if level.step == step:
        return level.place // step, mass
    low = level.place // step
    share = (level.place - low * step) / step
    size = int(low[-1]) + 2 if low.size else 1
    total = np.bincount(low, mass * (1.0 - share), size) + np.bincount(low + 1, mass * share, size)
    place = np.flatnonzero(total > 0.0).astype(np.int64)
    return place, np.asarray(total[place], dtype=np.float64)


def _log_moment(law: LatticeLaw, tilt: float) -> float:
    return float(log_moments([law], np.array([tilt]))[0])


def _log(mass: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(mass)
