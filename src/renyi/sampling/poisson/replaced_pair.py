"""The dominating pair for replacing one record by another under Poisson sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from renyi.laws.dots.dots import dots, excess, upper_masses
from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.ratio_law import RatioLaw, log_mixed
from renyi.numerics.logspace import log_expm1
from renyi.numerics.normal_gaps import log_gap_below
from renyi.numerics.rounding import ULP
from renyi.sampling.replacing.symmetric_pair import SymmetricPair

Array = NDArray[np.float64]

_GOLDEN_RATIO = 0.5 * (math.sqrt(5.0) - 1.0)
"""Factor by which a step of golden-section search shrinks the interval."""

_GOLDEN_STEPS = 60
"""Steps of the search for the best share: 0.618^60 = 3e-13 of the interval. Any share gives a bound, so it need not
converge."""

_LARGEST_DOTTED_LOSS = 40.0
"""Largest loss for which a law is made from evenly spaced points of the profile; a wider range would make it too coarse."""

_DOTS = 2000
"""Points of the profile on either side of loss 0; the law's divergences are then about a millionth too large."""

_MOST_NODES = 24_000
"""Nodes of a Gaussian law; orders that need more have no law here."""


def replaced_pair(remove: DominatingPair, replace: DominatingPair, rate: float) -> DominatingPair:
    """The replace-one pair of a Poisson sample, 0 < rate < 1: in closed form for Gaussians, otherwise the general bound."""
    if isinstance(remove, GaussianPair) and isinstance(replace, GaussianPair):
        # Shifts of 1 and 2: whichever pair is the worse for its shift decides.
        noise = min(remove.noise, 2.0 * replace.noise)
        if noise > 1e-100:
            return ReplacedGaussianPair(noise, rate)
    return ReplacedPair(remove, replace, rate)


@dataclass(frozen=True, slots=True)
class ReplacedPair(SymmetricPair):
    """(1-q) C + q A against (1-q) C + q B, where A has the old record, B the new one, and C neither.

    ``remove`` dominates A against C and ``replace`` dominates A against B. For y >= 1, a = (y-1)(1-q)/q and every share s in
    [0, 1], the profile is q times the integral of (A - a C - y B)_+ <= (s A - a C)_+ + ((1-s) A - y B)_+, hence at most

        q { s H_{a/s}(remove) + (1-s) H_{y/(1-s)}(replace) }.

    The least over s is used. It equals what a test would reach whose trade-offs against C and against B were both optimal
    (proof in docs/samplers/poisson.md). Where one family of nested tests is optimal against both, as for noise with a
    log-concave density on the line, it is attained.
    """

    remove: DominatingPair
    replace: DominatingPair
    rate: float

    @property
    def attained(self) -> bool:
        return False

    @property
    def max_loss(self) -> float:
        """With A <= e^m C and A <= e^n B: A <= a C + y B as soon as a e^-m + y e^-n >= 1, which is solved for y."""
        m, n = self.remove.max_loss, self.replace.max_loss
        if n <= 0.0:
            return 0.0
        log_weight = float(np.logaddexp(-m + math.log1p(-self.rate) - math.log(self.rate), -n))
        return float(np.logaddexp(0.0, math.log(-math.expm1(-n)) - log_weight))

    @property
    def infinite_mass(self) -> float:
        return self.rate * min(self.remove.infinite_mass, self.replace.infinite_mass)

    def profile_error(self, epsilon: float) -> float:
        return 4e-12

    def log_right(self, epsilon: Array) -> Array:
        log_a = log_expm1(epsilon) + math.log1p(-self.rate) - math.log(self.rate)

        def bound(logit: Array) -> Array:
            log_s, log_rest = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
            first = np.where(log_a > -np.inf, log_s + self.remove.log_profile(log_a - log_s), log_s)
            return np.asarray(np.logaddexp(first, log_rest + self.replace.log_profile(epsilon - log_rest)))

        # The bound is convex in the share; at equal levels a/s = y/(1-s) it is that of advanced joint convexity.
        centre = np.where(np.isfinite(log_a), log_a - epsilon, -60.0)
        # In logits of the share: beyond 40 the share or its complement is below 1e-17.
        low, high = np.minimum(centre - 30.0, -40.0), np.maximum(centre + 30.0, 40.0)
        one, two = high - _GOLDEN_RATIO * (high - low), low + _GOLDEN_RATIO * (high - low)
        at_one, at_two = bound(one), bound(two)
        best = np.minimum(bound(centre), self.replace.log_profile(epsilon))  # no share at all: A against B alone
        for _ in range(_GOLDEN_STEPS):
            best = np.minimum(best, np.minimum(at_one, at_two))
            left = at_one <= at_two
            low, high = np.where(left, low, one), np.where(left, two, high)
            new = np.where(left, high - _GOLDEN_RATIO * (high - low), low + _GOLDEN_RATIO * (high - low))
            value = bound(new)
            one, two = np.where(left, new, two), np.where(left, one, new)
            at_one, at_two = np.where(left, value, at_two), np.where(left, at_one, value)
        return np.where(epsilon > self.max_loss * (1.0 + 1e-13), -math.inf, math.log(self.rate) + best)

    @property
    def largest_order(self) -> float:
        return math.inf if self.max_loss < _LARGEST_DOTTED_LOSS else 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law whose profile connects points of this one from above: divergences are about a millionth too large."""
        return self._dotted

    @cached_property
    def _dotted(self) -> RatioLaw:
        """Masses at evenly spaced losses whose profile interpolates the pair's from above."""
        x = np.linspace(-self.max_loss, self.max_loss, 2 * _DOTS + 1) * (1.0 + 1e-12)
        masses = upper_masses(dots(x, excess(self, x)))
        kept = masses.log_p > -math.inf
        x, log_q = masses.x[kept], (masses.log_p - masses.x)[kept]
        if masses.behind > 0.0:
            x, log_q = np.append(x, -math.inf), np.append(log_q, math.log(masses.behind))
        return RatioLaw(x, log_q, masses.infinite)


