"""The dominating pair of a group of records under Poisson sampling with Gaussian noise: a mixture over how many are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.ratio_law import RatioLaw
from renyi.numerics.binomial import log_binomial_weight
from renyi.numerics.logspace import log1mexp, log_sum_exp
from renyi.numerics.normal_gaps import log_gap_above, log_gap_below
from renyi.numerics.rounding import ULP, raised
from renyi.sampling.poisson.banded import banded_divergence

Array = NDArray[np.float64]

LARGEST_GROUP = 1024
"""Largest group whose mixture is summed; larger groups are left to the general bound."""

_MOST_NODES = 2_000_000
"""Nodes of a law times the size of the group; orders that need more have no law here."""

_CELLS_AT_ONCE = 500_000
"""Terms in one array: larger arrays only take more memory."""


@dataclass(frozen=True, slots=True)
class GroupMixturePair(DominatingPair):
    """P = sum over j of Bin(k, q)(j) N(j, s^2) against Q = N(0, s^2), 0 < q < 1, k = ``size``; ``adding``, Q against P.

    Ganesh (2024), arXiv:2401.10294: tight for a group of k records whose contributions have norm at most 1. Among tests with
    the same Q-probability, none has a higher probability under any N(x, s^2), |x| <= j, than a half-line has under N(j, s^2).
    The same half-line serves all j, hence also their mixture, and the pair dominates. Records that all contribute the same
    vector of norm 1 attain it.
    """

    noise: float
    rate: float
    size: int
    adding: bool = False

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return -self._log_weight()[0] if self.adding else math.inf

    def reversed(self) -> GroupMixturePair:
        return GroupMixturePair(self.noise, self.rate, self.size, not self.adding)

    def profile_error(self, epsilon: float) -> float:
        # 4e-12 for the integrals of log_gap_*; the rest for rounding exponents of this size before they are exponentiated.
        size = self.size / self.noise + min(abs(epsilon), 1e6) * self.noise
        return 4e-12 + 64 * ULP * size * (1.0 + size)

    def log_profile(self, epsilon: Array) -> Array:
        flat = np.asarray(epsilon, dtype=np.float64).ravel()
        rows = max(1, _CELLS_AT_ONCE // self.size)
        parts = [self._log_profile_of(flat[start : start + rows]) for start in range(0, flat.size, rows)]
        return np.concatenate(parts).reshape(np.shape(epsilon)) if parts else np.empty(np.shape(epsilon))

    def _log_profile_of(self, epsilon: Array) -> Array:
        """log of the profile; at epsilon < 0 it is 1 - e^epsilon + e^epsilon times the reversed profile at -epsilon."""
        with np.errstate(all="ignore"):
            ahead, behind = (self._adding, self._removing) if self.adding else (self._removing, self._adding)
            low = np.abs(epsilon[epsilon < 0.0])
            result = np.empty(epsilon.shape)
            result[epsilon >= 0.0] = ahead(epsilon[epsilon >= 0.0])
            result[epsilon < 0.0] = np.logaddexp(log1mexp(low), behind(low) - low)
        return np.minimum(result, 0.0)

    def _removing(self, epsilon: Array) -> Array:
        """log of the integral of P - y Q, y = e^epsilon >= 1, right of the root w* of P/Q = y, with w = e^(z/s^2).

        There (P - y Q)/Q is sum_j a_j w*^j ((w/w*)^j - 1), a sum of positive terms.
        """
        root = self._root(np.logaddexp(np.log(np.expm1(epsilon)), math.log(-math.expm1(self._log_weight()[0]))))
        j, log_a = self._terms()
        gap = j / self.noise
        return log_sum_exp(log_a + j * root[:, None] + log_gap_above(self.noise * root[:, None], gap))

    def _adding(self, epsilon: Array) -> Array:
        """log of the integral of Q - y P left of the root w* of P/Q = 1/y; -inf if P/Q exceeds 1/y everywhere.

        There (Q - y P)/Q is y sum_j a_j w*^j (1 - (w/w*)^j), a sum of positive terms.
        """
        none = self._log_weight()[0]
        inside = -epsilon > none
        # log(e^-epsilon - (1-q)^k)
        reach = np.where(inside, -epsilon - none, 1.0)
        root = self._root(none + np.log(np.expm1(reach)))
        j, log_a = self._terms()
        gap = j / self.noise
        total = epsilon + log_sum_exp(log_a + j * root[:, None] + log_gap_below(self.noise * root[:, None], gap))
        return np.where(inside, total, -np.inf)

    def _root(self, log_value: Array) -> Array:
        """log w at which sum_(j>=1) a_j w^j has this logarithm, by Newton's method.

        The log of the sum is convex and rising in log w and each term alone is a lower bound on it, so the first guess lies
        right of the root and Newton's steps approach it monotonically.
        """
        j, log_a = self._terms()
        root = np.min((log_value[:, None] - log_a) / j, axis=1)
        for _ in range(200):
            term = log_a + j * root[:, None]
            total = log_sum_exp(term)
            slope = np.exp(term - total[:, None]) @ j
            step = (total - log_value) / slope
            root = root - step
            if not (np.abs(step) > 4 * ULP * (np.abs(root) + 1.0)).any():
                break
        return root

    def _log_weight(self) -> Array:
        """log Bin(k, q)(j) for j = 0, ..., k."""
        return log_binomial_weight(self.size, np.arange(self.size + 1.0), self.rate)

    def _terms(self) -> tuple[Array, Array]:
        """j = 1, ..., k and log a_j, with a_j = Bin(k, q)(j) e^(-j^2/(2 s^2))."""
        j = np.arange(1.0, self.size + 1.0)
        return j, self._log_weight()[1:] - 0.5 * (j / self.noise) ** 2

    def renyi(self) -> RenyiCurve:
        return RenyiCurve(
            partial(banded_divergence, self), limit=raised(self.max_loss, 0.0), max_order=self.largest_order
        )

    @property
    def largest_order(self) -> float:
        # Halve until the quadrature is affordable.
        order = 2.0**14
        while order > 1.0 and self._count(order) * self.size > _MOST_NODES:
            order /= 2.0
        return order if order > 1.0 else 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law by a trapezoidal rule, which converges geometrically.

        Multiplying the coefficients of (1 - q + q w)^k by e^(-c j^2) keeps its roots real and negative, so P/Q has no zero
        within pi s of the real line.
        """
        # Rounded up to a power of two, so that neighbouring orders share a cached law.
        order = 2.0 ** math.ceil(math.log2(max(max_order, 2.0)))
        log_weight, log_ratio = _law(self.noise, self.rate, self.size, self._step(order), self._count(order))
        law = RatioLaw(log_ratio, log_weight)
        return RatioLaw(-log_ratio, log_weight + log_ratio) if self.adding else law

    def _step(self, order: float) -> float:
        # Half the step at which the aliasing error is e^-37 = e^(-74/2): see ``real_step`` in gaussian/lattice.
        bend = math.hypot(0.5 * math.sqrt(self.size * order), self.noise)
        return min(0.3 * self.noise, 0.3, math.pi * self.noise / (math.sqrt(74.0) * bend))

    def _count(self, order: float) -> int:
        return 2 * math.ceil((10.0 + self.size * (order + 1.0) / self.noise) / self._step(order)) + 1


@lru_cache(maxsize=8)
def _law(noise: float, rate: float, size: int, step: float, count: int) -> tuple[Array, Array]:
    """Logs of the weights under Q and of the ratio P/Q at ``count`` points, ``step`` noises apart."""
    u = step * np.arange(-(count // 2), count // 2 + 1, dtype=np.float64)
    j = np.arange(size + 1.0)
    log_w = log_binomial_weight(size, j, rate)
    rows = max(1, _CELLS_AT_ONCE // size)
    parts = []
    for start in range(0, u.size, rows):
        x = j * (u[start : start + rows, None] - 0.5 * j / noise) / noise
        # log(sum w e^x) as log1p(sum w (e^x - 1)) where the ratio is near 1, so that small losses keep their digits.
        plain = log_sum_exp(log_w + x)
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.log1p(np.sum(np.exp(log_w) * np.expm1(np.minimum(x, 5.0)), axis=-1))
        parts.append(np.where((np.max(x, axis=-1) < 5.0) & (plain > -0.5), near, plain))
    return -0.5 * u * u + math.log(step / math.sqrt(2.0 * math.pi)), np.concatenate(parts)
