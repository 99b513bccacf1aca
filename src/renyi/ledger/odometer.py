"""What was spent of a budget so far, and what that number is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from renyi.numerics.printing import rounded_up


@dataclass(frozen=True, slots=True)
class Odometer:
    """What was spent of a budget so far: ``spent`` of ``budget``, which is an epsilon, a rho or a mu, as ``kind`` says.

    ``spent`` is the least budget that would have admitted the releases so far, with the same orders and shares of delta. It is
    a guarantee of its own only if these releases were fixed beforehand: where they depended on earlier answers, what holds is
    the whole budget. ``fraction`` is the part of the limit that is used up, where most is left; ``failure`` the delta spent on
    (epsilon, delta) guarantees and on floors, out of ``reserve``.
    """

    kind: str
    spent: float
    budget: float
    fraction: float
    failure: float
    reserve: float
    delta: float

    @property
    def failed(self) -> float:
        """The part of the reserve that is used up."""
        return failed(self.failure, self.reserve)

    @property
    def used(self) -> float:
        """The fraction of the limit or of the reserve, whichever is used up further."""
        return max(self.fraction, self.failed)

    def __str__(self) -> str:
        values = (self.spent, self.budget, 100.0 * self.fraction, self.delta)
        spent, budget, part, delta = map(rounded_up, values)
        failed = f" and {rounded_up(self.failure)} of {self.reserve:.6g} for failures" if self.failure > 0.0 else ""
        return (
            f"spent so far: {self.kind} {spent} of {budget} ({part} % of the limit){failed}, at delta {delta}. "
            "What holds for adaptive releases is the whole budget; the number spent is a guarantee only of releases that were "
            "fixed beforehand."
        )


def failed(failure: float, reserve: float) -> float:
    """The part of a reserve that is used up."""
    if reserve:
        return failure / reserve
    return math.inf if failure else 0.0