@dataclass(frozen=True, slots=True)
class ReplacedGaussianPair(SymmetricPair):
    """(1-q) N(0, s^2) + q N(-1, s^2) against (1-q) N(0, s^2) + q N(1, s^2), s = ``noise``; 0 < q < 1.

    Lebeda, Regehr, Kamath & Steinke (2024), arXiv:2405.20769: the worst case of Gaussian noise under composition, in every
    dimension. It is the bound of ``ReplacedPair`` with shifts 1 and 2, because half-lines are the best tests against both laws;
    opposite records of norm 1 attain it.
    """

    noise: float
    rate: float

    @property
    def attained(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return math.inf

    def profile_error(self, epsilon: float) -> float:
        # 2e-12 for the integrals of log_gap_below; the rest for rounding exponents of this size before they are exponentiated.
        size = 2.0 / self.noise + min(abs(epsilon), 1e6) * self.noise
        return 2e-12 + 64 * ULP * size * (1.0 + size)

    def log_right(self, epsilon: Array) -> Array:
        """log of the profile: with w = e^(z/s^2), z measured from the mean of A, A - a C - y B is A (1 - a1 w - a2 w^2).

        It is positive up to a root w*, and there 1 - a1 w - a2 w^2 = a1 w* (1 - w/w*) + a2 w*^2 (1 - (w/w*)^2): two integrals
        of positive terms.
        """
        gap = 1.0 / self.noise
        log_one = log_expm1(epsilon) + (math.log1p(-self.rate) - math.log(self.rate)) - 0.5 * gap * gap
        log_two = epsilon - 2.0 * gap * gap
        # The positive root of 1 - a1 w - a2 w^2 as 2/(a1 + sqrt(a1^2 + 4 a2)), in which nothing cancels.
        log_root = math.log(2.0) - np.logaddexp(log_one, 0.5 * np.logaddexp(2.0 * log_one, math.log(4.0) + log_two))
        t = self.noise * log_root
        first = log_one + log_root + log_gap_below(t, np.full(t.shape, gap))
        second = log_two + 2.0 * log_root + log_gap_below(t, np.full(t.shape, 2.0 * gap))
        return math.log(self.rate) + np.logaddexp(first, second)

    @property
    def largest_order(self) -> float:
        order = 2.0**14
        while order > 1.0 and 2.0 * self._reach(order) / self._step(order) > _MOST_NODES:
            order /= 2.0
        return order if order > 1.0 else 0.0

    def ratio_law(self, max_order: float) -> RatioLaw:
        """The law by a trapezoidal rule: in units of the noise, the integrand is analytic within pi s of the real line."""
        step = self._step(max_order)
        count = math.ceil(self._reach(max_order) / step)
        u = step * np.arange(-count, count + 1, dtype=np.float64)
        gap = 1.0 / self.noise
        log_p = log_mixed(-gap * (u + 0.5 * gap), self.rate)
        log_q = log_mixed(gap * (u - 0.5 * gap), self.rate)
        return RatioLaw(log_p - log_q, log_q - 0.5 * u * u + math.log(step / math.sqrt(2.0 * math.pi)))

    def _step(self, order: float) -> float:
        # Half the step at which the aliasing error is e^-37 = e^(-74/2): see ``real_step`` in gaussian/lattice.
        bend = math.hypot(0.5 * math.sqrt(order), self.noise)
        return min(0.3 * self.noise, 0.3, math.pi * self.noise / (math.sqrt(74.0) * bend))

    def _reach(self, order: float) -> float:
        """Distance from 0 beyond which nothing of the integrand at this order matters: its peak is within 2 order/s."""
        return 10.0 + 2.0 * (max(order, 2.0) + 1.0) / self.noise
