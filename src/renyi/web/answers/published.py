"""What others published, as ticks on the axis of epsilon: for orientation, not as a judgement of either."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from renyi.numerics.printing import rounded_up

LOW, HIGH = 0.01, 100.0
"""Ends of the axis; what lies beyond stands at its end."""


@dataclass(frozen=True, slots=True)
class Published:
    """A deployment with the epsilon that its makers published, what it is for, and where they say so."""

    name: str
    epsilon: float
    delta: float
    protects: str
    source: str


_GBOARD = (
    'Xu & Zhang (2024), "Advances in private training for production on-device language models", Google Research blog'
)
_APPLE = 'Apple (2017), "Differential Privacy Overview"'

PUBLISHED = (
    Published("Gboard, the most private of its word predictions", 0.994, 1e-10, "one device", _GBOARD),
    Published("Apple, health types in use", 2.0, 0.0, "one person's day, before anything is sent", _APPLE),
    Published("Apple, emoji in use", 4.0, 0.0, "one person's day, before anything is sent", _APPLE),
    Published("Gboard, first word prediction for Spanish", 8.9, 1e-10, "one device", _GBOARD),
    Published(
        "Israel, register of live births of 2014", 9.98, 0.0, "one birth", "Hod & Canetti (2024), arXiv:2405.00267v1"
    ),
    Published(
        "United States, redistricting data of 2020",
        19.61,
        1e-10,
        "one person, and one housing unit",
        'U.S. Census Bureau (9 June 2021), "Census Bureau Sets Key Parameters to Protect Privacy in 2020 Census Results"',
    ),
)
"""In the order of epsilon."""


def axis(epsilon: float) -> dict[str, Any] | None:
    """Places on a logarithmic axis as shares of its length; None for an epsilon that has no place on it."""
    if not 0.0 < epsilon < math.inf:
        return None
    return {
        "at": _place(epsilon),
        "decades": [{"at": _place(each), "label": f"{each:g}"} for each in (0.01, 0.1, 1.0, 10.0, 100.0)],
        "known": [
            {
                "at": _place(one.epsilon),
                "name": one.name,
                "epsilon": f"{one.epsilon:g}",
                "delta": rounded_up(one.delta),
                "protects": one.protects,
                "source": one.source,
            }
            for one in PUBLISHED
        ],
    }


def _place(epsilon: float) -> float:
    return min(1.0, max(0.0, math.log(epsilon / LOW) / math.log(HIGH / LOW)))
