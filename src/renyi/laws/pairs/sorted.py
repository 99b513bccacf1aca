"""A pair with many atoms, held as arrays in the order of their losses: its profile is looked up, not summed anew."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from renyi.laws.pair import DominatingPair
from renyi.laws.pairs.finite import FiniteLossPair
from renyi.laws.ratio_law import RatioLaw
from renyi.numerics.logspace import log_expm1

Array = NDArray[np.float64]

MOST_ATOMS = 4000
"""Of a pair whose products are enumerated."""


@dataclass(frozen=True, eq=False)
class SortedPair(DominatingPair):
    """Masses of P at rising losses, ``infinite`` of P where Q has nothing, ``behind`` of Q where P has nothing."""

    x: Array
    log_p: Array
    infinite: float = 0.0
    behind: float = 0.0
    attained: bool = True

    @property
    def max_loss(self) -> float:
        return math.inf if self.infinite > 0.0 else float(self.x[-1])

    def reversed(self) -> SortedPair:
        origin = self.__dict__.get("_origin", _nothing)()
        return self._mirror if origin is None else origin

    @cached_property
    def _mirror(self) -> SortedPair:
        mirror = SortedPair(
            -self.x[::-1],
            (self.log_p - self.x)[::-1],
            self.behind,
            self.infinite,
            self.attained,
        )
        mirror.__dict__["_origin"] = weakref.ref(self)  # a third copy is not needed, nor a circle that nobody frees
        return mirror

    @cached_property
    def _tails(self) -> tuple[Array, Array]:
        """log of Q's mass from each loss on, and of D there.

        From the right, D grows by the Q-mass behind times the step in y: sums of positive terms.
        """
        # In place: half a million losses are four megabytes, and this is where memory is largest.
        tail = np.subtract(self.log_p, self.x)
        np.logaddexp.accumulate(tail[::-1], out=tail[::-1])
        value = np.empty_like(tail)
        value[-1] = math.log(self.infinite) if self.infinite > 0.0 else -math.inf
        grown = value[:-1]
        np.subtract(self.x[:-1], self.x[1:], out=grown)
        np.expm1(grown, out=grown)
        np.negative(grown, out=grown)
        with np.errstate(divide="ignore"):
            np.log(grown, out=grown)
        grown += tail[1:]
        grown += self.x[1:]
        np.logaddexp.accumulate(value[::-1], out=value[::-1])
        return tail, value

    def log_profile(self, epsilon: Array) -> Array:
        tail, value = self._tails
        place = np.searchsorted(self.x, epsilon, side="right")
        at = np.minimum(place, self.x.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.logaddexp(value[at], tail[at] + epsilon + log_expm1(np.maximum(self.x[at] - epsilon, 0.0)))
        return np.minimum(np.where(place < self.x.size, inside, value[-1]), 0.0)

    @property
    def infinite_mass(self) -> float:
        return self.infinite

    @property
    def largest_order(self) -> float:
        return math.inf

    def ratio_law(self, max_order: float) -> RatioLaw:
        x, log_q = self.x, self.log_p - self.x
        if self.behind > 0.0:
            x, log_q = np.append(x, -math.inf), np.append(log_q, math.log(self.behind))
        return RatioLaw(x, log_q, self.infinite)

    def times(self, other: SortedPair) -> SortedPair:
        """The product: losses add, equal ones merge."""
        x = np.add.outer(self.x, other.x).ravel()
        log_p = np.add.outer(self.log_p, other.log_p).ravel()
        order = np.argsort(x, kind="stable")
        x, log_p = x[order], log_p[order]
        apart = np.diff(x) > 1e-14 * (np.abs(x[1:]) + np.max(np.abs(x)) * 0.1)
        first = np.concatenate([[0], np.flatnonzero(apart) + 1])
        return SortedPair(
            x[first],
            np.logaddexp.reduceat(log_p, first),
            self.infinite + other.infinite - self.infinite * other.infinite,
            self.behind + other.behind - self.behind * other.behind,
        )

    def as_finite(self, *, attained: bool) -> FiniteLossPair:
        """The same as a pair on finitely many outcomes."""
        losses, log_p, log_q = self.x.tolist(), self.log_p.tolist(), (self.log_p - self.x).tolist()
        if self.infinite > 0.0:
            losses, log_p, log_q = [*losses, math.inf], [*log_p, math.log(self.infinite)], [*log_q, -math.inf]
        if self.behind > 0.0:
            losses, log_p, log_q = [*losses, -math.inf], [*log_p, -math.inf], [*log_q, math.log(self.behind)]
        return FiniteLossPair(tuple(losses), tuple(log_p), tuple(log_q), attained)


def enumerated(pair: FiniteLossPair, most: int = MOST_ATOMS) -> SortedPair | None:
    """A finite pair as it is; None if it has too many outcomes."""
    rows = list(zip(pair.losses, pair.log_p, pair.log_q, strict=True))
    finite = [(loss, p) for loss, p, _ in rows if math.isfinite(loss) and p > -math.inf]
    if not finite or len(finite) > most:
        return None
    x, log_p = np.array(finite).T
    return SortedPair(
        x,
        log_p,
        math.fsum(math.exp(p) for loss, p, _ in rows if loss == math.inf),
        math.fsum(math.exp(q) for loss, _, q in rows if loss == -math.inf),
    )


def _nothing() -> None:
    """What a reference to nothing gives."""
