"""Renyi divergences of random allocation, in both directions: moments of a mean of independent likelihood ratios.

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
"""Largest order for removing, which takes a power of a polynomial with as many terms; beyond it only joint convexity is
used."""

LARGEST_ADD_ORDER = 4096.0
"""Largest order for adding: the rule in log u grows finer with the root of the order."""

MOST_STEPS = 2**50
"""Epochs with more steps are treated as having this many. That is an upper bound: the more steps, the less an epoch costs."""

_CELLS_AT_ONCE = 400_000
"""Terms in one array: larger arrays only take more memory."""

_MOST_TERMS = 8_000_000
"""Nodes of the law times points of a table; orders that need more are infinite here."""

_MINUS_LOG_SMALLEST_U = 25.0
"""Minus the log of the smallest u of a table: the integrand falls like u^2 towards 0, and e^-50 = 2e-22."""


class RemoveMoments:
    """D_alpha(P || Q) at real orders up to LARGEST_ORDER (infinite beyond), from the curve of one step.

    Feldman & Shenfeld (2025), arXiv:2502.08202, Corollary 6.2, as one coefficient: for integer alpha

        e^((alpha-1) D) = (alpha!/t^alpha) [z^alpha] ( sum_j E L^j z^j/j! )^t,      E L^j = e^((j-1) eps(j)).

    All coefficients are positive, so a bound eps(j) on each step gives an upper bound. Let f = e^z + g, with g the sum over j
    >= 2 of (E L^j - 1) z^j/j!, and let E_n = f^n - e^(nz) be the excess. It is computed in logarithms, by doubling, E_2n =
    E_n^2 + 2 E_n e^(nz), or, for many steps, by a recurrence. Nothing cancels, and a divergence of 1e-30 keeps its digits.
    Between integers the log-moment is convex and lies below its chord.
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
        """Compute the log-moments up to an order, in sizes that double so that a growing order does not repeat much work."""
        if order < self._moments.size:
            return
        size = min(LARGEST_ORDER, max(32, 2 ** math.ceil(math.log2(order)))) + 1
        values = self._curve(np.arange(2.0, size))
        finite = np.isfinite(values)
        most = size - 1 if finite.all() else 1 + int(np.argmin(finite))  # the polynomial ends where the curve does
        j = np.arange(most + 1.0)
        log_factorial = gammaln(j + 1.0)
        log_rise = np.full(most + 1, -math.inf)
        log_rise[2:] = log_expm1(j[1:-1] * values[: most - 1]) - log_factorial[2:]
        # The recurrence needs t >= n for its terms to be positive; doubling costs a product of polynomials per bit of t.
        if self.steps > most:
            product = _excess_by_recurrence(log_rise, values[: most - 1], self.steps, log_factorial)
        else:
            product = _excess_by_doubling(log_rise, self.steps, j, log_factorial)
        with np.errstate(invalid="ignore"):
            log_excess = product + log_factorial - j * math.log(self.steps)
        moments = np.maximum(np.logaddexp(0.0, log_excess), np.where(log_excess > -math.inf, TINY, 0.0))
        self._moments = np.concatenate([moments, np.full(size - moments.size, math.inf)])


