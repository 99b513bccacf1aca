"""How many memberships can be guessed right in one run: what a claim allows, by two theorems.

Of m canaries each was among the data or not, by a fair coin. Somebody who sees what the run released guesses k of the coins.
With C right guesses, what is bounded is P[C >= c].

Steinke, Nasr & Jagielski (2023), arXiv:2305.08846, Theorem 5.2: under (epsilon, delta), with W binomial of k trials and success
e^epsilon/(1 + e^epsilon),

    P[C >= c] <= P[W >= c] + 2 m delta max_{i = 1..m} P[c > W >= c - i]/i.

Mahloujifar, Melis & Chaudhuri (2025), arXiv:2410.22235, Algorithm 3, here as a recursion of tails. Let F(y) be the smallest
probability, under one of two neighbours, of what has probability y under the other: convex, and the same both ways round.
Take one canary i, all other coins fixed, and what is seen when its guess is b and at least j of the other guesses are right.
It is right under u_i = b and wrong under u_i = 1 - b. So, averaged over the coins and over i (Jensen), with P_j = P[C >= j],

    E[(k - C) 1{C >= j}]/m >= F(E[C 1{C >= j + 1}]/m).

Summed by parts, E[C 1{C >= j + 1}] = (j + 1) P_{j+1} + sum_{l > j+1} P_l, and E[(k - C) 1{C >= j}] = (k - j) P_j -
sum_{l > j} P_l:

    P_j >= (sum_{l > j} P_l + m F(((j + 1) P_{j+1} + sum_{l > j+1} P_l)/m))/(k - j),      and P_j >= P_{j+1}.

The right sides rise with every P_l. So if P_c >= alpha, the recursion from P_c = alpha and P_l = 0 beyond gives lower bounds of
all P_j; and if one of them exceeds 1, then P[C >= c] < alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from renyi.accountants import delta as delta_of
from renyi.accountants import epsilon as epsilon_of
from renyi.events.event import Event
from renyi.laws.relation import Adjacency

Array = NDArray[np.float64]

LINES = 32
"""Epsilons whose deltas bound the trade-off curve from below: more of them come closer to it, any number is valid."""

_LAST_DELTA = 1e-9
"""The delta of the last of them; what a few thousand guesses show is far larger."""

_ROUNDING = 1e-9
"""How far above 1 a lower bound of a probability must lie to be a contradiction."""

_LARGEST_EPSILON = 64.0
"""Epsilon up to which one is looked for: k guesses, all right, are worth about log(k)."""


def probability_upper(guesses: int, right: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """P[C >= right] under (epsilon, delta), from above: Steinke, Nasr & Jagielski (2023), Theorem 5.2."""
    counts = np.arange(guesses + 1)
    # log of e^epsilon/(1 + e^epsilon), and of the rest
    log_right = -math.log1p(math.exp(-epsilon))
    log_wrong = log_right - epsilon
    logs = gammaln(guesses + 1) - gammaln(counts + 1) - gammaln(guesses - counts + 1)
    mass = np.exp(logs + counts * log_right + (guesses - counts) * log_wrong)
    tail = float(mass[right:].sum())
    if right == 0 or delta == 0.0:
        return min(tail, 1.0)
    below = np.cumsum(mass[:right][::-1]) / np.arange(1, right + 1)
    return min(tail + 2.0 * canaries * delta * float(below.max()), 1.0)


def epsilon_lower(guesses: int, right: int, canaries: int, *, delta: float, doubt: float) -> float:
    """The epsilon below which none holds at ``delta``, by that theorem, with probability 1 - ``doubt``."""

    def refuted(epsilon: float) -> bool:
        return probability_upper(guesses, right, canaries, epsilon=epsilon, delta=delta) <= doubt

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, _LARGEST_EPSILON
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class Lines:
    """The claimed curve from below: lines of the profile, which hold for both orders of two neighbours.

    Wasserman & Zhou (2010), Theorem 2.4: P'[E] >= e^-epsilon (P[E] - delta), and P'[E] >= 1 - delta - e^epsilon (1 - P[E]).
    """

    epsilon: Array
    delta: Array

    @classmethod
    def of(cls, event: Event, adjacency: Adjacency) -> Lines:
        """Lines of an event's upper ends of delta."""
        last = epsilon_of(event, delta=_LAST_DELTA, adjacency=adjacency)
        asked = np.linspace(0.0, min(last, _LARGEST_EPSILON), LINES)
        found = [delta_of(event, epsilon=float(one), adjacency=adjacency) for one in asked]
        return cls(asked, np.array(found))

    def least(self, probability: float) -> float:
        """F: what has this probability under one dataset has at least this under its neighbour."""
        rising = np.exp(-self.epsilon) * (probability - self.delta)
        falling = 1.0 - self.delta - np.exp(self.epsilon) * (1.0 - probability)
        return max(0.0, float(rising.max()), float(falling.max()))

    def refuted(self, guesses: int, right: int, canaries: int, doubt: float) -> bool:
        """Whether so many right guesses have a probability below ``doubt`` under every mechanism with this curve."""
        here, beyond = doubt, 0.0  # P_{j+1}, and the sum of P_l over l > j + 1
        for j in range(right - 1, -1, -1):
            least = self.least(((j + 1) * here + beyond) / canaries)
            beyond += here
            here = max(here, (beyond + canaries * least) / (guesses - j))
            if here > 1.0 + _ROUNDING:
                return True
        return False
