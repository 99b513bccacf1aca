"""Moments of a mean of independent likelihood ratios: what random allocation costs, in both directions.

With t steps, the record in one of them, and L_i the ratio of step i with the record to step i without it (independent under Q,
of mean 1), P/Q is the mean of L_1, ..., L_t.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi.laws.ratio_law import RatioLaw
from renyi.numerics.logspace import log1mexp, log_expm1, log_sum_exp
from renyi.numerics.remainder import exp_remainder
from renyi.numerics.rounding import TINY

Array = NDArray[np.float64]

LARGEST_ORDER = 512
"""Removing takes a power of a polynomial of as many terms as the order; beyond, only joint convexity is used."""

LARGEST_ADD_ORDER = 4096.0

MOST_STEPS = 2**50
"""Beyond, an epoch is taken for one of so many steps, which costs more: the more there are, the rarer is a record in one."""

_CELLS = 400_000  # terms at a time
_MOST_WORK = 8_000_000  # terms of a table
_FIRST = 25.0  # the rise falls like u^2 towards 0


class RemoveMoments:
    """D_alpha(P || Q) at real orders up to LARGEST_ORDER (infinite beyond), from the curve of one step.

    Feldman & Shenfeld (2025), arXiv:2502.08202, Corollary 6.2, as one coefficient: for integer alpha

        e^((alpha-1) D) = (alpha!/t^alpha) [z^alpha] ( sum_j E L^j z^j/j! )^t,      E L^j = e^((j-1) eps(j)).

    All coefficients are positive, so a bound eps(j) on each step gives an upper bound. With f = e^z + g, g the same sum over
    j >= 2 of E L^j - 1, what f^n exceeds e^(nz) by, E_n, is doubled by E_2n = E_n^2 + 2 E_n e^(nz), in logarithms, or, for
    many steps, found by a recurrence: nothing cancels, and a divergence of 1e-30 keeps its digits. Between integers the
    log-moment lies below its chord.
    """

    def __init__(self, steps: int, curve: Callable[[Array], Array]) -> None:
        self.steps, self._curve = min(steps, MOST_STEPS), curve
        self._moments: Array = np.zeros(2)  # (alpha - 1) D at alpha = 0, 1, 2, ...; that at 0 is not used

    def __call__(self, order: Array) -> Array:
        """The bound at each order."""
        result = np.full(order.shape, math.inf)
        known = order <= LARGEST_ORDER
        if known.any():
            asked = order[known]
            low = np.clip(np.floor(asked), 1, LARGEST_ORDER - 1).astype(np.int64)
            self._learn(int(low.max()) + 1)
            left, right, part = self._moments[low], self._moments[low + 1], asked - low
            with np.errstate(invalid="ignore"):
                chord = np.where(part == 0.0, left, (1.0 - part) * left + part * right)
                result[known] = np.where(low == 1, right, chord / np.maximum(asked - 1.0, TINY))
        return result

    def _learn(self, order: int) -> None:
        if order < self._moments.size:
            return
        size = min(LARGEST_ORDER, max(32, 2 ** math.ceil(math.log2(order)))) + 1
        values = self._curve(np.arange(2.0, size))
        finite = np.isfinite(values)
        most = size - 1 if finite.all() else 1 + int(np.argmin(finite))  # a curve that ends, ends the polynomial
        j = np.arange(most + 1.0)
        log_factorial = gammaln(j + 1.0)
        log_rise = np.full(most + 1, -math.inf)
        log_rise[2:] = log_expm1(j[1:-1] * values[: most - 1]) - log_factorial[2:]
        if self.steps > most:
            product = _powered(log_rise, values[: most - 1], self.steps, log_factorial)
        else:
            product = _doubled(log_rise, self.steps, j, log_factorial)
        with np.errstate(invalid="ignore"):
            log_excess = product + log_factorial - j * math.log(self.steps)
        moments = np.maximum(np.logaddexp(0.0, log_excess), np.where(log_excess > -math.inf, TINY, 0.0))
        self._moments = np.concatenate([moments, np.full(size - moments.size, math.inf)])


def _powered(log_rise: Array, values: Array, steps: int, log_factorial: Array) -> Array:
    """E_t for t no less than the degree, coefficient by coefficient.

    f E' = t f' E + t (g' - g) e^(tz), since f' - f = g' - g. With f_0 = 1 the coefficients of z^n give

        n E_n = sum over k >= 1 of (k (t+1) - n) f_k E_(n-k) + t sum over j of (j g_j - g_(j-1)) t^(n-j)/(n-j)!,

    all terms positive: t + 1 >= n, and j! (j g_j - g_(j-1))/j = E L^j - E L^(j-1) >= 0, because E L = 1.
    """
    size = log_rise.size
    j = np.arange(float(size))
    log_t = math.log(steps)
    log_moment = np.concatenate([[0.0, 0.0], j[1 : size - 1] * values])  # log E L^j
    log_f = np.logaddexp(log_rise, -log_factorial)
    with np.errstate(divide="ignore"):
        log_grown = log_moment[:-1] + log_expm1(np.maximum(np.diff(log_moment), 0.0)) - log_factorial[:-1]
    log_grown = np.concatenate([[-math.inf], log_grown])
    log_plain = j * log_t - log_factorial
    result = np.full(size, -math.inf)
    for n in range(2, size):
        weight = np.log(j[1 : n + 1] * (steps + 1.0) - n)
        terms = weight + log_f[1 : n + 1] + result[n - 1 :: -1][:n]
        fresh = log_t + log_grown[: n + 1] + log_plain[n::-1]
        result[n] = np.logaddexp(log_sum_exp(terms), log_sum_exp(fresh)) - math.log(n)
    return result


def _doubled(log_rise: Array, steps: int, j: Array, log_factorial: Array) -> Array:
    """E_t by repeated doubling."""
    total, power, count = log_rise, 1, steps
    product, done = np.full(log_rise.shape, -math.inf), 0
    while count:
        if count % 2:
            product = _joined(product, done, total, power, j, log_factorial) if done else total
            done += power
        count //= 2
        if count:
            total, power = _joined(total, power, total, power, j, log_factorial), 2 * power
    return product


def _joined(first: Array, m: int, second: Array, n: int, j: Array, log_factorial: Array) -> Array:
    """E_(m+n) = E_m E_n + E_m e^(nz) + E_n e^(mz), as logarithms of coefficients."""
    with_first = np.logaddexp(second, j * math.log(n) - log_factorial)  # E_n + e^(nz)
    return np.logaddexp(_product(first, with_first), _product(second, j * math.log(m) - log_factorial))


def _product(first: Array, second: Array) -> Array:
    """The product of two polynomials, cut at the same degree."""
    size = first.size
    place = np.arange(size)
    other = place[:, None] - place
    terms = np.where(other >= 0, first + second[np.maximum(other, 0)], -math.inf)
    return log_sum_exp(terms)


class AddMoments:
    """D_alpha(Q || P) at real orders from 1 to LARGEST_ADD_ORDER, from the law of the ratio of one step under Q.

        e^((alpha-1) D) = 1/Gamma(alpha-1) integral over u > 0 of u^(alpha-2) phi(u/t)^t,      phi(v) = E e^(-v L),

    because E Y^(1-alpha) is that integral of E e^(-u Y). The exponential is convex, so a dominating pair gives an upper bound
    on phi at each step, whatever the steps before it released. Minus 1, which is the same integral of e^-u, the integrand is
    u^(alpha-2) e^-u (e^(t log E e^(-v (L-1))) - 1) with E e^(-v(L-1)) = 1 + E phi_2(-v(L-1)), phi_2(y) = e^y - 1 - y: all
    positive. The trapezoidal rule in log u converges geometrically; one table of phi serves all orders.
    """

    def __init__(self, steps: int, law: Callable[[float], RatioLaw | None]) -> None:
        self.steps, self._law = min(steps, MOST_STEPS), law
        self._tables: dict[float, tuple[Array, Array] | None] = {}

    def __call__(self, order: Array) -> Array:
        """The divergence at each order; infinite where it would take too long."""
        result = np.full(order.shape, math.inf)
        for place in np.flatnonzero(order <= LARGEST_ADD_ORDER):
            result[place] = self._at(float(order[place]))
        return result

    def _at(self, order: float) -> float:
        table = self._table(order)
        if table is None:
            return math.inf
        log_u, log_rise = table
        s = order - 1.0
        log_integral = float(log_sum_exp(s * log_u + log_rise)) + math.log(float(log_u[1] - log_u[0]))
        if s == 0.0:
            return math.exp(log_integral)
        return float(np.logaddexp(0.0, log_integral - float(gammaln(s)))) / s

    def _table(self, order: float) -> tuple[Array, Array] | None:
        """log u, and log of phi(u/t)^t - e^-u, at nodes close enough for orders up to the next power of 4."""
        most = 4.0 ** math.ceil(math.log(max(order, 4.0), 4.0))
        if most not in self._tables:
            step = min(0.1, 0.5 / math.sqrt(most))
            law = self._law(most)
            if law is None:
                self._tables[most] = None
                return None
            last = self._last(law, most)
            count = (last + _FIRST) / step
            log_u = (
                None if law.log_ratio.size * count > _MOST_WORK else step * np.arange(math.floor(-_FIRST / step), count)
            )
            self._tables[most] = None if log_u is None else (log_u, self._log_rises(log_u, law))
        return self._tables[most]

    def _last(self, law: RatioLaw, order: float) -> float:
        """A log u beyond which u^(alpha-1) phi(u/t)^t is negligible; infinite if there is none up to 600."""
        grid = np.arange(0.0, 600.0, 2.0)
        if law.log_ratio.size * grid.size > _MOST_WORK:
            return math.inf
        height = (order - 1.0) * grid + self.steps * self._log_phi(grid, law)
        height = np.nan_to_num(height, nan=math.inf)
        if np.isposinf(height).any():
            return math.inf
        enough = int(np.flatnonzero(height > float(np.max(height)) - 60.0)[-1]) + 1
        return float(grid[enough]) if enough < grid.size else math.inf

    def _log_phi(self, log_u: Array, law: RatioLaw) -> Array:
        """log E e^(-u L/t)."""
        rows = max(1, _CELLS // max(law.log_ratio.size, 1))
        parts = []
        for start in range(0, log_u.size, rows):
            log_v = log_u[start : start + rows, None] - math.log(self.steps)
            parts.append(log_sum_exp(law.log_weight - np.exp(np.minimum(log_v + law.log_ratio, 700.0))))
        return np.concatenate(parts)

    def _log_rises(self, log_u: Array, law: RatioLaw) -> Array:
        u, log_phi = np.exp(np.minimum(log_u, 700.0)), self._log_phi(log_u, law)
        rise = self.steps * log_phi + u
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.where(rise > 0.0, self.steps * log_phi + log1mexp(np.maximum(rise, 0.0)), -math.inf)
        # Where v (L - 1) is not large the sum over phi_2 keeps the digits of a small rise.
        near = np.flatnonzero((u < 30.0 * self.steps) & (rise < 1.0))
        ratio, weight = np.exp(np.minimum(law.log_ratio, 700.0)), np.exp(law.log_weight)
        rows = max(1, _CELLS // max(ratio.size, 1))
        for start in range(0, near.size, rows):
            place = near[start : start + rows]
            y = -(u[place, None] / self.steps) * (ratio - 1.0)
            mean = exp_remainder(y) @ weight
            with np.errstate(divide="ignore"):
                result[place] = log_expm1(self.steps * np.log1p(mean)) - u[place]
        return result
