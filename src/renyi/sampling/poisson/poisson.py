"""Poisson sampling: every record is drawn independently with the same probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.errors import UnsupportedError
from renyi.events.mechanism import Trend
from renyi.events.sampling import Laws, Sampling
from renyi.laws.curves.curve import CurveFunction, RenyiCurve
from renyi.laws.pair import DominatingPair, law_error
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Relation
from renyi.numerics.rounding import TINY, ULP, raised
from renyi.numerics.work import spend
from renyi.sampling.poisson.gaussian.renyi import SMALLEST_NOISE, sampled_gaussian_add, sampled_gaussian_remove
from renyi.sampling.poisson.general_bound import PoissonGeneralBound
from renyi.sampling.poisson.group_mixture_pair import LARGEST_GROUP, GroupMixturePair
from renyi.sampling.poisson.pair import PoissonPair
from renyi.sampling.poisson.replaced_pair import replaced_pair
from renyi.sampling.replacing.fixed_size_pair import FixedSizePair
from renyi.sampling.replacing.ternary_bound import ternary_curve, widest_curve

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Poisson(Sampling):
    """Each record enters the sample with probability ``rate``, independently of the others.

    The size of the sample is random; batches of a fixed size, shuffled or not, are another scheme with another cost.
    """

    words: ClassVar[str] = "on Poisson samples of rate {rate}"
    monotone = {"rate": Trend(rising=True)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "Poisson sampling: every record enters every draw independently with probability rate, and who was drawn stays secret",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Zhu & Wang (2019), PMLR 97, Theorem 6, as an upper bound by docs/poisson-general-bound.md",
        "Mironov, Talwar & Zhang (2019), arXiv:1908.10530v1, Theorems 4 and 5",
        "Zhu, Dong & Wang (2022), arXiv:2106.08567v4, Theorem 11",
        "replace-one: Lebeda, Regehr, Kamath & Steinke (2024), arXiv:2405.20769, and docs/samplers/poisson.md",
    )

    rate: float

    def __post_init__(self) -> None:
        check.fields(self, rate=check.rate)

    @classmethod
    def examples(cls) -> tuple[Poisson, ...]:
        return cls(0.001), cls(0.1), cls(0.9)

    def renyi(self, inner: Laws, relation: Relation) -> RenyiCurve:
        if self.rate == 0.0:
            return RenyiCurve.zero()
        if self.rate == 1.0:
            return inner.renyi(relation)
        if relation is Relation.REPLACE:
            return self._replaced(inner)
        base = inner.renyi(relation)
        opposite = inner.renyi(relation.opposite)
        pair = self._with_record(inner, relation)
        # A pair that equals its own reversal is exchanged by a measure-preserving map, and then removing costs at least
        # as much as adding, at every order: Mironov, Talwar & Zhang (2019), Theorem 5. A pair that stands for many says nothing
        # of the kind about each of them.
        covers = relation.record_first and pair is not None and pair.attained and pair.reversed() == pair
        exact = _exact(pair, self.rate, relation)
        general = PoissonGeneralBound(self.rate, partial(_larger, base, opposite))
        function = partial(_bound, self.rate, base, opposite, exact, general)
        return RenyiCurve(
            function,
            limit=self._limit(base.limit, relation),
            max_order=math.inf,
            mass=max(raised(self.rate * base.mass, 0.0), TINY) if base.mass else 0.0,
            covers_opposite=covers,
            kinked=exact is None or base.kinked or base.mass > 0.0,
        )

    def pair(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """Removing: the mixture against the law without the record; adding: the reverse; replacing: two mixtures."""
        if self.rate == 1.0:
            return inner.pair(relation)
        if relation is Relation.REPLACE:
            remove, replace = inner.pair(Relation.REMOVE), inner.pair(Relation.REPLACE)
            if remove is None or replace is None or self.rate == 0.0:
                return None
            # If leaving a record out costs the same as replacing it, one pair dominates any two of the three laws.
            return FixedSizePair(replace, self.rate) if remove == replace else replaced_pair(remove, replace, self.rate)
        base = self._with_record(inner, relation)
        if base is None:
            return None
        pair = PoissonPair(base, self.rate)
        return pair if relation.record_first else pair.reversed()

    def grouped_pair(self, inner: Laws, relation: Relation, size: int) -> DominatingPair | None:
        """A group of records, each drawn independently; for Gaussian noise a mixture over how many of them were drawn."""
        if relation is Relation.REPLACE or not 0.0 < self.rate < 1.0 or size > LARGEST_GROUP:
            return None
        base = inner.pair(relation)
        if not isinstance(base, GaussianPair) or base.noise < SMALLEST_NOISE:
            return None
        return GroupMixturePair(base.noise, self.rate, size, adding=not relation.record_first)

    def _with_record(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """The inner pair in the order (with the record, without it), whichever way the relation compares them."""
        pair = inner.pair(relation)
        return pair if pair is None or relation.record_first else pair.reversed()

    def _replaced(self, inner: Laws) -> RenyiCurve:
        """Replace-one: the bound involves three laws, with the old record, with the new one, and with neither."""
        replace, remove, add = (inner.renyi(one) for one in (Relation.REPLACE, Relation.REMOVE, Relation.ADD))
        if max(replace.mass, remove.mass, add.mass) > 0.0:
            raise UnsupportedError(
                f"{self} of an event with a failure mass has no theorem here for replace-one neighbours: "
                "ask for add-or-remove neighbours."
            )
        return ternary_curve(self.rate, replace, widest_curve(replace, remove, add), self.pair(inner, Relation.REPLACE))

    def _limit(self, limit: float, relation: Relation) -> float:
        """The divergence of infinite order: log(1 + q (e^e - 1)) removing, -log(1 - q (1 - e^-e)) adding; e is ``limit``."""
        # Beyond 600 the 1 is negligible and e^e would overflow; 1e-12 covers the rounding of the logarithm.
        if relation.record_first:
            grown = math.log1p(self.rate * math.expm1(limit)) if limit < 600.0 else limit + math.log(self.rate) + 1e-12
        else:
            grown = -math.log1p(self.rate * math.expm1(-limit))
        return max(raised(grown, 16 * ULP), TINY) if limit > 0.0 else 0.0


def _exact(pair: DominatingPair | None, rate: float, relation: Relation) -> CurveFunction | None:
    """The sampled pair's divergence, raised by its error, where it can be computed."""
    if pair is None:
        return None
    if isinstance(pair, GaussianPair):
        if pair.noise < SMALLEST_NOISE:
            return None
        sampled = sampled_gaussian_remove if relation.record_first else sampled_gaussian_add
        return partial(_gaussian_upper, partial(sampled, rate=rate, noise=pair.noise))
    return pair.sampled_divergence(rate, adding=not relation.record_first)


