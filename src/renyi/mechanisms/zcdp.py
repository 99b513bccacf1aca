"""A mechanism known only to be zero-concentrated differentially private (zCDP)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.relation import Adjacency, Relation
from renyi.numerics.rounding import TINY, ULP, float_above, raised

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ZCDP(Mechanism):
    """A mechanism whose Renyi divergence of order alpha is at most ``xi`` + ``rho`` alpha, for every alpha > 1."""

    name = "zcdp"
    words: ClassVar[str] = "a mechanism of zero-concentrated DP (rho {rho}, xi {xi})"
    monotone = {"rho": Trend(rising=True), "xi": Trend(rising=True)}
    assumptions: ClassVar[tuple[str, ...]] = ("zero-concentrated DP: the claimed rho and xi hold for these neighbours",)
    references: ClassVar[tuple[str, ...]] = (
        "Bun & Steinke (2016), arXiv:1605.02065v1, Definition 1.1, and Proposition 1.9 for groups",
    )

    rho: float
    xi: float = 0.0
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, rho=check.nonnegative, xi=check.nonnegative, adjacency=Adjacency.of)

    @classmethod
    def examples(cls) -> tuple[ZCDP, ...]:
        return cls(0.5), cls(0.01, xi=0.1)

    def for_group(self, size: int) -> ZCDP | None:
        """k^2 rho for a group of k where xi is 0, and k xi where rho is: losses add. With both, see ``group_curve``."""
        rho, xi = float_above(Fraction(self.rho) * size**2), float_above(Fraction(self.xi) * size)
        known = (self.xi == 0.0 or self.rho == 0.0) and math.isfinite(rho + xi)
        return ZCDP(rho, xi, self.adjacency) if known else None

    def renyi(self, relation: Relation) -> RenyiCurve:
        self.adjacency.expect(relation, self)
        limit = raised(self.xi, 0.0) if self.rho == 0.0 else math.inf
        return RenyiCurve(partial(affine, self.xi, self.rho), limit=limit, covers_opposite=True)


def affine(offset: float, slope: float, order: Array) -> Array:
    """Return offset + slope * order, rounded up."""
    with np.errstate(over="ignore", under="ignore"):
        value = raised(offset + slope * order, 4 * ULP)
    return np.maximum(value, TINY) if offset > 0.0 or slope > 0.0 else value