def _excess_by_recurrence(log_rise: Array, values: Array, steps: int, log_factorial: Array) -> Array:
    """log of the coefficients of E_t, one after another, for t no less than the degree.

    E = f^t - e^(tz) satisfies f E' = t f' E + t (g' - g) e^(tz), because f' - f = g' - g. With f_0 = 1 the coefficients of z^n
    give

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


def _excess_by_doubling(log_rise: Array, steps: int, j: Array, log_factorial: Array) -> Array:
    """log of the coefficients of E_t, by repeated doubling."""
    total, power, count = log_rise, 1, steps
    product, done = np.full(log_rise.shape, -math.inf), 0
    while count:
        if count % 2:
            product = _excess_of_sum(product, done, total, power, j, log_factorial) if done else total
            done += power
        count //= 2
        if count:
            total, power = _excess_of_sum(total, power, total, power, j, log_factorial), 2 * power
    return product


def _excess_of_sum(first: Array, m: int, second: Array, n: int, j: Array, log_factorial: Array) -> Array:
    """E_(m+n) = E_m E_n + E_m e^(nz) + E_n e^(mz), as logarithms of coefficients."""
    with_first = np.logaddexp(second, j * math.log(n) - log_factorial)  # E_n + e^(nz)
    return np.logaddexp(
        _polynomial_product(first, with_first), _polynomial_product(second, j * math.log(m) - log_factorial)
    )


def _polynomial_product(first: Array, second: Array) -> Array:
    """The product of two polynomials, cut at the same degree."""
    size = first.size
    place = np.arange(size)
    other = place[:, None] - place
    terms = np.where(other >= 0, first + second[np.maximum(other, 0)], -math.inf)
    return log_sum_exp(terms)


class AddMoments:
    """D_alpha(Q || P) at real orders from 1 to LARGEST_ADD_ORDER, from the law under Q of one step's ratio.

        e^((alpha-1) D) = 1/Gamma(alpha-1) integral over u > 0 of u^(alpha-2) phi(u/t)^t,      phi(v) = E e^(-v L),

    because Y^(1-alpha) is the same integral of e^(-u Y), with Y = P/Q. The exponential is convex, so a dominating pair bounds
    phi from above at each step, whatever the earlier steps released. To keep the digits of a small divergence, 1, which is the
    same integral of e^-u, is subtracted under the integral: the integrand becomes u^(alpha-2) e^-u (e^(t log E e^(-v (L-1))) -
    1), v = u/t, with E e^(-v(L-1)) = 1 + E phi_2(-v(L-1)) and phi_2(y) = e^y - 1 - y, all positive. The trapezoidal rule in log
    u converges geometrically, and one table of phi serves many orders.
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
        """The divergence at one order."""
        table = self.table(order)
        if table is None:
            return math.inf
        log_u, log_rise = table
        s = order - 1.0
        log_integral = float(log_sum_exp(s * log_u + log_rise)) + math.log(float(log_u[1] - log_u[0]))
        if s == 0.0:
            return math.exp(log_integral)
        return float(np.logaddexp(0.0, log_integral - float(gammaln(s)))) / s

    def table(self, order: float) -> tuple[Array, Array] | None:
        """log u and log(phi(u/t)^t - e^-u), at nodes for orders up to the next power of 4; None if there are too many."""
        most = 4.0 ** math.ceil(math.log(max(order, 4.0), 4.0))
        if most not in self._tables:
            # The integrand in log u has a width of about 1/sqrt(order).
            step = min(0.1, 0.5 / math.sqrt(most))
            law = self._law(most)
            if law is None:
                self._tables[most] = None
                return None
            last = self._last(law, most)
            count = (last + _MINUS_LOG_SMALLEST_U) / step
            log_u = (
                None
                if law.log_ratio.size * count > _MOST_TERMS
                else step * np.arange(math.floor(-_MINUS_LOG_SMALLEST_U / step), count)
            )
            self._tables[most] = None if log_u is None else (log_u, self._log_rises(log_u, law))
        return self._tables[most]

    def _last(self, law: RatioLaw, order: float) -> float:
        """A log u beyond which u^(alpha-1) phi(u/t)^t is negligible; infinite if there is none up to 600."""
        grid = np.arange(0.0, 600.0, 2.0)
        if law.log_ratio.size * grid.size > _MOST_TERMS:
            return math.inf
        height = (order - 1.0) * grid + self.steps * self._log_phi(grid, law)
        height = np.nan_to_num(height, nan=math.inf)
        if np.isposinf(height).any():
            return math.inf
        enough = int(np.flatnonzero(height > float(np.max(height)) - 60.0)[-1]) + 1  # e^-60 of the peak is negligible
        return float(grid[enough]) if enough < grid.size else math.inf

    def _log_phi(self, log_u: Array, law: RatioLaw) -> Array:
        """log E e^(-u L/t)."""
        rows = max(1, _CELLS_AT_ONCE // max(law.log_ratio.size, 1))
        parts = []
        for start in range(0, log_u.size, rows):
            log_v = log_u[start : start + rows, None] - math.log(self.steps)
            parts.append(log_sum_exp(law.log_weight - np.exp(np.minimum(log_v + law.log_ratio, 700.0))))
        return np.concatenate(parts)

    def log_first(self, log_u: Array, law: RatioLaw) -> Array:
        """log phi(u/t)^t, with an error relative to its distance from -u where that is small."""
        u, log_phi = np.exp(np.minimum(log_u, 700.0)), self._log_phi(log_u, law)
        result = self.steps * log_phi
        near = np.flatnonzero((u < 30.0 * self.steps) & (result + u < 1.0))
        result[near] = self._near(u[near], law) - u[near]
        return result

    def _near(self, u: Array, law: RatioLaw) -> Array:
        """t log E e^(-v (L-1)), v = u/t, by the sum over phi_2: it keeps the digits that the difference to -u loses."""
        ratio, weight = np.exp(np.minimum(law.log_ratio, 700.0)), np.exp(law.log_weight)
        rows = max(1, _CELLS_AT_ONCE // max(ratio.size, 1))
        parts = [np.empty(0)]
        for start in range(0, u.size, rows):
            y = -(u[start : start + rows, None] / self.steps) * (ratio - 1.0)
            parts.append(self.steps * np.log1p(exp_remainder(y) @ weight))
        return np.concatenate(parts)

    def _log_rises(self, log_u: Array, law: RatioLaw) -> Array:
        """log of phi(u/t)^t - e^-u, the rise above the integrand of divergence 0."""
        u, log_phi = np.exp(np.minimum(log_u, 700.0)), self._log_phi(log_u, law)
        rise = self.steps * log_phi + u
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.where(rise > 0.0, self.steps * log_phi + log1mexp(np.maximum(rise, 0.0)), -math.inf)
        # Where v is moderate and the rise small, the sum over phi_2 keeps the digits that the difference above loses.
        near = np.flatnonzero((u < 30.0 * self.steps) & (rise < 1.0))
        with np.errstate(divide="ignore"):
            result[near] = log_expm1(self._near(u[near], law)) - u[near]
        return result
