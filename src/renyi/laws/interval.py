"""An answer with two ends, both of them true."""

from __future__ import annotations

import math
from dataclasses import dataclass

from renyi.errors import InvalidInput
from renyi.numerics.printing import rounded_down, rounded_up


class NoInterval(InvalidInput, ArithmeticError):
    """Ends in the wrong order, or not numbers: a user's slip, or a method's numbers that overflowed."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The truth lies between ``lower`` and ``upper``; a trivial end is 0 or infinity."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            raise NoInterval(f"an interval needs lower <= upper; got [{self.lower!r}, {self.upper!r}].")

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        """Both ends to six digits, the lower one rounded down and the upper one up."""
        return f"[{rounded_down(self.lower)}, {rounded_up(self.upper)}]"
