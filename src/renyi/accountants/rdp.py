"""The analytical moments accountant: compose Renyi curves as functions, convert once at the best real order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renyi.accountants.accountant import Accountant, Answer
from renyi.composing.event_laws import renyi_curve
from renyi.errors import TooLarge
from renyi.events.event import Event
from renyi.laws.conversion import (
    corner_epsilons,
    optimal_epsilon_upper,
    optimal_log_delta,
    optimal_log_delta_upper,
)
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.interval import Interval
from renyi.laws.relation import Relation
from renyi.numerics.roots.minimise import bracket, minimise
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import allowance, spend

Array = NDArray[np.float64]

METHOD = "Renyi DP (analytical moments accountant)"

WORK = 2e8
"""Numbers that a question may compute: at 70 to 150 million a second, as measured, up to three seconds of them."""

_SMALLEST = 2.0**-40  # of alpha - 1
_LARGEST = 1e12
_HUGE = 1e300
_CONVERSION = 7000.0  # numbers that could be computed during one conversion


@dataclass(frozen=True, slots=True)
class Rdp(Accountant):
    """Renyi differential privacy, with no list of orders: the order is a real number and is optimised.

    Wang, Balle & Kasiviswanathan (2019), arXiv:1808.00087v1, for the accountant; Zhu & Wang (2019), PMLR 97, for
    Poisson samples. The lower end is trivial: a Renyi curve bounds the loss from above only.
    """

    def answer_epsilon(self, event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
        return _answer_epsilon(event, delta, relations)

    def answer_delta(self, event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
        return _answer_delta(event, epsilon, relations)


@lru_cache(maxsize=16)  # other accountants ask too
def _answer_epsilon(event: Event, delta: float, relations: tuple[Relation, ...]) -> Answer:
    with allowance(WORK), np.errstate(all="ignore"):
        order, value, relation = _worst(event, relations, lambda curve, known: _best_epsilon(curve, delta, known))
    return Answer(Interval(0.0, value), METHOD, relation, order)


@lru_cache(maxsize=16)
def _answer_delta(event: Event, epsilon: float, relations: tuple[Relation, ...]) -> Answer:
    with allowance(WORK), np.errstate(all="ignore"):
        order, value, relation = _worst(event, relations, lambda curve, known: _best_delta(curve, epsilon, known))
    return Answer(Interval(0.0, value), METHOD, relation, order)


@dataclass(frozen=True, slots=True)
class _Known:
    """The worst answer so far: a relation that is cheaper at that very order needs no search of its own."""

    order: float
    value: float


def _worst(
    event: Event, relations: tuple[Relation, ...], best: Callable[[RenyiCurve, _Known | None], tuple[float, float]]
) -> tuple[float, float, Relation]:
    order, value, decided = math.inf, -1.0, relations[0]
    covered: set[Relation] = set()
    for relation in relations:
        if relation in covered:
            continue
        curve = renyi_curve(event, relation)
        if curve.covers_opposite:
            covered.add(relation.opposite)
        found_order, found = best(curve, _Known(order, value) if value >= 0.0 else None)
        if found > value:
            order, value, decided = found_order, found, relation
    return order, value, decided


def _best_epsilon(curve: RenyiCurve, delta: float, known: _Known | None) -> tuple[float, float]:
    """The order, which may be infinite, that gives the smallest epsilon, and that epsilon."""
    if delta == 1.0:
        return math.inf, 0.0
    if delta <= curve.mass and curve.mass > 0.0:
        return math.inf, math.inf
    spent = delta if curve.mass == 0.0 else (delta - curve.mass) / (1.0 - curve.mass) * (1.0 - 4 * ULP)
    # Infinite order: P <= e^limit Q gives H <= 1 - e^(epsilon - limit).
    pure = min(max(0.0, raised(curve.limit, 0.0) + math.log1p(-spent)), curve.limit)
    if spent == 0.0 or pure == 0.0:
        return math.inf, pure
    log_delta = math.log(spent)

    def coarse(order: Array, divergence: Array) -> Array:
        return corner_epsilons(order, divergence, log_delta)

    def convert(order: float, divergence: float) -> float:
        return optimal_epsilon_upper(order, divergence, log_delta)

    return _best_order(curve, coarse, convert, lambda slope: math.sqrt(-log_delta / slope), pure, known)


def _best_delta(curve: RenyiCurve, epsilon: float, known: _Known | None) -> tuple[float, float]:
    """The order, which may be infinite, that gives the smallest delta, and that delta."""
    if epsilon == math.inf:
        return math.inf, curve.infinite_mass
    if epsilon >= curve.limit:
        return math.inf, curve.mass

    def with_mass(log_delta: float) -> float:
        # A delta that underflows is rounded up to the smallest positive number: only pure DP has delta 0.
        fails = max(math.exp(log_delta), 5e-324)
        return min(1.0, max(raised(curve.mass + (1.0 - curve.mass) * fails, 8 * ULP), fails))

    def coarse(order: Array, divergence: Array) -> Array:
        return np.array(
            [optimal_log_delta(float(a), float(d), epsilon) for a, d in zip(order, divergence, strict=True)]
        )

    def convert(order: float, divergence: float) -> float:
        return with_mass(optimal_log_delta_upper(order, divergence, epsilon))

    pure = with_mass(math.log(-math.expm1(epsilon - curve.limit)))
    return _best_order(curve, coarse, convert, lambda slope: max(0.5 * (epsilon / slope - 1.0), 0.01), pure, known)


def _best_order(
    curve: RenyiCurve,
    coarse: Callable[[Array, Array], Array],
    convert: Callable[[float, float], float],
    guess: Callable[[float], float],
    pure: float,
    known: _Known | None,
) -> tuple[float, float]:
    """The order with the smallest answer, and that answer.

    A ladder of orders is compared by the cheap conversion ``coarse``, then Brent's method minimises ``convert``, which gives a
    valid answer from the divergence at any order. ``guess`` is where a Gaussian with the curve's slope would have its best
    order minus one; ``pure`` is the answer of infinite order.
    """
    first = min(2.0, curve.max_order)
    if known is not None:
        value = pure if math.isinf(known.order) else convert(known.order, curve.at(known.order))
        if value <= known.value:
            return known.order, value
    largest = min(_LARGEST, curve.max_order - 1.0)
    if largest <= 0.0:
        return math.inf, pure  # no order above 1 is known
    at_first = curve.at(first)
    seen: dict[float, float] = {math.inf: pure}

    def answer(s: float) -> float:
        order = 1.0 + s
        if order not in seen:
            spend(_CONVERSION)
            seen[order] = convert(order, curve.at(order))
        return min(seen[order], _HUGE)

    def ladder(s: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            spend(0.5 * _CONVERSION * s.size)
            values = coarse(1.0 + s, curve(1.0 + s))
        return np.nan_to_num(values, nan=_HUGE, posinf=_HUGE, neginf=-_HUGE)

    def search() -> None:
        smallest = min(_SMALLEST, largest)
        slope = 0.5 * at_first
        start = guess(slope) if 0.0 < slope < math.inf else 1.0
        low, high = bracket(ladder, guess=min(max(start, smallest), largest), smallest=smallest, largest=largest)
        minimise(answer, low, high, 3e-6)
        if curve.kinked:
            # A bound that is known at integers only has a minimum at many of them: compare them all, near the bracket.
            whole = np.unique(np.rint(1.0 + np.geomspace(max(low / 4.0, 1.0), max(4.0 * high, 1.0), 60)) - 1.0)
            whole = whole[(whole >= 1.0) & (whole <= largest)]
            if whole.size:
                for index in np.argsort(ladder(whole))[:3]:
                    answer(float(whole[index]))
            tried = [order for order in seen if math.isfinite(order)]
            if tried:  # a bracket of one order is not searched
                best = min(tried, key=lambda order: seen[order])
                answer(max(round(best) - 1.0, 1.0))
        if math.isfinite(curve.max_order):
            answer(largest)

    try:
        search()
    except TooLarge:  # every order that was tried holds, and the first divergence was found
        seen[first] = convert(first, at_first)
    order = min(seen, key=lambda order: seen[order])
    return order, seen[order]
