"""A Renyi curve turned into the answer to a question, at the best real order."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renyi.composing.method import Found, Method
from renyi.composing.question import EpsilonAt, Question
from renyi.composing.steps import Steps
from renyi.errors import TooLarge
from renyi.laws.conversion import (
    corner_epsilons,
    optimal_epsilon_upper,
    optimal_log_delta,
    optimal_log_delta_upper,
)
from renyi.laws.curves.curve import RenyiCurve
from renyi.laws.interval import Interval
from renyi.numerics.roots.minimise import bracket, minimise
from renyi.numerics.rounding import ULP, raised
from renyi.numerics.work import remembered, spend

Array = NDArray[np.float64]

_SMALLEST = 2.0**-40
"""Of the order minus one. Closer to 1 a curve's value is the mean loss, and converting it gains nothing."""

_LARGEST = 1e12
"""Of the order minus one. Beyond it an answer is that of infinite order to twelve digits."""

_HUGE = 1e300
"""Stands for an infinite answer where a search needs numbers that it can compare."""

_CONVERSION = 7000.0
"""Numbers that could be computed during one conversion, as measured."""

_SEARCH_WORK = 1e8
"""What the search for one order may take, in computed numbers: half of a question's. It then ends with what it has found."""


class AtOrder(NamedTuple):
    """An order, which may be infinite, and the answer that the divergence there gives."""

    order: float
    value: float


class Renyi(Method):
    """The bound by Renyi divergences, from above only: for attained laws whose composition was not closed."""

    words = "best order of the Renyi curve"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``. Of laws that only dominate the curve may be better too, but that is for the default to compare."""
        wanted = steps.below is not None and not known.is_settled
        # A method may have composed the steps and found no bound: numbers overflowed, or its lattice was too long.
        bounded = known.answered and known.interval.upper < question.unknown.upper
        return steps.renyi is not None and (wanted or not bounded)

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        assert steps.renyi is not None
        return Found(Interval(0.0, min(best_order(curve, question).value for curve in steps.renyi())), self.words)


class Conversion(ABC):
    """From divergences to the answer of one question; every answer is a valid one, whatever the order."""

    pure: float
    """The answer of infinite order."""

    @abstractmethod
    def at(self, order: float, divergence: float) -> float:
        """The answer by the divergence of one finite order."""

    @abstractmethod
    def ladder(self, order: Array, divergence: Array) -> Array:
        """Numbers that rise and fall with the answers at several orders, found at less cost."""

    @abstractmethod
    def guess(self, slope: float) -> float:
        """The best order minus one for a Gaussian whose curve has this slope."""


@dataclass(frozen=True, slots=True)
class _ToEpsilon(Conversion):
    """Epsilon at a delta of which ``log_delta`` is left beside the mass that fails outright."""

    log_delta: float
    pure: float

    def at(self, order: float, divergence: float) -> float:
        return optimal_epsilon_upper(order, divergence, self.log_delta)

    def ladder(self, order: Array, divergence: Array) -> Array:
        return corner_epsilons(order, divergence, self.log_delta)

    def guess(self, slope: float) -> float:
        return math.sqrt(-self.log_delta / slope)


@dataclass(frozen=True, slots=True)
class _ToDelta(Conversion):
    """Delta at an epsilon, with ``mass`` that fails outright."""

    epsilon: float
    mass: float
    limit: float

    @property
    def pure(self) -> float:  # type: ignore[override]
        return self._with_mass(math.log(-math.expm1(self.epsilon - self.limit)))

    def _with_mass(self, log_delta: float) -> float:
        # A delta that underflows is rounded up to the smallest positive number: only pure DP has delta 0.
        fails = max(math.exp(log_delta), 5e-324)
        return min(1.0, max(raised(self.mass + (1.0 - self.mass) * fails, 8 * ULP), fails))

    def at(self, order: float, divergence: float) -> float:
        return self._with_mass(optimal_log_delta_upper(order, divergence, self.epsilon))

    def ladder(self, order: Array, divergence: Array) -> Array:
        pairs = zip(order.tolist(), divergence.tolist(), strict=True)
        return np.array([optimal_log_delta(one, value, self.epsilon) for one, value in pairs])

    def guess(self, slope: float) -> float:
        return max(0.5 * (self.epsilon / slope - 1.0), 0.01)


def _conversion(curve: RenyiCurve, question: Question) -> Conversion | AtOrder:
    """How to convert divergences of the curve; or the answer itself, where no divergence is needed for it."""
    mass = curve.mass
    if isinstance(question, EpsilonAt):
        delta = question.delta
        if delta == 1.0:
            return AtOrder(math.inf, 0.0)
        if delta <= mass and mass > 0.0:
            return AtOrder(math.inf, math.inf)
        spent = delta if mass == 0.0 else (delta - mass) / (1.0 - mass) * (1.0 - 4 * ULP)
        # Infinite order: P <= e^limit Q gives H <= 1 - e^(epsilon - limit).
        pure = min(max(0.0, raised(curve.limit, 0.0) + math.log1p(-spent)), curve.limit)
        return AtOrder(math.inf, pure) if spent == 0.0 or pure == 0.0 else _ToEpsilon(math.log(spent), pure)
    if question.epsilon == math.inf:
        return AtOrder(math.inf, curve.infinite_mass)
    return AtOrder(math.inf, mass) if question.epsilon >= curve.limit else _ToDelta(question.epsilon, mass, curve.limit)


def answer_at(curve: RenyiCurve, question: Question, order: float) -> float:
    """A valid answer, by the divergence of this order alone."""
    conversion = _conversion(curve, question)
    if isinstance(conversion, AtOrder):
        return conversion.value
    return conversion.pure if math.isinf(order) else conversion.at(order, curve.at(order))


@remembered(maxsize=16, numbers=_SEARCH_WORK)  # several accountants ask for the same curve
def best_order(curve: RenyiCurve, question: Question) -> AtOrder:
    """The order with the smallest answer, and that answer.

    A ladder of orders is compared by a cheap conversion, then Brent's method minimises the exact one.
    """
    conversion = _conversion(curve, question)
    if isinstance(conversion, AtOrder):
        return conversion
    with np.errstate(all="ignore"):
        return _searched(curve, conversion)


def _searched(curve: RenyiCurve, conversion: Conversion) -> AtOrder:
    first, pure = min(2.0, curve.max_order), conversion.pure
    largest = min(_LARGEST, curve.max_order - 1.0)
    if largest <= 0.0:
        return AtOrder(math.inf, pure)  # no order above 1 is known
    at_first = curve.at(first)
    seen: dict[float, float] = {math.inf: pure}

    def answer(s: float) -> float:
        order = 1.0 + s
        if order not in seen:
            spend(_CONVERSION)
            seen[order] = conversion.at(order, curve.at(order))
        return min(seen[order], _HUGE)

    def ladder(s: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            spend(0.5 * _CONVERSION * s.size)
            values = conversion.ladder(1.0 + s, curve(1.0 + s))
        return np.nan_to_num(values, nan=_HUGE, posinf=_HUGE, neginf=-_HUGE)

    def search() -> None:
        smallest = min(_SMALLEST, largest)
        slope = 0.5 * at_first
        start = conversion.guess(slope) if 0.0 < slope < math.inf else 1.0
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
        seen[first] = conversion.at(first, at_first)
    order = min(seen, key=lambda order: seen[order])
    return AtOrder(order, seen[order])
