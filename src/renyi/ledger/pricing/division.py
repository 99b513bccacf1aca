"""At which orders a budget is spent, and how delta is divided among them: both are fixed before the first release."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.accountants.accountant import expect
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.ledger.pricing.orders import divergence_lower, worst_divergences
from renyi.numerics.roots.minimise import bracket, minimise

Array = NDArray[np.float64]

_RATIO = math.sqrt(2.0)
"""Of neighbouring orders minus one. An order that is off by 2^(1/4) adds 1.5 % to the epsilon of a Gaussian."""

_REACH = 4.0
"""How far orders minus one go to both sides of the best one of a Gaussian, as a factor; of a sample it may be much smaller."""

_COMMON_PLACE = 0.85
"""Best order minus one of the plans in tests/ledger/plans.py, as a fraction of the Gaussian's: 0.6 to 0.92."""

_MOST_ORDERS = 40
"""Of a filter: a budget of epsilon = 0.001 has so many; a smaller one has them farther apart."""

_EXPECTED_SHARE = 0.95
"""The part of delta that an expected event's best order gets: it costs that event log(1/0.95), 0.05, of log(1/delta)."""

_SMALLEST_EXCESS, _LARGEST_EXCESS = 1e-3, 1e6
"""Of the best order minus one: a budget that is best spent beyond has no use for its digits."""

_ORDER_TOLERANCE = 1e-3
"""To which the best order minus one is found, relatively: the copies that fit fall with the square of an error."""

_HUGE = 1e300
"""Stands for infinitely many copies where a search needs numbers that it can compare."""

_ROUNDING = 1e-12
"""Kept back of delta, relatively, so that shares which are rounded do not exceed it."""


class Division(NamedTuple):
    """Rising orders, each with its share of delta; the last order is infinite and needs none."""

    orders: tuple[float, ...]
    shares: tuple[float, ...]


def may_fail(event: Event, adjacency: Adjacency) -> bool:
    """Whether an event has a part that is an (epsilon, delta) guarantee, which needs a reserve."""
    event, adjacency = expect(event, adjacency)
    return worst_divergences(event, np.array([2.0]), adjacency)[1] > 0.0


def divided(epsilon: float, delta: float, expected: Event | None, adjacency: Adjacency) -> Division:
    """Orders for a budget, with shares that sum to at most ``delta``."""
    general = _for_anything(epsilon, delta)
    best = None if expected is None else _best_order(epsilon, delta, expected, adjacency)
    if best is None:
        shares = dict(general)
    else:
        shares = {order: share * (1.0 - _EXPECTED_SHARE) for order, share in general}
        shares[best] = shares.get(best, 0.0) + delta * _EXPECTED_SHARE
    orders = sorted(shares)
    return Division((*orders, math.inf), (*(shares[order] * (1.0 - _ROUNDING) for order in orders), 0.0))


def _for_anything(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Orders around the one that is best for a Gaussian, and down to 2, where the best one of a sample may lie.

    A share falls with the number of orders between its own and the most common one.
    """
    centre = _gaussian_order(epsilon, delta) - 1.0
    bottom, top = min(1.0, centre / _REACH), centre * _REACH
    count = min(math.ceil(math.log(top / bottom) / math.log(_RATIO)) + 1, _MOST_ORDERS)
    excesses = np.geomspace(bottom, top, count)
    step = math.log(top / bottom) / (count - 1)
    weights = 1.0 / (1.0 + np.abs(np.log(excesses / (_COMMON_PLACE * centre))) / step)
    return list(zip((1.0 + excesses).tolist(), (delta * weights / weights.sum()).tolist(), strict=True))


def _gaussian_order(epsilon: float, delta: float) -> float:
    """The best order of Gaussian noise that spends this budget, by epsilon = rho + 2 sqrt(rho log(1/delta))."""
    root = math.sqrt(-math.log(delta))
    return 1.0 + root * (math.sqrt(root * root + epsilon) + root) / epsilon  # of rho = (sqrt(L + epsilon) - sqrt(L))^2


def _best_order(epsilon: float, delta: float, event: Event, adjacency: Adjacency) -> float | None:
    """The finite order at which most copies of an event fit; None where infinite order does as well, or nothing matters."""
    event, adjacency = expect(event, adjacency)

    def copies(excess: Array) -> Array:
        costs, _ = worst_divergences(event, 1.0 + excess, adjacency)
        limits = np.array([divergence_lower(1.0 + one, delta, epsilon) for one in excess.tolist()])
        with np.errstate(all="ignore"):
            return np.nan_to_num(limits / costs, nan=0.0, posinf=_HUGE)

    low, high = bracket(
        lambda excess: -copies(excess),
        guess=_gaussian_order(epsilon, delta) - 1.0,
        smallest=_SMALLEST_EXCESS,
        largest=_LARGEST_EXCESS,
    )
    found = minimise(lambda excess: -float(copies(np.array([excess]))[0]), low, high, _ORDER_TOLERANCE)
    # A bound that is known at integers only has its best order at one of them.
    tried = np.array([found, *(max(float(whole), 1.0) for whole in (math.floor(found), math.ceil(found)))])
    counts = copies(tried)
    best = int(np.argmax(counts))
    pure, _ = worst_divergences(event, np.array([math.inf]), adjacency)
    wanted = 0.0 < counts[best] < _HUGE and counts[best] * pure[0] > epsilon
    return 1.0 + float(tried[best]) if wanted else None
