"""How often a Poisson number whose mean is random takes a value, continued to complex means.

S is the mean of t independent ratios W = exp(x/sigma - 1/(2 sigma^2)), x standard normal. Given S, let N be a Poisson number
of mean u S: it is the sum of t independent numbers, each Poisson of mean u W/t. So the probabilities

    E[(u S)^k e^(-u S)]/k!,    k = 0, ..., m,

are the coefficients of the t-th power of the polynomial whose coefficients are the probabilities f_k of one of them. For
u = |u| e^(i theta) the factor u^k is replaced by |u|^k here. Nothing overflows: f_k is at most cos(theta)^-k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi.errors import ConvergenceError
from renyi.numerics.contours.power_sums import complex_log1p
from renyi.numerics.rounding import ULP
from renyi.numerics.work import spend

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Rows = TypeVar("Rows", Array, Complex)

_LOG_ALIASING = 60.0
"""Minus the log of the aliasing error of the rule in x. The counts are needed beside values far below 1, hence more than the
37 that rounding would justify; the number of points grows with its root only."""

_LARGEST_SHIFT = 1.5
"""Largest shift of the path of x, in units of its standard deviation: the weights grow by e^(1.5^2/2) = 3."""

_ROUNDINGS = 4.0
"""Units of 2^-52 by which a sum of terms is off, relative to the sum of their absolute values. Measured, not proved: a hundred
terms or more are added, and errors of both signs cancel mostly. Values by two different rays were seen to differ by up to a
seventh of the sum of their bounds."""

_LARGEST_EXPONENT = 680.0
"""Exponents beyond it are not formed: e^709 overflows, and products need some room."""

_LOG_FAINT = -60.0
"""Log of a coefficient that is negligible beside those of degree m, which are 1 or more when scaled."""

_BAND = 64
"""Columns of a banded matrix: a narrower one is copied more often, a wider one has more zeros."""

_NUMBERS_AT_ONCE = 1_000_000
"""Numbers in one array of Poisson terms: sixteen megabytes."""


@dataclass(frozen=True, slots=True)
class Ray:
    """Points u = e^(Y + i angle), Y = spacing * (first + j), j < count."""

    spacing: float
    first: int
    count: int
    angle: float = 0.0

    @property
    def log_size(self) -> Array:
        """Y, the logarithms of |u|."""
        return self.spacing * np.arange(self.first, self.first + self.count, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Counts:
    """Coefficients at each point, in rows by their degree n = 0, ..., m.

    The coefficient of degree n is e^(``log_scale`` + n ``log_stretch``) times ``rows[n]``; ``error`` is that of the last row.
    """

    rows: Complex
    log_scale: Array
    log_stretch: Array
    error: Array


def poisson_counts(noise: float, steps: int, ray: Ray, most: int, reach: tuple[float, float]) -> Counts:
    """All coefficients up to m = ``most``.

    ``reach`` is how far x has to go to the left and to the right, in standard deviations. An error e_k of f_k moves the
    coefficient by at most t times that of degree m in e(z) |f|(z)^(t-1), to first order.
    """
    one = _one_step(noise, steps, ray, most, reach)
    # Coefficients are like |u|^n/n!, which is scaled away: those of degree m are then neither huge nor tiny.
    stretch = ray.log_size - math.log(max(most, 1))
    shrink = _shrink(noise, steps, most, stretch)
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        f, size = one.f * shrink, one.size * shrink
        if steps > 2 * most + 2:
            # The power of f_0 keeps its digits through log1p where f_0 is near 1. The rest follows by a recurrence whose terms
            # are positive on the real axis because t + 1 >= n.
            near = np.abs(one.less) < 0.5
            first = np.where(near, 1.0 + one.less, one.f[0])
            log_first = steps * np.where(near, complex_log1p(np.where(near, one.less, 0.0)), np.log(first))
            held = np.abs(first) > 0.0
            first, scale = np.where(held, first, 1.0), np.where(held, log_first.real, -math.inf)
            rows = _power_by_recurrence(f / first, steps) * np.exp(1j * np.where(held, log_first.imag, 0.0))
            others = _power_by_recurrence(np.abs(f) / np.abs(first), steps - 1) / np.abs(first)
            off = np.where(near, one.less_size, size[0])
        else:
            rows, scale = _power_by_squaring(f, steps), np.zeros(ray.count)
            others = _power_by_squaring(np.abs(f), steps - 1) if steps > 1 else np.eye(most + 1, 1) * np.ones(ray.count)
            off = size[0]
        moved = steps * (off * others[-1] + np.sum(size[1:] * others[-2::-1], axis=0))
        error = _ROUNDINGS * ULP * (moved + (2.0 * most + math.log2(steps)) * np.sum(np.abs(f) * others[::-1], axis=0))
    if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(error))):
        raise ConvergenceError("the counts on a ray overflow.")
    return Counts(rows, scale, stretch, error)


def _shrink(noise: float, steps: int, most: int, stretch: Array) -> Array:
    """e^(-k stretch) by degree k; 0 where it overflows and f_k times it, which is at most E W^k (m/t)^k/k!, is negligible."""
    k = np.arange(most + 1.0)
    log_bound = 0.5 * k * (k - 1.0) / noise**2 + k * math.log(max(most, 1) / steps) - gammaln(k + 1.0)
    exponent = -k[:, None] * stretch
    huge = exponent > _LARGEST_EXPONENT
    if np.any(huge & (log_bound > _LOG_FAINT)[:, None]):
        raise ConvergenceError("the counts on a ray underflow.")
    return np.where(huge, 0.0, np.exp(np.where(huge, 0.0, exponent)))


@dataclass(frozen=True, slots=True)
class _OneStep:
    """f_k of one step; f_0 - 1; and the sums of the absolute values of their terms."""

    f: Complex
    less: Complex
    size: Array
    less_size: Array


def counts_work(noise: float, steps: int, ray: Ray, most: int, reach: tuple[float, float]) -> float:
    """About how many numbers ``poisson_counts`` computes."""
    return _Rule.of(noise, ray, most, reach).work * (most + 1.0) + _power_work(steps, ray, most)


def _power_work(steps: int, ray: Ray, most: int) -> float:
    """That of a power: one product of polynomials, or one for every binary digit, twice over with the error."""
    products = 1.0 if steps > 2 * most + 2 else 2.0 * steps.bit_length()
    return 0.6 * products * ray.count * (most + 1.0) ** 2


@dataclass(frozen=True, slots=True)
class _Rule:
    """A trapezoidal rule in x: ``left`` and ``right`` points of step ``width`` to both sides of 0.

    The path is lowered by i sigma ``turned``. All terms depend on Y + x/sigma alone, so they are computed once, on a lattice of
    step ``unit`` that holds the points of both: Y moves by ``finer`` of its places, x by ``stride``, of which one is 1.
    """

    turned: float
    width: float
    left: int
    right: int
    unit: float
    finer: int
    stride: int
    length: int

    @classmethod
    def of(cls, noise: float, ray: Ray, most: int, reach: tuple[float, float]) -> _Rule:
        turned = min(ray.angle, _LARGEST_SHIFT / noise)
        widest = _x_step(noise, ray.angle, turned, most)
        finer = math.ceil(noise * ray.spacing / widest)
        stride = int(widest / (noise * ray.spacing)) if finer == 1 else 1
        unit = ray.spacing / finer
        width = stride * noise * unit
        left, right = math.ceil(reach[0] / width), math.ceil(reach[1] / width)
        length = finer * (ray.count - 1) + 1 + stride * (left + right)
        return cls(turned, width, left, right, unit, finer, stride, length)

    @property
    def x(self) -> Array:
        return self.width * np.arange(-self.left, self.right + 1, dtype=np.float64)

    @property
    def work(self) -> float:
        """Numbers for one row of terms, which is computed, and of sums, which are matrix products: 0.3 ns a product."""
        nodes = self.left + self.right
        count = (self.length - self.stride * nodes) // self.finer
        return 1.5 * self.length + 0.03 * count * nodes

    def sums(self, terms: Rows, weight: Rows, count: int) -> Rows:
        """sum over j of weight_j terms[:, i finer + j stride], for i < count."""
        if self.stride == 1:
            # Nodes with the same remainder by ``finer`` meet terms with that remainder: a plain correlation each.
            phases = range(min(self.finer, weight.size))
            parts = [_correlated(terms[:, one :: self.finer], weight[one :: self.finer], count) for one in phases]
            return np.asarray(sum(parts[1:], parts[0]))
        # So do places with the same remainder by the stride.
        rows, blocks = terms.shape[0], -(-count // self.stride)
        wanted = (blocks + weight.size - 1) * self.stride
        padded = np.zeros((rows, wanted), dtype=terms.dtype)
        padded[:, : terms.shape[1]] = terms[:, :wanted]
        aside = padded.reshape(rows, -1, self.stride).transpose(0, 2, 1).reshape(-1, wanted // self.stride)
        result = _correlated(aside, weight, blocks)
        return result.reshape(rows, self.stride, blocks).transpose(0, 2, 1).reshape(rows, -1)[:, :count]


def _correlated(terms: Rows, weight: Rows, count: int) -> Rows:
    """sum over j of weight_j terms[:, i + j], for i < count: products of pieces of the rows with a banded matrix."""
    rows, nodes = terms.shape[0], weight.size
    wide = min(count, nodes, _BAND)
    pieces = -(-count // wide)
    padded = np.zeros((rows, pieces * wide + nodes - 1), dtype=terms.dtype)
    held = min(terms.shape[1], padded.shape[1])
    padded[:, :held] = terms[:, :held]
    band = np.zeros((wide + nodes - 1, wide), dtype=weight.dtype)
    for q in range(wide):
        band[q : q + nodes, q] = weight
    windows = np.lib.stride_tricks.sliding_window_view(padded, wide + nodes - 1, axis=1)[:, ::wide]
    return np.asarray((windows.reshape(rows * pieces, -1) @ band).reshape(rows, -1)[:, :count], dtype=terms.dtype)


def _one_step(noise: float, steps: int, ray: Ray, most: int, reach: tuple[float, float]) -> _OneStep:
    """The counts of one step, k = 0, ..., ``most``.

    A trapezoidal rule in x, on a path that is lowered by i sigma theta_1, so that W turns by -theta_1. The path may be moved
    on, to either side, as long as the angle of u W stays below a right one; this bounds aliasing by e^(b^2/2 - 2 pi tau/h),
    with b the distance from the real axis and tau that from the path. Of the counts, a larger angle also raises the bound, by
    the k-th power of the ratio of cosines.
    """
    rule = _Rule.of(noise, ray, most, reach)
    spend(rule.work * (most + 1.0) + _power_work(steps, ray, most))
    x, turned = rule.x, rule.turned
    weight = np.exp(-0.5 * x * x + (math.log(rule.width / math.sqrt(2.0 * math.pi)) + 0.5 * (noise * turned) ** 2))
    phased = weight * np.exp(1j * noise * turned * x)
    start = ray.spacing * ray.first - math.log(steps) - 0.5 / (noise * noise)
    before = rule.stride * rule.left
    z = start + rule.unit * np.arange(-before, rule.length - before)
    mean = np.exp(np.minimum(z, 600.0))
    turn = complex(math.cos(ray.angle - turned), math.sin(ray.angle - turned))
    log_fact = gammaln(np.arange(most + 1.0) + 1.0)
    one: Complex = np.empty((most + 1, ray.count), dtype=np.complex128)
    size = np.empty((most + 1, ray.count))
    with np.errstate(under="ignore", over="ignore"):
        wave = np.exp(-1j * mean * turn.imag)
        drop = np.expm1(-mean * turn)
        less = rule.sums(drop[None], phased, ray.count)[0]
        less_size = rule.sums(np.abs(drop)[None], weight, ray.count)[0]
        rows = max(1, _NUMBERS_AT_ONCE // (rule.length + 2 * rule.stride))
        for first in range(0, most + 1, rows):
            k = np.arange(first, min(first + rows, most + 1))
            terms = np.exp(k[:, None] * z - mean * turn.real - log_fact[k, None])
            size[k] = rule.sums(terms, weight, ray.count)
            one[k] = rule.sums(terms * wave, phased, ray.count) * np.exp(-1j * turned * k)[:, None]
    return _OneStep(one, less, size, less_size)


def _x_step(noise: float, theta: float, turned: float, most: int) -> float:
    """The widest step of x whose aliasing is e^-``_LOG_ALIASING``, over the distances tau by which the path may be moved."""
    widest = 0.0
    for sign in (1.0, -1.0):
        start = theta - turned
        angle = np.linspace(0.02, 0.98, 49) * (0.5 * math.pi - sign * start)  # by which the path turns W further
        tau = noise * angle
        distance = tau - sign * noise * turned
        beyond = np.abs(start + sign * angle)
        raised = most * np.maximum(np.log(math.cos(theta)) - np.log(np.cos(beyond)), 0.0)
        # Near a right angle the factor e^(-u W) is bounded by 1 only, which is not small where u is large.
        raised = raised + np.where(beyond > max(theta, 1.2), 20.0, 0.0)
        best = float(np.max(2.0 * math.pi * tau / (_LOG_ALIASING + 0.5 * distance * distance + raised)))
        widest = best if sign > 0.0 else min(widest, best)
    return widest


def _power_by_recurrence(ratio: Rows, steps: int) -> Rows:
    """Coefficients of (f/f_0)^t: g_n = sum over k of (k (t+1) - n)/n r_k g_(n-k), from f g' = t f' g."""
    result = np.zeros_like(ratio)
    result[0] = 1.0
    for n in range(1, ratio.shape[0]):
        k = np.arange(1.0, n + 1.0)
        factor = (k * (steps + 1.0) - n) / n
        result[n] = np.einsum("k,kj,kj->j", factor, ratio[1 : n + 1], result[n - 1 :: -1][:n])
    return result


def _power_by_squaring(one: Rows, steps: int) -> Rows:
    """Coefficients of f^t by repeated squaring."""
    total = one
    for digit in f"{steps:b}"[1:]:
        total = _product(total, total)
        if digit == "1":
            total = _product(total, one)
    return total


def _product(first: Rows, second: Rows) -> Rows:
    """The product of two polynomials at every point, cut at their degree."""
    result = np.zeros_like(first)
    for k in range(first.shape[0]):
        result[k] = np.einsum("kj,kj->j", first[: k + 1], second[k::-1])
    return result
