"""Composition of (epsilon, delta) guarantees in closed form, one theorem each.

Throughout ``count`` = k mechanisms are each (e, d)-differentially private with e = ``step_epsilon`` and d = ``step_delta``;
a later one may be chosen after seeing what the earlier ones released. Every number is raised by its rounding error. The
optimal theorem, which no closed form beats, is in optimal_composition.py.

Why the bounds hold: but for events of probability d a mechanism is e-DP (Kairouz, Oh & Viswanath 2015, Theorem 3.3), its loss
then lies in [-e, e] and has a mean of at most e tanh(e/2), so the total is a sum of bounded martingale differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from renyi import check
from renyi.accountants.classical.optimal_composition import failure
from renyi.errors import InvalidInput
from renyi.numerics.rounding import ULP, raised


class Level(NamedTuple):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


def basic_composition(*, step_epsilon: float, step_delta: float, count: int) -> Level:
    """(k e, k d): epsilons and deltas add.

    Dwork, Kenthapadi, McSherry, Mironov & Naor (2006), EUROCRYPT, Theorem 1.
    """
    epsilon, delta, count = _checked(step_epsilon, step_delta, count)
    return Level(raised(epsilon * count, 0.0), min(raised(delta * count, 0.0), 1.0))


def advanced_composition(*, step_epsilon: float, step_delta: float, count: int, slack: float) -> Level:
    """(e sqrt(2 k log(1/d')) + k e (exp(e) - 1), k d + d') for every d' = ``slack`` in (0, 1).

    Dwork, Rothblum & Vadhan (2010), FOCS, Theorem III.3; Claim 18 of the exposition of the three routes.
    """
    epsilon, delta, count = _checked(step_epsilon, step_delta, count)
    slack = _slack(slack)
    grown = _expm1(epsilon)
    spread = epsilon * math.sqrt(-2.0 * count * math.log(slack))
    return Level(
        raised(spread + _times(count * epsilon, grown), 8.0 * ULP), min(raised(count * delta + slack, 2 * ULP), 1.0)
    )


def improved_advanced_composition(*, step_epsilon: float, step_delta: float, count: int, slack: float) -> Level:
    """(e sqrt(2 k log(1/d')) + k e tanh(e/2), 1 - (1-d)^k (1-d')): never above ``advanced_composition``.

    Kairouz, Oh & Viswanath (2015), arXiv:1311.0776v4, Theorem 3.4: the mean (exp(e) - 1)/(exp(e) + 1) of the pure part in the
    place of exp(e) - 1, which is more than twice as much.
    """
    return heterogeneous_composition([(Level(step_epsilon, step_delta), count)], slack=slack)


def heterogeneous_composition(levels: Iterable[tuple[Level, int]], *, slack: float) -> Level:
    """The same of unlike guarantees, each given with its count:

        (sum of e_i tanh(e_i/2) + sqrt(2 log(1/d') sum of e_i^2),  1 - (1-d') prod (1-d_i)).

    Kairouz, Oh & Viswanath (2015), arXiv:1311.0776v4, Theorem 3.5.
    """
    slack, known = _slack(slack), tuple(levels)
    mean, spread = _mean_and_spread(known)
    fails = [failure(*_checked(level.epsilon, level.delta, count)[1:]).upper for level, count in known]
    survives = math.fsum(math.log1p(-one) if one < 1.0 else -math.inf for one in (slack, *fails))
    epsilon = mean + spread * math.sqrt(-2.0 * math.log(slack))
    return Level(raised(epsilon, 8.0 * ULP), min(raised(-math.expm1(survives), 8.0 * ULP), 1.0))


def kl_bound(*, epsilon: float) -> float:
    """a(e) = min(e (exp(e) - 1), e), a bound on the mean loss of an e-DP mechanism; its two halves meet at log 2.

    The function a of the exposition's equation (6.99). ``kl_of_pure`` is the largest mean loss there is.
    """
    epsilon = check.epsilon(epsilon=epsilon)
    return raised(_times(epsilon, _expm1(epsilon)), 4.0 * ULP) if epsilon < math.log(2.0) else epsilon


def kl_of_pure(*, epsilon: float) -> float:
    """e tanh(e/2), the largest mean loss of an e-DP mechanism; randomized response attains it."""
    epsilon = check.epsilon(epsilon=epsilon)
    return raised(epsilon * math.tanh(0.5 * epsilon), 4.0 * ULP)


def azuma_tail(*, epsilon: float, step_epsilon: float, count: int) -> float:
    """exp(-(epsilon - k a(e))^2 / (2 k (e + a(e))^2)): how probable a total loss of ``epsilon`` or more is, at most.

    The exposition's equation (6.99), by Azuma's inequality with increments of at most e + a(e) (``kl_bound``). Needs
    epsilon > k a(e). Adding k d gives a delta of k mechanisms that are (e, d)-DP. ``hoeffding_tail`` is smaller.
    """
    epsilon = check.epsilon(epsilon=epsilon)
    step, _, count = _checked(step_epsilon, 0.0, count)
    a = kl_bound(epsilon=step)
    return _tail(epsilon, count * a, (step + a) * math.sqrt(count), "k a(e), where a(e) = min(e (exp(e) - 1), e)")


def hoeffding_tail(levels: Iterable[tuple[float, int]], *, epsilon: float) -> float:
    """exp(-(epsilon - sum of e_i tanh(e_i/2))^2 / (2 sum of e_i^2)) for mechanisms that are e_i-DP, with their counts.

    The same with the true mean and the true range of each loss: increments that lie in an interval of length 2 e have the
    moments of Hoeffding's lemma. Needs epsilon > sum of e_i tanh(e_i/2).
    """
    epsilon = check.epsilon(epsilon=epsilon)
    mean, spread = _mean_and_spread((Level(one, 0.0), count) for one, count in levels)
    return _tail(epsilon, mean, spread, "the sum of e tanh(e/2)")


def _mean_and_spread(levels: Iterable[tuple[Level, int]]) -> tuple[float, float]:
    """The sums of e tanh(e/2) and, under a root, of e^2, over all steps."""
    mean, square = [], []
    for level, count in levels:
        step, _, count = _checked(level.epsilon, level.delta, count)
        mean.append(count * kl_of_pure(epsilon=step))
        square.append(step * math.sqrt(count))
    return math.fsum(mean), math.hypot(*square)


def _tail(epsilon: float, mean: float, spread: float, mean_in_words: str) -> float:
    """exp(-(epsilon - mean)^2 / (2 spread^2))."""
    if spread == 0.0:
        return 0.0
    if epsilon <= mean:
        raise InvalidInput(
            f"the tail bound needs epsilon > {mean_in_words}, a bound on the mean of the loss: {mean:.6g} here; "
            f"got epsilon={epsilon!r}. Raise epsilon, or use optimal_composition_delta."
        )
    root = (epsilon - mean) / spread / math.sqrt(2.0)
    # The difference is off by the rounding of what was subtracted.
    error = 4.0 * ULP * (1.0 + 2.0 * root * (root + (epsilon + mean) / spread))
    return max(math.exp(min(error - root * root, 0.0)), 5e-324)


def _checked(step_epsilon: float, step_delta: float, count: int) -> tuple[float, float, int]:
    return (
        check.epsilon(step_epsilon=step_epsilon),
        check.delta(step_delta=step_delta),
        check.count(count=count),
    )


def _slack(slack: float) -> float:
    slack = check.delta(slack=slack)
    if slack == 0.0:
        raise InvalidInput(
            "advanced composition needs slack > 0, the part of delta that is spent on the composition itself; got 0. "
            "With nothing to spend use basic_composition."
        )
    return slack


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 700.0 else math.inf


def _times(a: float, b: float) -> float:
    """A product in which nothing times infinity is nothing."""
    return a * b if a else 0.0
