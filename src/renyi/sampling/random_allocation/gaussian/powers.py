"""E S^p for the mean S of t independent log-normal ratios, at complex powers p.

W = exp(x/sigma - 1/(2 sigma^2)), x standard normal, and S = (W_1 + ... + W_t)/t. For an integer m > Re p and a = m - p,

    E S^p = 1/Gamma(a) integral over u > 0 of u^(a-1) E[S^m e^(-uS)] du,

along any ray u = e^(Y + i theta), |theta| < pi/2. With the Poisson probabilities g_m(Y) of ``poisson_counts`` it is e^(i theta
a) m!/Gamma(a) times the integral of e^(-pY) g_m(Y) over Y. The trapezoidal rule with spacing h has, by Poisson summation,
the error

    sum over n != 0 of Gamma(a_n) e^(-i theta a_n) E S^(m - a_n),      a_n = a + 2 pi i n/h,

and |E S^p| <= E S^(Re p). What is left out at the ends is bounded by moments: for every real q < m,

    integral of e^(-pY) g_m(Y) over Y beyond Y_1 <= e^((q-p) Y_1) Gamma(m-q)/m! E S^q,

at the right end for q < p, at the left end for q > p. With theta close to a right angle the integrand falls as slowly as
Gamma(a) does for large Im a, so that little cancels; a line is divided into windows, each with its own ray.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import gammaln, loggamma

from renyi.errors import ConvergenceError
from renyi.numerics.rounding import ULP
from renyi.numerics.work import apart, spend
from renyi.sampling.random_allocation.gaussian.poisson_counts import Ray, counts_work, poisson_counts
from renyi.sampling.random_allocation.moments import RemoveMoments

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

LARGEST_POWER = 500.0
"""Largest real power: up to it moments at integers are known, which bound the others where there is no table."""

_SMALLEST_POWER = -4096.0
"""The most negative one: the points of its integral lie closer than a hundredth."""

MOST_LINE_WORK, _MOST_TABLE_WORK = 5e7, 6e6
"""Numbers that a line, and a table of real moments, may compute: half a second, and a tenth. What needs more is refused."""

_LOG_NEGLIGIBLE = 40.0
"""Minus the log of what may be left out, relative to the moment: e^-40 = 4e-18."""

_LOG_CONDITION = math.log(3.0)
"""Log of the sum of the absolute values over the value, up to which a ray serves."""

_LARGEST_ANGLE = 0.5 * math.pi - 2e-3
"""Closer to a right angle the points of a ray are too many."""

_REAL_ORDER = 4.0
"""m - p at real powers above -4: the larger, the fewer points, and the more terms."""

_ORDERS = 3.0, 0.25, 40.0
"""Of a window: the least m - p, its share of the lowest frequency, and the most. The larger it is, the wider the window and the
fewer its points; but the longer the polynomial, and the larger its rounding."""

_FARTHEST = 37.0
"""Standard deviations up to which the normal density is a normal number."""

_LOWER_POWERS = (1.0, 0.5, 0.0, -1.0, -2.0, -4.0, -8.0, -16.0, -32.0, -64.0, -128.0, -256.0, -1024.0, -8192.0)
"""Powers q whose moments bound what is left out at the right end of an integral."""

_SHARES = (0.03, 0.1, 0.25, 0.5, 0.75, 0.95)
"""Where those for the left end lie between p and m."""


@dataclass(frozen=True, slots=True)
class MeanOfRatios:
    """S, the mean of ``steps`` independent ratios of Gaussian ``noise``."""

    noise: float
    steps: int

    def log_moment_upper(self, power: float) -> float:
        """An upper bound on log E S^power.

        Below 0: S is at least the geometric mean, of which all moments are known. Above 1: the log-moment is convex and lies
        below the chord between its values at integers. Between, it is at most 0.
        """
        if power <= 0.0:
            return -power * (1.0 - power / self.steps) / (2.0 * self.noise**2)
        if power <= 1.0:
            return 0.0
        order = np.array([power])
        return float(_integer_moments(self)(order)[0]) * (power - 1.0) * (1.0 + 1e-10)

    def log_moments(self, power: Array) -> Array:
        """log E S^p at real p > 1 or p < 0, up to rounding beside 1.

        Where a table of it would take too long it is a bound from above, for p < 0 an infinite one.
        """
        result = np.full(power.shape, math.inf)
        block = np.sign(power) * np.ceil(np.log2(np.maximum(np.abs(power), 2.0)))
        for one in np.unique(block[(power <= LARGEST_POWER) & (power >= _SMALLEST_POWER)]).tolist():
            try:
                table = _real_table(self, math.copysign(2.0 ** abs(one), one))
            except ConvergenceError:
                table = None
            for place in np.flatnonzero(block == one):
                p = float(power[place])
                if table is not None:
                    result[place] = table.log_moment(p)
                elif p > 1.0:
                    result[place] = self.log_moment_upper(p)
        return result

    def reach(self, power: float) -> tuple[float, float]:
        """How far x must go to either side, for powers with this real part, for what is left out to be negligible.

        Some x_i lies outside with t times the probability that one does. For p > 0: x_i far left only makes S smaller, so
        E[S^p; x_i < -X] <= Pr[x_i < -X] E S^p. Far right, with S' the mean of the others, S^p is for every 0 < r < 1 at most
        r^(1-p) (W_i/t)^p + (1-r)^(1-p) S'^p (convexity); while E S^p is at least 1, t^(1-p) E W^p, and E (S'(t-1)/t)^p.

        For p < 0: x_i far right makes S^p smaller. Far left, S is at least the geometric mean; and also at least (1 - 1/t) S',
        and E S'^p is hardly more than E S^p where -p is small beside t: with Phi(u) = E e^(-uS), that of S' is at u (t-1)/t at
        most Phi(u) e^(u/(t-1)), and u of a few times -p matter.

        Raises ``ConvergenceError`` beyond ``_FARTHEST``, where densities underflow.
        """
        plain = _LOG_NEGLIGIBLE + 4.0 + math.log(self.steps)
        left = right = math.sqrt(2.0 * plain)
        if power > 1.0:
            right = min(self._right_reach(power, share, plain) for share in (0.5, 0.1, 0.5 / power))
        elif power < 0.0:
            share = -power / self.steps
            left = share / self.noise + math.sqrt(2.0 * (plain + self.log_moment_upper(power)))
            if share < 0.125:
                left = min(left, math.sqrt(2.0 * (plain + 1.0 + 8.0 * share)))
        if max(left, right) > _FARTHEST:
            raise ConvergenceError("moments of so high a power depend on densities that underflow.")
        return left, right

    def _right_reach(self, power: float, share: float, plain: float) -> float:
        """The reach to the right by the bound with r = ``share``."""
        log_one = 0.5 * power * (power - 1.0) / self.noise**2 - power * math.log(self.steps)  # log E (W/t)^p
        least = max(0.0, log_one + math.log(self.steps))  # log of a lower bound on E S^p
        jump = plain + log_one - (power - 1.0) * math.log(share) - least
        others = plain - (power - 1.0) * math.log1p(-share)
        far = power / self.noise + math.sqrt(2.0 * jump) if jump > 0.0 else 0.0
        return max(far, math.sqrt(2.0 * others))

    def ends(self, power: float, most: int, log_moment: float) -> tuple[float, float]:
        """Y between which the integral for a real power is complete but for what is negligible beside the moment."""
        log_whole = float(gammaln(most - power)) + log_moment - _LOG_NEGLIGIBLE
        low, high = -math.inf, math.inf
        for other in _LOWER_POWERS:
            if other < power:
                worth = float(gammaln(most - other)) + self.log_moment_upper(other)
                high = min(high, (worth - log_whole) / (power - other))
        for share in _SHARES:
            other = power + share * (most - power)
            worth = float(gammaln(most - other)) + self.log_moment_upper(other)
            if math.isfinite(worth):
                low = max(low, (log_whole - worth) / (other - power))
        if power < 1.0 and most == 0:
            low = max(low, (log_whole + math.log(-power)) / -power)  # q = m = 0: the integral of e^(-pY)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ConvergenceError("an integral over a ray has no end.")
        return low, high

    def line(self, power: float, log_moment: float, step: float, count: int) -> tuple[Complex, Array, float]:
        """E S^(power - i w)/e^``log_moment`` at w = 0, step, ..., a bound on the error of each value, and the work."""
        windows = []
        done, work = 0, 0.0
        while done < count:
            window = _Window.of(self, power, log_moment, step, done, count)
            work += window.work
            if work > MOST_LINE_WORK:
                raise ConvergenceError("a line of random allocation needs too many numbers.")
            windows.append(window)
            done = window.stop
        found = [window.moments() for window in windows]
        values, errors = (np.concatenate(rows) for rows in zip(*found, strict=True))
        return values, errors, work


def log_condition(order: float, frequency: float | Array, angle: float) -> Array:
    """log of Gamma(order) cos(angle)^-order/(|Gamma(order + i w)| e^(angle w)): what cancels on a ray where S is constant."""
    w = np.asarray(frequency, dtype=np.float64)
    size = np.real(loggamma(order + 1j * w))
    return np.asarray(gammaln(order) - order * math.log(math.cos(angle)) - size - angle * w, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Window:
    """Places ``first`` to ``stop`` of a line, on one ``ray``, with m = ``most``; ``period`` of its points are 2 pi/``step``."""

    mean: MeanOfRatios
    power: float
    log_moment: float
    step: float
    first: int
    stop: int
    most: int
    ray: Ray
    period: int

    @classmethod
    def of(cls, mean: MeanOfRatios, power: float, log_moment: float, step: float, first: int, count: int) -> _Window:
        """The steepest ray that serves the first frequency, and all that it serves."""
        low = step * first
        least, share, largest = _ORDERS
        most = max(math.ceil(power + min(max(share * low, least), largest)), 0)
        order = most - power
        # A ray of the angle atan(w/order) has the least condition at w, which grows with w.
        flat, steep = math.atan2(low, order), _LARGEST_ANGLE
        allowed = max(_LOG_CONDITION, float(log_condition(order, low, min(flat, steep))) + math.log(2.0))
        if float(log_condition(order, low, steep)) <= allowed:
            flat = steep
        for _ in range(40 if flat < steep else 0):
            angle = 0.5 * (flat + steep)
            flat, steep = (angle, steep) if float(log_condition(order, low, angle)) <= allowed else (flat, angle)
        angle = min(flat, math.atan2(step * (count - 1), order))
        w = step * np.arange(first, count, dtype=np.float64)
        served = (log_condition(order, w, angle) <= allowed) | (w <= order * math.tan(angle))
        stop = first + (int(np.argmin(served)) if not served.all() else served.size)
        stop = max(stop, first + 1)
        last = step * (stop - 1)
        beyond = max(last, 1.0)
        while float(log_condition(order, beyond, angle)) < _LOG_NEGLIGIBLE + allowed:
            beyond *= 1.05
        # Aliases lie 2 pi/h further on, or back, where Gamma falls by e^-(pi/2 + angle) per unit of frequency.
        around = max(beyond - low, last + (_LOG_NEGLIGIBLE + 4.0) / (0.5 * math.pi + angle))
        period = max(math.ceil(around / step), 4)
        spacing = 2.0 * math.pi / (step * period)
        start, end = mean.ends(power, most, log_moment)
        shift = -math.log(math.cos(angle))  # |g_m| on the ray is at most its real value, this far to the left
        begin = math.floor((start + shift) / spacing)
        ray = Ray(spacing, begin, math.ceil((end + shift) / spacing) - begin + 1, angle)
        return cls(mean, power, log_moment, step, first, stop, most, ray, period)

    @property
    def order(self) -> float:
        """m - p, the real part of a."""
        return self.most - self.power

    @property
    def work(self) -> float:
        """Numbers that it takes."""
        mean = self.mean
        return counts_work(mean.noise, mean.steps, self.ray, self.most, mean.reach(self.power)) + 30.0 * self.period

    def moments(self) -> tuple[Complex, Array]:
        """The moments of this window, relative to e^``log_moment``, and bounds on their errors."""
        mean, ray, period, angle = self.mean, self.ray, self.period, self.ray.angle
        counts = poisson_counts(mean.noise, mean.steps, ray, self.most, mean.reach(self.power))
        log_whole = self.log_moment + float(gammaln(self.order)) - float(gammaln(self.most + 1.0))
        log_scale = counts.log_scale + self.most * counts.log_stretch
        log_size = log_scale - self.power * ray.log_size - log_whole
        peak, value = float(np.max(log_size)), counts.rows[-1]
        scale = np.exp(log_size - peak)  # on a steep ray the terms are huge, and Gamma is small
        terms = scale * value
        if not np.all(np.isfinite(terms)):
            raise ConvergenceError("the counts on a ray overflow.")
        w = self.step * np.arange(self.first, self.stop, dtype=np.float64)
        log_gamma = np.asarray(loggamma(self.order + 1j * w), dtype=np.complex128) - float(gammaln(self.order))
        spend(30.0 * period)
        # The points of Y are multiples of h, so that the waves e^(iwY) are roots of unity: one transform gives all sums.
        places = np.arange(ray.first, ray.first + ray.count) % period
        folded = np.bincount(places, terms.real, period) + 1j * np.bincount(places, terms.imag, period)
        sums = scipy.fft.ifft(folded)[np.arange(self.first, self.stop) % period] * period
        turned = np.exp(peak - angle * w - log_gamma + 1j * angle * self.order)
        found = np.asarray(ray.spacing * turned * sums, dtype=np.complex128)
        # Rounding of the counts and of the sums is relative to their sizes, that of the Gamma function's phase to the value.
        size = float(np.sum(scale * (counts.error + 2.0 * ULP * math.log2(period) * np.abs(value))))
        error = (
            size * ray.spacing * np.abs(turned)
            + np.abs(found) * (2.0 * ULP * (np.abs(log_gamma) + 8.0))
            + np.exp(log_condition(self.order, w, angle)) * (6.0 * math.exp(-_LOG_NEGLIGIBLE))
            + self._aliases(w)
        )
        return found, error

    def _aliases(self, w: Array) -> Array:
        """The bound on the aliases, beside E S^p: sizes of Gamma(a_n) e^(theta Im a_n) relative to those at w."""
        around, angle = self.step * self.period, self.ray.angle
        here = np.real(loggamma(self.order + 1j * w)) + angle * w
        total = np.zeros(w.shape)
        for n in (1.0, 2.0, -1.0, -2.0):
            there = np.real(loggamma(self.order + 1j * (w + n * around))) + angle * (w + n * around)
            total += np.exp(np.minimum(there - here, 700.0))
        return 1.1 * total


@dataclass(frozen=True, slots=True, eq=False)
class _RealTable:
    """log of the Poisson probabilities of every count up to a largest one, on the real axis."""

    spacing: float
    y: Array
    log_count: Array

    def log_moment(self, power: float) -> float:
        """log E S^power."""
        most = max(math.ceil(power + _REAL_ORDER), 0)
        terms = self.log_count[most] - power * self.y
        peak = float(np.max(terms))
        total = math.log(float(np.sum(np.exp(terms - peak))) * self.spacing) + peak
        return total + math.lgamma(most + 1.0) - math.lgamma(most - power)


@lru_cache(maxsize=16)
def _integer_moments(mean: MeanOfRatios) -> RemoveMoments:
    """The moments at integer orders, whose table grows with the orders asked for."""
    slope = 0.5 / (mean.noise * mean.noise)
    return RemoveMoments(mean.steps, lambda order: slope * order)


@lru_cache(maxsize=64)
def _real_table(mean: MeanOfRatios, farthest: float) -> _RealTable:
    """A table for real powers from half of ``farthest``, or the nearest that is asked for, to ``farthest``."""
    powers = [0.5 * farthest if abs(farthest) > 2.0 else math.copysign(1e-3, farthest), 0.75 * farthest, farthest]
    if farthest == 2.0:
        powers[0] = 1.0
    counts_of = [max(math.ceil(power + _REAL_ORDER), 0) for power in powers]
    order = max(most - power for most, power in zip(counts_of, powers, strict=True))
    beyond = 20.0
    while float(log_condition(order, beyond, 0.0)) < _LOG_NEGLIGIBLE + 4.0:
        beyond *= 1.05
    spacing = 2.0 * math.pi / beyond
    bounds = [mean.ends(power, most, 0.0) for most, power in zip(counts_of, powers, strict=True)]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    first = math.floor(low / spacing)
    ray = Ray(spacing, first, math.ceil(high / spacing) - first + 1)
    reaches = [mean.reach(power) for power in powers]
    reach = max(left for left, _ in reaches), max(right for _, right in reaches)
    if counts_work(mean.noise, mean.steps, ray, max(counts_of), reach) > _MOST_TABLE_WORK:
        raise ConvergenceError("real moments of random allocation need too many numbers.")
    with apart(2.0 * _MOST_TABLE_WORK):
        counts = poisson_counts(mean.noise, mean.steps, ray, max(counts_of), reach)
    degree = np.arange(max(counts_of) + 1.0)[:, None]
    with np.errstate(divide="ignore"):
        log_count = np.log(np.maximum(counts.rows.real, 0.0)) + counts.log_scale + degree * counts.log_stretch
    return _RealTable(spacing, ray.log_size, log_count)
