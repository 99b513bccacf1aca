"""A mixture of shifted Gaussians against a centred one: several records of which a random number is drawn."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.banded import banded_divergence
from renyi.laws.ratio_law import RatioLaw
from renyi.numerics.logspace import log1mexp, log_sum_exp
from renyi.numerics.normal_gaps import log_gap_above, log_gap_below
from renyi.numerics.rounding import ULP, raised

Array = NDArray[np.float64]

_CELLS_AT_ONCE = 500_000
"""Terms in one array: larger arrays only take more memory."""

_LOG_ALIASING = 37.0
"""Minus the log of the aliasing error that a trapezoidal rule may have, relative to the result: e^-37 = 9e-17."""

_ANGLES = np.linspace(0.05, 1.5, 60)
"""Heights of the strip that are tried for the aliasing bound, as angles of the fastest term: below pi/2 no term turns away."""


class MixturePair(DominatingPair):
    """P = sum over j of w_j N(c_j, s^2) against Q = N(0, s^2); ``adding``, Q against P.

    Tight for contributions whose norm is at most c_j with probability w_j. Among tests with the same Q-probability, none has a
    higher probability under any N(x, s^2), |x| <= c, than a half-line has under N(c, s^2). The same half-line serves all
    shifts, hence also their mixture, and the pair dominates (Ganesh 2024, arXiv:2401.10294). Contributions that all point the
    same way attain it.
    """

    __slots__ = ()

    noise: float
    adding: bool

    most_nodes: ClassVar[int]
    """Nodes of a law times the number of shifts; orders that need more have no law here."""

    @property
    @abstractmethod
    def log_none(self) -> float:
        """log of the weight of the shift 0."""

    @abstractmethod
    def shifts_and_weights(self) -> tuple[Array, Array]:
        """The shifts above 0, in rising order, and the logs of their weights."""

    @abstractmethod
    def step(self, order: float) -> float:
        """Distance between the points of a trapezoidal rule for orders up to this one, in units of the noise."""

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return -self.log_none if self.adding else math.inf

    def profile_error(self, epsilon: float) -> float:
        # 4e-12 for the integrals of log_gap_*; the rest for rounding exponents of this size before they are exponentiated.
        size = self._largest / self.noise + min(abs(epsilon), 1e6) * self.noise
        return 4e-12 + 64 * ULP * size * (1.0 + size)

    def log_profile(self, epsilon: Array) -> Array:
        flat = np.asarray(epsilon, dtype=np.float64).ravel()
        rows = max(1, _CELLS_AT_ONCE // self.shifts_and_weights()[0].size)
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

        There (P - y Q)/Q is sum_j a_j w*^c_j ((w/w*)^c_j - 1), a sum of positive terms.
        """
        root = self._root(np.logaddexp(np.log(np.expm1(epsilon)), math.log(-math.expm1(self.log_none))))
        shift, log_a = self._terms()
        gap = shift / self.noise
        return log_sum_exp(log_a + shift * root[:, None] + log_gap_above(self.noise * root[:, None], gap))

    def _adding(self, epsilon: Array) -> Array:
        """log of the integral of Q - y P left of the root w* of P/Q = 1/y; -inf if P/Q exceeds 1/y everywhere.

        There (Q - y P)/Q is y sum_j a_j w*^c_j (1 - (w/w*)^c_j), a sum of positive terms.
        """
        none = self.log_none
        inside = -epsilon > none
        reach = np.where(inside, -epsilon - none, 1.0)
        root = self._root(np.where(inside, -epsilon, 0.0) + log1mexp(reach))
        shift, log_a = self._terms()
        gap = shift / self.noise
        total = epsilon + log_sum_exp(log_a + shift * root[:, None] + log_gap_below(self.noise * root[:, None], gap))
        return np.where(inside, total, -np.inf)

    def _root(self, log_value: Array) -> Array:
        """log w at which the sum of a_j w^c_j has this logarithm, by Newton's method.

        The log of the sum is convex and rising in log w and each term alone is a lower bound on it, so the first guess lies
        right of the root and Newton's steps approach it monotonically.
        """
        shift, log_a = self._terms()
        root = np.min((log_value[:, None] - log_a) / shift, axis=1)
        for _ in range(200):
            term = log_a + shift * root[:, None]
            total = log_sum_exp(term)
            slope = np.exp(term - total[:, None]) @ shift
            step = (total - log_value) / slope
            root = root - step
            if not (np.abs(step) > 4 * ULP * (np.abs(root) + 1.0)).any():
                break
        return root

    def _terms(self) -> tuple[Array, Array]:
        """The shifts c_j above 0 and log a_j, with a_j = w_j e^(-c_j^2/(2 s^2))."""
        shift, log_weight = self.shifts_and_weights()
        return shift, log_weight - 0.5 * (shift / self.noise) ** 2

    @property
    def _largest(self) -> float:
        return float(self.shifts_and_weights()[0][-1])

    def renyi(self) -> RenyiCurve:
        limit = raised(self.max_loss, 4 * ULP)
        return RenyiCurve(
            partial(_divergence, self, limit),
            limit=limit,
            max_order=self.largest_order if math.isinf(limit) else math.inf,
        )

    @property
    def largest_order(self) -> float:
        # Halve until the quadrature is affordable.
        order = 2.0**14
        while order > 1.0 and self._count(order) * self.shifts_and_weights()[0].size > self.most_nodes:
            order /= 2.0
        return order if order > 1.0 else 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law by a trapezoidal rule, which converges geometrically: P/Q has no zero near the real line."""
        # Rounded up to a power of two, so that neighbouring orders share a cached law.
        order = 2.0 ** math.ceil(math.log2(max(max_order, 2.0)))
        log_weight, log_ratio = _law(self.without_direction(), self.step(order), self._count(order))
        law = RatioLaw(log_ratio, log_weight)
        return RatioLaw(-log_ratio, log_weight + log_ratio) if self.adding else law

    def without_direction(self) -> MixturePair:
        """This pair, removing."""
        return self.reversed() if self.adding else self

    @abstractmethod
    def reversed(self) -> MixturePair:
        """See ``DominatingPair``."""

    def _count(self, order: float) -> int:
        return 2 * math.ceil((10.0 + self._largest * (order + 1.0) / self.noise) / self.step(order)) + 1


def _divergence(pair: MixturePair, limit: float, order: Array) -> Array:
    """The divergence at each order, where there is no law for it the largest loss."""
    return np.minimum(banded_divergence(pair, order), limit)


@dataclass(frozen=True)
class GaussianMixturePair(MixturePair):
    """The mixture with these shifts, all different and none negative, in rising order, and these weights, which sum to 1."""

    most_nodes: ClassVar[int] = 250_000

    noise: float
    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    adding: bool = False

    @property
    def log_none(self) -> float:
        if self.shifts[0] > 0.0:
            return -math.inf
        # A weight next to 1 has lost the digits of what is left of it.
        some = math.fsum(self.weights[1:])
        return math.log1p(-some) if some < 0.5 else math.log(self.weights[0])

    def shifts_and_weights(self) -> tuple[Array, Array]:
        first = int(self.shifts[0] == 0.0)
        return np.array(self.shifts[first:]), np.log(np.array(self.weights[first:]))

    def reversed(self) -> GaussianMixturePair:
        return GaussianMixturePair(self.noise, self.shifts, self.weights, not self.adding)

    def step(self, order: float) -> float:
        """Moved up by v noises, a term of shift c turns by the angle c v/s.

        Below a right angle all real parts are positive, so that r = P/Q has no zero, |r| <= r on the real line, and |r| >= r
        times the cosine of the largest angle. Powers of r up to ``order``, of either sign, so grow by at most that cosine to
        the power -``order``, and the normal density by e^(v^2/2); the aliases are e^(-2 pi v/h) of that.
        """
        v = _ANGLES * self.noise / self._largest
        log_growth = 0.5 * v * v - order * np.log(np.cos(_ANGLES)) + math.log(2.0)
        # Half of what the bound allows: the rule also serves divergences near 0, which are small beside the moment.
        return float(min(np.max(math.pi * v / (_LOG_ALIASING + log_growth)), 0.3))


@lru_cache(maxsize=8)  # a search over orders asks for the same few laws again and again
def _law(pair: MixturePair, step: float, count: int) -> tuple[Array, Array]:
    """Logs of the weights under Q and of the ratio P/Q at ``count`` points, ``step`` noises apart."""
    u = step * np.arange(-(count // 2), count // 2 + 1, dtype=np.float64)
    shift, log_w = pair.shifts_and_weights()
    if pair.log_none > -math.inf:
        shift, log_w = np.append(0.0, shift), np.append(pair.log_none, log_w)
    rows = max(1, _CELLS_AT_ONCE // shift.size)
    parts = []
    for start in range(0, u.size, rows):
        x = shift * (u[start : start + rows, None] - 0.5 * shift / pair.noise) / pair.noise
        # log(sum w e^x) as log1p(sum w (e^x - 1)) where the ratio is near 1, so that small losses keep their digits.
        plain = log_sum_exp(log_w + x)
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.log1p(np.sum(np.exp(log_w) * np.expm1(np.minimum(x, 5.0)), axis=-1))
        parts.append(np.where((np.max(x, axis=-1) < 5.0) & (plain > -0.5), near, plain))
    return -0.5 * u * u + math.log(step / math.sqrt(2.0 * math.pi)), np.concatenate(parts)
