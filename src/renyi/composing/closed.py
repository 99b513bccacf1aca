"""What needs no composing: a single step, whose profile is the answer; and bounds that every composition obeys."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from renyi.composing.common.accuracy import FULLY_COUNTED
from renyi.composing.common.chernoff_lower import chernoff_lower
from renyi.composing.method import EXACT_WIDTH, Found, Method
from renyi.composing.question import EpsilonAt, Question
from renyi.composing.steps import Steps
from renyi.laws.interval import Interval
from renyi.laws.pair import DominatingPair
from renyi.numerics.roots.falling_root import falling_root
from renyi.numerics.work import spend

Array = NDArray[np.float64]


class Closed(Method):
    """Closed forms where there are any; elsewhere what bounds every composition, its largest loss or Chernoff's bound."""

    words = "closed form"

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``. Of laws above the truth the upper end is known; the lower one is that of the laws below it."""
        found = _of_laws(steps, question)
        if steps.below is None or steps.below is steps:
            return found
        return found.with_lower(_of_laws(steps.below, question).interval.lower)


class Profile(Method):
    """The profile of a single step, where that is a law on a lattice and no contour has found the answer."""

    words = "the law of one step on a lattice"

    def covers(self, steps: Steps, question: Question, known: Found) -> bool:
        """See ``Method``."""
        return _is_single(steps) and not steps.counted[0][0].closed_form

    def answer(self, steps: Steps, question: Question, known: Found) -> Found:
        """See ``Method``."""
        pair = steps.counted[0][0]
        if isinstance(question, EpsilonAt):
            ends = one_step_epsilon(pair, question.delta)
        else:
            ends = one_step_delta(pair, question.epsilon)
        # Where the law lies above the truth its own lower end says nothing, and the Renyi curve may be closer.
        return Found(ends if steps.below is steps else Interval(0.0, ends.upper), self.words)


def _of_laws(steps: Steps, question: Question) -> Found:
    """What is known in closed form of the product of these laws, however it lies to the truth."""
    if not steps.counted:
        return Found(Interval(0.0, 0.0), "nothing was released")
    single = _is_single(steps) and steps.counted[0][0].closed_form
    if isinstance(question, EpsilonAt):
        return _epsilon(steps, question.delta, single)
    return _delta(steps, question.epsilon, single)


def _is_single(steps: Steps) -> bool:
    return len(steps.counted) == 1 == steps.counted[0][1]


def _epsilon(steps: Steps, delta: float, single: bool) -> Found:
    if delta == 0.0:
        return Found(steps.largest_loss, "sum of the largest losses")
    if delta == 1.0:
        return Found(Interval(0.0, 0.0), "a delta of 1 promises nothing")
    if single:
        ends, largest = one_step_epsilon(steps.counted[0][0], delta), steps.largest_loss.upper
        return Found(Interval(min(ends.lower, largest), min(ends.upper, largest)), Closed.words)
    mass = steps.infinite_mass
    if delta <= mass.upper:
        surely = math.inf if delta < mass.lower else 0.0
        return Found(Interval(surely, math.inf), "a loss that is infinite with probability delta or more")
    # No loss exceeds the largest, which is known without rounding where the last digit of a method is not.
    return Found.bound(Interval(0.0, steps.largest_loss.upper))


def _delta(steps: Steps, epsilon: float, single: bool) -> Found:
    if single:
        return Found(one_step_delta(steps.counted[0][0], epsilon), Closed.words)
    mass = steps.infinite_mass
    if epsilon >= steps.largest_loss.upper:
        return Found(mass, "sum of the largest losses")
    if mass.upper >= 1.0:
        return Found(Interval(mass.lower, 1.0), "a loss that is infinite for certain")
    lower = chernoff_lower(steps, epsilon)
    near_one = lower >= 1.0 - EXACT_WIDTH
    return Found(Interval(lower, 1.0), "Chernoff's bound") if near_one else Found.bound(Interval(lower, 1.0))


def one_step_delta(pair: DominatingPair, epsilon: float) -> Interval:
    """The profile at epsilon, with its error and that of the losses on both sides."""
    off = float(_off(pair, np.array([epsilon]))[0])
    if epsilon - off >= pair.max_loss:
        mass, error = pair.infinite_mass, pair.mass_error
        return Interval(mass * (1.0 - error), min(mass * (1.0 + error), 1.0))
    values, error = np.exp(pair.log_profile(np.array([epsilon + off, epsilon - off]))), pair.profile_error(epsilon)
    if np.isnan(values).any():
        return Interval(0.0, 1.0)  # losses or rates beyond what floats hold: nothing is known
    upper = max(min(float(values[1]) * math.exp(min(error, 700.0)), 1.0), 5e-324)
    return Interval(min(float(values[0]) * max(1.0 - error, 0.0), upper), upper)


def _off(pair: DominatingPair, epsilons: Array) -> Array:
    """The error of the losses that matter; one more than FULLY_COUNTED above epsilon counts fully, so its error does not."""
    error, largest = pair.loss_error, pair.max_loss
    if error == 0.0 or math.isinf(largest):
        return np.full(epsilons.shape, error)
    return error * np.minimum((np.abs(epsilons) + FULLY_COUNTED) / largest, 1.0)


def one_step_epsilon(pair: DominatingPair, delta: float) -> Interval:
    """Where the profile falls below delta."""
    mass, mass_error = pair.infinite_mass, pair.mass_error
    if delta < mass * (1.0 - mass_error):
        return Interval(math.inf, math.inf)
    if mass > 0.0 and delta <= mass * (1.0 + mass_error):
        finite = pair.finite
        if mass_error == 0.0 and finite is not None:
            return _around(max(finite.largest_finite_loss, 0.0), finite.loss_error)
        return Interval(0.0, math.inf)
    if delta == 0.0:
        return _around(max(pair.max_loss, 0.0), pair.loss_error)
    log_delta, error = math.log(delta), min(pair.profile_error(0.0), 2e-12)

    def excess(epsilon: float) -> float:
        spend(5000.0)
        return float(pair.log_profile(np.array([epsilon]))[0]) - log_delta

    low, high = _bracket(excess, pair.max_loss)
    if math.isinf(high):
        return Interval(low, math.inf)
    low, high = falling_root(excess, low, high)
    lower, upper = low, high
    if high > 0.0:
        # The profile's error moves both ends: go outwards until it is passed.
        fall = excess(0.999 * high) - excess(high)
        step = max(1.01 * error * (1e-3 * high / fall if fall > 0.0 else 1.0), 1e-15 * high)
        lower, upper = max(low - step, 0.0), high + step
        while excess(upper) > -error:
            step *= 2.0
            upper += step
        while lower > 0.0 and excess(lower) <= error:
            step *= 2.0
            lower = max(lower - step, 0.0)
    # The rounding of epsilon itself is worth a few digits of it, whatever that does to delta.
    off = float(_off(pair, np.array([upper]))[0])
    above = min(upper * (1.0 + 1e-14) + off, pair.max_loss + pair.loss_error)
    if math.isnan(above) or math.isnan(lower):
        return Interval(0.0, math.inf)  # losses or rates beyond what floats hold: nothing is known
    return Interval(min(max(lower * (1.0 - 1e-14) - off, 0.0), above), above)


def _around(value: float, error: float) -> Interval:
    return Interval(max(value - error, 0.0) if value < math.inf else math.inf, value + error)


def _bracket(excess: Callable[[float], float], largest: float) -> tuple[float, float]:
    """An interval at whose left end the profile exceeds delta and at whose right end it does not; [0, 0] if it never does."""
    at_low = excess(0.0)
    if at_low <= 0.0:
        return 0.0, 0.0
    low, high, factor = 0.0, min(1.0, largest), 4.0
    while (at_high := excess(high)) > 0.0:
        if high >= largest or high > 1e300:
            return high, math.inf
        # The logarithm of a profile is mostly concave, and then a line through two of its points falls too slowly.
        crossing = high + 1.01 * (high - low) * (at_high / (at_low - at_high)) if at_low > at_high else math.inf
        low, at_low = high, at_high
        high, factor = min(max(crossing, 1.01 * high), high * factor, largest), factor * factor
    factor = 4.0
    while low == 0.0 and high > 1e-300 and excess(high / factor) <= 0.0:
        high, factor = high / factor, factor * factor
    return (low if low > 0.0 else max(high / factor, 0.0) if excess(high / factor) > 0.0 else 0.0), high
