"""A mechanism given by two densities on an interval."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.mechanism import Mechanism
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.pairs.density import DensityPair, LogDensity
from renyi.laws.relation import Adjacency, Relation

Array = NDArray[np.float64]


def _standard(x: Array) -> Array:
    """Log-density of the standard normal law, for ``examples``: a named function, so that equal events are equal."""
    return -0.5 * x * x - 0.5 * math.log(2.0 * math.pi)


def _shifted(x: Array) -> Array:
    return _standard(x - 1.0)


@dataclass(frozen=True, slots=True)
class FromDensities(Mechanism):
    """A real output with log-density ``log_p`` if the record is present and ``log_q`` if absent, given on [``low``, ``high``].

    The log-densities take and return arrays. ``bounded=True`` says that both densities vanish outside of the interval.
    Otherwise the divergence is infinite at orders whose integrand is not negligible at the ends, and profiles are extended
    beyond the ends at the rate at which the density falls there. Everything is computed by quadrature. Divergences are compared
    with a rule half as fine, and eight times the difference is added; for profiles, panels are halved until the halves agree
    with the whole. That is numerical evidence, not a proof, and the guarantee says so.
    """

    words: ClassVar[str] = "a mechanism known by its densities"
    assumptions: ClassVar[tuple[str, ...]] = (
        "densities given by the user: the integrals are numerical, trusted where two quadratures agree",
    )

    log_p: LogDensity
    log_q: LogDensity
    low: float
    high: float
    bounded: bool = False
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        check.fields(self, low=check.real, high=check.real, adjacency=Adjacency.of)
        if not all(callable(one) and isinstance(one, Hashable) for one in (self.log_p, self.log_q)):
            raise InvalidInput(
                "log_p and log_q must be hashable functions that take an array of points and return log-densities."
            )
        if not self.low < self.high:
            raise InvalidInput(f"low must be below high; got {self.low!r} and {self.high!r}.")
        for name, mass in zip(("log_p", "log_q"), self._pair().masses(), strict=True):
            # Far above the error of the quadrature: it leaves room for tails cut off at the ends of the interval.
            if not abs(mass - 1.0) <= 1e-6:
                raise InvalidInput(
                    f"{name} integrates to {mass:.9g} on [{self.low:g}, {self.high:g}], not to 1. "
                    "Widen the interval, or normalise the density."
                )
        self._pair().loss(
            np.linspace(self.low, self.high, 4097)
        )  # raises where both densities are 0, which has no loss

    @classmethod
    def examples(cls) -> tuple[FromDensities, ...]:
        return (cls(_shifted, _standard, -40.0, 41.0),)

    def renyi(self, relation: Relation) -> RenyiCurve:
        return self.pair(relation).renyi()

    def pair(self, relation: Relation) -> DensityPair:
        self.adjacency.expect(relation, self)
        if relation is Relation.REPLACE:
            self._expect_symmetry()
        return self._pair() if relation.record_first else self._pair().reversed()

    def _expect_symmetry(self) -> None:
        """Replace-one compares two records in either order, so both orders of the densities must cost the same."""
        # A sample of levels: users' densities are trusted to be the mirror images they seem to be.
        levels = np.array([0.0, 0.01, 0.1, 0.5, 1.0, 3.0])
        one, other = (np.exp(pair.log_profile(levels)) for pair in (self._pair(), self._pair().reversed()))
        if np.any(np.abs(one - other) > 1e-7 * np.maximum(one, other) + 1e-12):
            raise UnsupportedError(
                f"{self} has different costs in its two orders, while replace-one compares two records in either order. "
                "Give densities that are mirror images of each other, or ask for add-or-remove neighbours."
            )

    def _pair(self) -> DensityPair:
        return DensityPair(self.log_p, self.log_q, self.low, self.high, self.bounded)
