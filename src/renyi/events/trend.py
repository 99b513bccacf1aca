"""The direction in which a parameter moves the cost."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trend:
    """The cost is monotone in a parameter on [low, high]: ``rising`` if a larger value costs more."""

    rising: bool
    low: float = -math.inf
    high: float = math.inf