def _gaussian_upper(sampled: CurveFunction, order: Array) -> Array:
    """The sampled Gaussian's divergence, raised by its numerical error."""
    return raised(sampled(order), law_error(order))


def _larger(base: RenyiCurve, opposite: RenyiCurve, order: Array) -> Array:
    """The larger of both directions: the general bound needs a curve that bounds each."""
    return np.maximum(base(order), opposite(order))


def _bound(
    rate: float,
    base: RenyiCurve,
    opposite: RenyiCurve,
    exact: CurveFunction | None,
    general: PoissonGeneralBound,
    order: Array,
) -> Array:
    """The exact divergence where it is known, else the general bound; never above the caps.

    Joint convexity of the moment gives e^((alpha-1) D) <= 1 - q + q e^((alpha-1) base), hence also D <= base.
    """
    spend(20.0 * order.size, calls=25)
    s = order - 1.0
    unsampled = base(order)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moment = s * unsampled
        near = np.log1p(rate * np.expm1(np.minimum(moment, 600.0)))
        far = moment + (math.log(rate) + 1e-12)
        convex = np.where(s > 0.0, np.where(moment < 600.0, near, far) / s, rate * unsampled)
    cap = np.minimum(unsampled, np.where(unsampled > 0.0, np.maximum(raised(convex, 16 * ULP), TINY), 0.0))
    value = np.full(order.shape, np.inf) if exact is None else exact(order)
    unknown = np.isinf(value) & np.isfinite(cap) if exact is not None else np.ones(order.shape, dtype=bool)
    # Between integers the general bound needs the curve at the next integer, which a curve that ends earlier does not have.
    unknown &= order <= math.floor(min(base.max_order, opposite.max_order, 1e18))
    if unknown.any():
        value[unknown] = raised(general(order[unknown]), law_error(order[unknown]))
    return np.minimum(value, cap)
