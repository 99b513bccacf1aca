"""At which orders a budget is spent, and which share of delta each of them gets."""

from __future__ import annotations

import math
from typing import NamedTuple

from renyi.events.event import Event
from renyi.laws.conversion import optimal_epsilon_upper
from renyi.laws.relation import Adjacency


class Division(NamedTuple):
    """Fixed orders, each with its share of delta; the last is infinite and needs none."""

    orders: tuple[float, ...]
    shares: tuple[float, ...]


def divided(epsilon: float, delta: float, expected: Event | None, adjacency: Adjacency) -> Division:
    """Orders and shares, which sum to at most delta."""
    orders = tuple(1.0 + 2.0 ** (k / 2.0) for k in range(-2, 14))
    share = delta / len(orders) * (1.0 - 1e-12)
    return Division((*orders, math.inf), (*(share for _ in orders), 0.0))


def divergence_budget(order: float, share: float, epsilon: float) -> float:
    """The largest divergence of this order that implies (epsilon, share)-differential privacy, from below."""
    if math.isinf(order):
        return epsilon  # a loss that never exceeds epsilon: delta is 0
    log_share = math.log(share)

    def fits(divergence: float) -> bool:
        return optimal_epsilon_upper(order, divergence, log_share) <= epsilon

    low, high = 0.0, max(epsilon, 1e-300)
    while fits(high):
        low, high = high, 2.0 * high
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
