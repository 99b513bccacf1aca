"""Gaussian noise on a contribution whose size is random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from renyi import check
from renyi.errors import InvalidInput, UnsupportedError
from renyi.events.mechanism import Mechanism, Trend
from renyi.laws.pair import DominatingPair, FiniteLossPair
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.pairs.gaussian_mixture import GaussianMixturePair
from renyi.laws.relation import Relation

MOST_SHIFTS = 1024
"""Shifts of one mixture: every one of them is summed wherever its law is asked for."""

_LEAST_NOISE, _MOST_NOISE, _LEAST_SHIFT = 1e-3, 1e6, 1e-6
"""In units of the largest shift. With less noise than the first a contribution is taken for seen; more noise than the second,
and smaller shifts than the third, are taken for these."""


@dataclass(frozen=True, slots=True)
class GaussianMixture(Mechanism):
    """Adds Gaussian noise to a sum in which a user contributes at most ``shifts[j]`` (L2 norm) with probability ``weights[j]``.

    A user with a random number of records: if each of three is drawn with probability q, the shifts are (0, 1, 2, 3) and the
    weights binomial. Which shift it was stays secret, and it is drawn anew at every release. ``noise_multiplier`` is the
    standard deviation of the noise in the units of the shifts.
    """

    name = "gaussian_mixture"
    words: ClassVar[str] = (
        "Gaussian noise (multiplier {noise_multiplier}) on sums with a random contribution of each user"
    )
    monotone = {"noise_multiplier": Trend(rising=False)}
    assumptions: ClassVar[tuple[str, ...]] = (
        "a mixture of Gaussians: a user's contribution has L2 norm at most the shift that was drawn with the given weights, "
        "the draw stays secret and is independent of everybody else's, and the noise is drawn afresh from a secure source",
    )
    references: ClassVar[tuple[str, ...]] = (
        "Choquette-Choo, Ganesh, Steinke & Thakurta (2024), arXiv:2310.15526: mixtures of Gaussians",
        "Ganesh (2024), arXiv:2401.10294: they dominate",
    )

    noise_multiplier: float
    shifts: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        check.fields(self, noise_multiplier=check.nonnegative, shifts=check.vector, weights=check.probabilities)
        if len(self.shifts) != len(self.weights) or not self.shifts:
            raise InvalidInput(
                "shifts and weights must list the same contributions; "
                f"got {len(self.shifts)} shifts and {len(self.weights)} weights."
            )
        if len(self.shifts) > MOST_SHIFTS:
            raise InvalidInput(
                f"a mixture takes at most {MOST_SHIFTS} shifts; got {len(self.shifts)}. Round shifts up to a "
                "coarser list, which costs a little more."
            )

    @classmethod
    def examples(cls) -> tuple[GaussianMixture, ...]:
        return cls(1.0, (0.0, 1.0, 2.0), (0.81, 0.18, 0.01)), cls(3.0, (0.5, 2.0), (0.7, 0.3))

    def pair(self, relation: Relation) -> DominatingPair:
        if relation is Relation.REPLACE:
            raise UnsupportedError(
                f"{self} is analysed for add-or-remove and zero-out neighbours; replacing a user compares two mixtures, for "
                "which there is no theorem here. Ask for those, or use Gaussian(...) with the largest shift."
            )
        merged: dict[float, float] = {}
        for shift, weight in sorted(zip(self.shifts, self.weights, strict=True)):
            if weight > 0.0:
                merged[shift] = merged.get(shift, 0.0) + weight
        shifts, weights = tuple(merged), tuple(merged.values())
        if shifts[-1] == 0.0:
            return FiniteLossPair((0.0,), (0.0,), (0.0,))
        if len(shifts) == 1:
            return GaussianPair(self.noise_multiplier / shifts[0])
        largest = shifts[-1]
        if self.noise_multiplier < _LEAST_NOISE * largest:
            return _without_noise(weights[0] if shifts[0] == 0.0 else 0.0, relation)
        # Less noise and larger shifts only cost more: so ratios stay within what floats hold.
        noise = min(self.noise_multiplier, _MOST_NOISE * largest)
        raised: dict[float, float] = {}
        for shift, weight in zip(shifts, weights, strict=True):
            place = max(shift, _LEAST_SHIFT * largest) if shift > 0.0 else 0.0
            raised[place] = raised.get(place, 0.0) + weight
        pair = GaussianMixturePair(noise, tuple(raised), tuple(raised.values()))
        return pair if relation.record_first else pair.reversed()


def _without_noise(none: float, relation: Relation) -> DominatingPair:
    """The pair of a user who is seen whenever they contribute; ``none`` is the probability that they do not."""
    if none == 0.0:
        return FiniteLossPair.apart()
    seen = FiniteLossPair((math.log(none), math.inf), (math.log(none), math.log1p(-none)), (0.0, -math.inf))
    return seen if relation.record_first else seen.reversed()
