"""A mechanism known only to be truncated concentrated differentially private (tCDP)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from renyi import check
from renyi.errors import InvalidInput
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.relation import Adjacency, Relation
from renyi.mechanisms.zcdp import affine
from renyi.numerics.rounding import float_above


@dataclass(frozen=True, slots=True)
class TCDP(Mechanism):
    """A mechanism whose Renyi divergence of order alpha is at most ``rho`` alpha, for 1 < alpha < ``omega``.

    At omega itself the bound holds too, because a Renyi divergence is the supremum of those of smaller order.
    """

    name = "tcdp"
    words: ClassVar[str] = "a mechanism of truncated concentrated DP (rho {rho}, omega {omega})"
    monotone = {"rho": Trend(rising=True), "omega": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "truncated concentrated DP: the claimed rho holds for these neighbours, at every order below omega",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Bun, Dwork, Rothblum & Steinke (2018), STOC, Definition 1",
        "Bun & Steinke (2016), arXiv:1605.02065v1, section 5: groups, of whose proof no step has an order above k alpha",
        "van Erven & Harremoes (2014), arXiv:1206.2459v2, Theorem 7: continuity in the order",
    )

    rho: float
    omega: float
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, rho=check.nonnegative, omega=check.nonnegative, adjacency=Adjacency.of)
        if not self.omega > 1.0:
            raise InvalidInput(
                f"omega must be above 1, because the bound holds for orders between 1 and omega; got {self.omega!r}."
            )

    @classmethod
    def examples(cls) -> tuple[TCDP, ...]:
        return cls(0.5, 8.0), cls(0.01, 100.5)

    def for_group(self, size: int) -> TCDP | None:
        """k^2 rho alpha for a group of k, at orders of which k times is at most omega."""
        rho, omega = float_above(Fraction(self.rho) * size**2), -float_above(-Fraction(self.omega) / size)
        return TCDP(rho, omega, self.adjacency) if math.isfinite(rho) and omega > 1.0 else None

    def renyi(self, relation: Relation) -> RenyiCurve:
        self.adjacency.expect(relation, self)
        return RenyiCurve(partial(affine, 0.0, self.rho), max_order=self.omega, covers_opposite=True)
