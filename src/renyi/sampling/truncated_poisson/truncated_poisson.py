"""Truncated Poisson sampling: Poisson samples cut to a largest size, for batches of a static shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.sampling import Laws, Sampling
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pair import DominatingPair
from renyi.laws.relation import Relation
from renyi.numerics.rounding import TINY, ULP, raised
from renyi.sampling.poisson.poisson import Poisson
from renyi.sampling.replacing.fixed_size_pair import FixedSizePair
from renyi.sampling.replacing.ternary_bound import ternary_curve, widest_curve
from renyi.sampling.truncated_poisson.truncated_pair import TruncatedPair
from renyi.sampling.truncated_poisson.widest_pair import widest_pair

Array = NDArray[np.float64]

_TAIL_ERROR = 1e-9
"""Relative error allowed for the tail of a binomial law, by which probabilities are moved to the safe side."""


@dataclass(frozen=True, slots=True)
class TruncatedPoisson(Sampling):
    """Each of ``dataset`` records is drawn with probability ``rate``; if more than ``batch`` are, a random ``batch`` are kept.

    This gives batches of a static shape: smaller ones are padded with blanks, which costs no privacy. The size of the dataset
    is public, so neighbours blank a record out or replace it.
    """

    words: ClassVar[str] = "on Poisson samples of rate {rate}, cut to at most {batch} of {dataset} records"
    assumptions: ClassVar[tuple[str, ...]] = (
        "truncated Poisson sampling: every record is drawn independently with probability rate, of more than batch a uniformly "
        "random set of batch is kept, who was drawn stays secret, and the size of the dataset is public",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Ganesh (2025), arXiv:2508.15089; proof in docs/samplers/truncated_poisson.md",
        *Poisson.references,
    )

    rate: float
    batch: int
    dataset: int

    def __post_init__(self) -> None:
        check.fields(self, rate=check.rate, batch=partial(check.whole, 0), dataset=partial(check.whole, 1))
        if self.dataset > 10**15:
            raise InvalidInput(f"dataset must be an integer from 1 to 10**15; got {self.dataset!r}.")

    @classmethod
    def examples(cls) -> tuple[TruncatedPoisson, ...]:
        return (cls(0.01, 20, 1000),)

    def renyi(self, inner: Laws, relation: Relation) -> RenyiCurve:
        if self.rate == 0.0 or self.batch == 0:
            return RenyiCurve.zero()
        self._expect(relation)
        usual = Poisson(self.rate)
        if self.batch >= self.dataset:
            return usual.renyi(inner, relation)
        share, rest, rate = self._parts()
        # Each two of the three laws must be covered: with the record, without it, and with another in its place.
        near = [inner.renyi(one) for one in {relation, relation.opposite}]
        replace = inner.renyi(Relation.REPLACE)
        if max(replace.mass, *(curve.mass for curve in near)) > 0.0:
            raise UnsupportedError(
                f"{self} of an event with a failure mass has no theorem here: use Poisson(rate=...)."
            )
        cut = ternary_curve(
            rate, widest_curve(*near), widest_curve(replace, *near), self._cut_pair(inner, relation, rate)
        )
        first = usual.renyi(inner, relation)
        return RenyiCurve(
            partial(_mixed, first, cut, share, rest),
            limit=max(first.limit, cut.limit),
            max_order=math.inf,
            covers_opposite=first.covers_opposite,
            kinked=True,
        )

    def pair(self, inner: Laws, relation: Relation) -> DominatingPair | None:
        """The Poisson pair if nothing is cut, mixed with the symmetric profile of a fixed-size sample if something is."""
        self._expect(relation)
        usual = Poisson(self.rate)
        if self.batch >= self.dataset:
            return usual.pair(inner, relation)
        if self.rate == 0.0 or self.batch == 0:
            return None
        share, rest, rate = self._parts()
        first, second = usual.pair(inner, relation), self._cut_pair(inner, relation, rate)
        return None if first is None or second is None else TruncatedPair(first, second, share, rest)

    def _cut_pair(self, inner: Laws, relation: Relation, rate: float) -> DominatingPair | None:
        """The pair of a cut sample, where a record that is not kept leaves its place to another: a replacement."""
        bases = [inner.pair(one) for one in (Relation.REPLACE, *{relation, relation.opposite} - {Relation.REPLACE})]
        known = [base for base in bases if base is not None]
        return FixedSizePair(widest_pair(*known), rate) if len(known) == len(bases) else None

    def _parts(self) -> tuple[float, float, float]:
        """Upper bounds on p, on 1 - p, and on the probability that the record is in the batch given p's event.

        p = Pr[Bin(n-1, q) >= B] is the probability that the other records fill the batch; the last of the three is B Pr[Bin(n,
        q) >= B + 1]/(n p). The tails are computed as incomplete beta functions, because SciPy's binomial law takes n as a
        machine integer, which wraps around.
        """
        n, batch, left = self.dataset, float(self.batch), float(self.dataset - self.batch)
        full, over = float(betainc(batch, left, self.rate)), float(betainc(batch + 1.0, left, self.rate))
        share = min(max(full * (1.0 + _TAIL_ERROR), TINY), 1.0)
        # Both tails may underflow; their quotient is then unknown, and 1 is safe.
        inside = self.batch * over / (n * full) * (1.0 + 2.0 * _TAIL_ERROR) if full > 1e-290 else 1.0
        # A record in the batch was drawn, with probability q, and then kept as one of B among at least B + 1.
        inside = min(inside, self.rate * self.batch / (self.batch + 1.0), math.nextafter(1.0, 0.0))
        rest = float(betaincc(batch, left, self.rate))
        return share, min(rest * (1.0 + _TAIL_ERROR), 1.0), max(inside, TINY)

    def _expect(self, relation: Relation) -> None:
        if relation in (Relation.REMOVE, Relation.ADD) and self.rate > 0.0 and self.batch > 0:
            raise UnsupportedError(
                f"{self} has no theorem here for the relation {relation.value}: its law depends on the size of the "
                "dataset, which must be public. Ask for adjacency=Adjacency.ZERO_OUT (or REPLACE_ONE); or use "
                "Poisson(rate=...) without a largest batch."
            )


def _mixed(usual: RenyiCurve, cut: RenyiCurve, share: float, rest: float, order: Array) -> Array:
    """Joint convexity: e^((alpha-1) D) is at most (1-p) times the one of ``usual`` plus p times that of ``cut``."""
    s, second = order - 1.0, cut(order)
    first = usual(order) if rest > 0.0 else np.zeros(order.shape)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # expm1 overflows at 709: for large moments the logarithms are added instead.
        top = s * np.maximum(first, second)
        near = np.log1p(rest * np.expm1(s * first) + share * np.expm1(s * second)) / s
        log_rest = math.log(rest) if rest > 0.0 else -math.inf
        far = np.logaddexp(s * first + log_rest, s * second + math.log(share)) / s
        value = np.where(s > 0.0, np.where(top < 300.0, near, far), rest * first + share * second)
    value = np.where(np.isnan(value), math.inf, value)
    return np.where(np.maximum(first, second) > 0.0, np.maximum(raised(value, 16 * ULP + 1e-13), TINY), 0.0)
