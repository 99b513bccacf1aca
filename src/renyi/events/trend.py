"""In which direction a parameter moves the cost."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trend:
    """A parameter in which the cost is monotone, on [low, high]: ``rising`` if more of it costs more."""

    rising: bool
    low: float = -math.inf
    high: float = math.inf
