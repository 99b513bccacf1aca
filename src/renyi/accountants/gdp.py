"""Gaussian differential privacy: the one Gaussian release that costs at least as much as a whole run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri_exp

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.questions import choose
from renyi.composing.compose import WORK
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.composing.steps import event_steps
from renyi.errors import TooLarge, UnsupportedError
from renyi.events.event import Event
from renyi.events.serial import to_dict
from renyi.laws.interval import Interval
from renyi.laws.pairs.gaussian import GaussianPair
from renyi.laws.relation import Adjacency, Relation
from renyi.numerics.printing import rounded_up
from renyi.numerics.roots.falling_root import falling_root
from renyi.numerics.work import allowance
from renyi.sampling.poisson.pair import PoissonPair
from renyi.signatures import taught

_CLOSE = 5e-7
"""How far above the largest mu of a node the answer may lie, relatively, before nodes are added: half of what is promised."""

_MOST_NODES = 250
"""Levels at which the run's delta is asked for; a run that is nearly Gaussian needs the most."""

_FIRST_NODES = 12
"""Levels to begin with, even between 0 and the epsilon at the floor."""

_REGRET_WIDTH = 1e-3
"""How close the regret is bounded, relatively: nobody prints more digits of it."""

_LEAST_REGRET = 1e-9
"""A regret below which nobody asks how small it is."""

_FARTHEST_REGRET = 600.0
"""An epsilon beyond which e^-epsilon, and with it all regret, is less than 1e-260."""

_ROUNDING = 1e-11
"""A relative margin for comparing two deltas of eleven digits each."""


@dataclass(frozen=True, slots=True)
class Gdp:
    """A run is mu-Gaussian differentially private wherever its delta is at least ``floor``.

    That is, for every epsilon >= 0 and both orders of any two neighbours, delta(epsilon) <= max(delta_G(epsilon), ``floor``),
    with delta_G the profile of Gaussian noise with noise multiplier 1/mu. The claim holds at the upper end of ``mu``, and at no
    value below the lower. ``regret`` bounds by how much the Gaussian overstates the run: the trade-off curve of the run, moved
    down and left by it, lies below the Gaussian's.

    References:
        Dong, Roth & Su (2022), arXiv:1905.02383v3, Definition 2.6.
        Gomez et al. (2025), arXiv:2503.10945: mu with its regret as what to report.
    """

    mu: Interval
    floor: float
    regret: float
    event: Event
    adjacency: Adjacency
    relation: Relation

    @property
    def rho(self) -> float:
        """The same as approximate zero-concentrated privacy: ``floor``-approximate rho-zCDP, with rho = mu^2/2.

        max(delta_G, d) <= d + (1 - d) delta_G, the profile of a release that reveals everything with probability d and is
        Gaussian otherwise. What a profile dominates is post-processing of it (Blackwell), and this release is d-approximate
        mu^2/2-zCDP (Bun & Steinke 2016, arXiv:1605.02065v1, Definition 8.1), which post-processing keeps.
        """
        return 0.5 * self.mu.upper * self.mu.upper * (1.0 + 4e-16)

    def __str__(self) -> str:
        where = f" wherever delta is at least {rounded_up(self.floor)}" if self.floor > 0.0 else ""
        return (
            f"{rounded_up(self.mu.upper)}-Gaussian differentially private for {self.adjacency.value} neighbours{where} "
            f"(regret at most {rounded_up(self.regret)}); the relation that decides is {self.relation.value}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The same for machines. An infinite number is the string "inf", because JSON has none."""
        ends = {"lower": self.mu.lower, "upper": self.mu.upper}
        return {
            "mu": {name: "inf" if math.isinf(value) else value for name, value in ends.items()},
            "floor": self.floor,
            "regret": self.regret,
            "adjacency": self.adjacency.value,
            "relation": self.relation.value,
            "event": to_dict(self.event),
        }


@taught
def gdp(
    event: Event,
    *,
    delta: float = 1e-12,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> Gdp:
    """The least mu for which an event is mu-Gaussian differentially private wherever its delta is at least ``delta``.

    Without a floor, at ``delta=0``, the claim holds for every delta however small, and mu is large: a Poisson sample of a
    Gaussian release hides nothing of it from an attacker who is content with a chance of 1e-300.

    >>> import renyi
    >>> run = renyi.Gaussian(1.1).on(renyi.Poisson(rate=256 / 60_000)) * 14_063
    >>> round(renyi.gdp(run, delta=1e-5).mu.upper, 4)
    0.5862
    >>> round(renyi.gdp(run, delta=0.0).mu.upper, 2)
    107.81
    """
    event, adjacency = expect(event, adjacency)
    floor, chosen = check.asked_delta(delta=delta), choose(accountant)
    try:
        with allowance(WORK), np.errstate(all="ignore"):
            exact = _gaussian_mu(event, adjacency)
    except TooLarge:  # then it is no run of Gaussian noise
        exact = None
    if exact is not None and (floor == 0.0 or not exact.sampled):
        # A sample's loss is unbounded where its probability is next to nothing: there the Gaussian overstates it by anything.
        return Gdp(exact.mu, floor, 1.0 if exact.sampled else 0.0, event, adjacency, adjacency.relations[0])
    last = chosen.answer(event, EpsilonAt(floor), adjacency.relations)
    surely, top = last.interval.lower, last.interval.upper
    if math.isinf(top) and floor == 0.0:
        raise UnsupportedError(
            "without a floor mu is known here for Gaussian noise, for Poisson samples of it and for losses that are bounded; "
            f"got {event!r}. Give delta, such as 1e-12: mu then holds wherever delta(epsilon) is at least that."
        )
    if math.isinf(top):
        return Gdp(
            Interval(math.inf if math.isinf(surely) else 0.0, math.inf), floor, 1.0, event, adjacency, last.relation
        )
    run = _Run(lambda epsilon: chosen.answer(event, DeltaAt(epsilon), adjacency.relations).interval, floor)
    mu = run.mu(surely, top)
    return Gdp(mu, floor, run.regret(mu.upper), event, adjacency, last.relation)


class _GaussianMu(NamedTuple):
    """Mu at every delta, and whether a part of the run is on samples."""

    mu: Interval
    sampled: bool


def _gaussian_mu(event: Event, adjacency: Adjacency) -> _GaussianMu | None:
    """Mu of a run of Gaussian noise and its Poisson samples at every delta; None for other runs.

    From sqrt(T)/sigma on, for T steps of noise sigma, whatever the rate: joint convexity bounds a sample by the whole, and that
    every draw took the record has a probability that does not depend on epsilon, so that no smaller mu will do.
    """
    mu, sampled = 0.0, False
    for relation in adjacency.relations:
        counted = event_steps(event, relation).counted
        bases = [(pair.base if isinstance(pair, PoissonPair) and pair.rate > 0.0 else pair, n) for pair, n in counted]
        noises = [(base.noise, n) for base, n in bases if isinstance(base, GaussianPair)]
        if len(noises) < len(bases):
            return None
        sampled |= any(isinstance(pair, PoissonPair) for pair, _ in counted)
        # The root of a sum of squares, none of which can overflow or vanish by itself.
        mu = max(mu, math.hypot(*(math.sqrt(n) / noise if noise > 0.0 else math.inf for noise, n in noises)))
    return _GaussianMu(Interval(mu * (1.0 - 1e-14), mu * (1.0 + 1e-14)), sampled)


class _Run:
    """The profile of a run at chosen levels: an upper end between them by chords, because delta is convex in e^epsilon."""

    def __init__(self, delta: Callable[[float], Interval], floor: float) -> None:
        self._delta, self._floor = delta, floor
        self._known: dict[float, Interval] = {}

    def _at(self, epsilon: float) -> Interval:
        if epsilon not in self._known:
            self._known[epsilon] = self._delta(epsilon)
        return self._known[epsilon]

    def mu(self, surely: float, top: float) -> Interval:
        """The least mu whose Gaussian lies above the run, both ends; delta is the floor between ``surely`` and ``top``."""
        # Just left of the floor the lower end of delta is above it, so that the lower end of mu holds too.
        nodes = sorted({*(top * k / _FIRST_NODES for k in range(_FIRST_NODES + 1)), surely * (1.0 - 1e-9)})
        lower = upper = 0.0
        fresh = nodes
        while True:
            for epsilon in fresh:
                ends = self._at(epsilon)
                upper = max(upper, _mu_at(epsilon, ends.upper))
                if ends.lower >= self._floor:
                    lower = max(lower, _mu_at(epsilon, ends.lower) * (1.0 - _ROUNDING))
            if math.isinf(upper):
                return Interval(lower if math.isfinite(lower) else 0.0, math.inf)
            target = upper * (1.0 + _CLOSE)
            fresh = [0.5 * (a + b) for a, b in pairwise(nodes) if not self._lies_below(target, a, b)]
            if not fresh or len(nodes) + len(fresh) > _MOST_NODES:
                break
            nodes = sorted(nodes + fresh)
        more = 10.0 * _CLOSE
        while target < math.inf and not all(self._lies_below(target, a, b) for a, b in pairwise(nodes)):
            target, more = target * (1.0 + more), 1.5 * more
        return Interval(min(lower, target), target)

    def _lies_below(self, mu: float, start: float, end: float) -> bool:
        """Whether the chord between two levels lies below the Gaussian's profile, which is convex too.

        Their difference has its minimum where the slopes agree: in y = e^(epsilon - start) the Gaussian's slope is
        -e^start Phi(-mu/2 - epsilon/mu).
        """
        first, last = self._at(start).upper, self._at(end).upper
        width = math.expm1(min(end - start, 700.0))
        fall = (first - last) / width
        where = end
        if fall > 0.0:
            where = -mu * (float(ndtri_exp(min(math.log(fall) - start, 0.0))) + 0.5 * mu)
        where = min(max(where, start), end)
        chord = first - fall * math.expm1(min(where - start, 700.0))
        return chord * (1.0 + _ROUNDING) <= _profile(mu, where) or first <= self._floor

    def regret(self, mu: float) -> float:
        """A bound on the largest (delta_G - delta)/(1 + e^epsilon) over epsilon >= 0: the regret, by conjugacy."""
        levels = sorted(level for level in self._known if level < _FARTHEST_REGRET)
        while True:
            bounds = [self._regret_between(mu, levels, index) for index in range(len(levels) - 1)]
            least = max((_profile(mu, one) - self._at(one).upper) / (1.0 + math.exp(one)) for one in levels)
            beyond = _profile(mu, levels[-1]) / (1.0 + math.exp(levels[-1]))
            enough = max(least, beyond, _LEAST_REGRET) * (1.0 + _REGRET_WIDTH)
            wide = [0.5 * sum(levels[i : i + 2]) for i, bound in enumerate(bounds) if bound > enough]
            if not wide or len(levels) + len(wide) > _MOST_NODES:
                return max(*bounds, beyond, 0.0)
            levels = sorted(levels + wide)

    def _regret_between(self, mu: float, levels: list[float], index: int) -> float:
        """The same between two levels: delta_G lies below its chord, and delta above the lines through its neighbours.

        In y = e^(epsilon - start) all of these are straight, and a quotient of straight lines is largest at an end.
        """
        start, end = levels[index : index + 2]
        ends, reach = (self._at(start), self._at(end)), math.expm1(end - start)
        tops = _profile(mu, start), _profile(mu, end)
        right = left = None
        if index > 0:
            before = levels[index - 1]
            right = (ends[0].lower - self._at(before).upper) / -math.expm1(
                before - start
            )  # the slope on the left at most
        if index + 2 < len(levels):
            after = levels[index + 2]
            left = (self._at(after).upper - ends[1].lower) / (math.exp(after - start) - math.exp(end - start))

        def below(x: float) -> float:
            """A lower end of delta at y = 1 + x."""
            found = [ends[1].lower]
            if right is not None:
                found.append(ends[0].lower + right * x)
            if left is not None:
                found.append(ends[1].lower - left * (reach - x))
            return max(found)

        places = [0.0, reach]
        if right is not None and left is not None and right != left:
            crossing = (ends[1].lower - left * reach - ends[0].lower) / (right - left)
            places += [crossing] if 0.0 < crossing < reach else []
        gaps = [
            (tops[0] + (tops[1] - tops[0]) * x / reach - below(x)) / (1.0 + math.exp(start) * (1.0 + x)) for x in places
        ]
        return max(gaps) * (1.0 + 1e-9)


def _profile(mu: float, epsilon: float) -> float:
    """delta of the Gaussian with this mu."""
    return math.exp(float(GaussianPair(1.0 / mu).log_profile(np.array([epsilon]))[0])) if mu > 0.0 else 0.0


def _mu_at(epsilon: float, delta: float) -> float:
    """The mu whose Gaussian has this delta at this epsilon, from above; it rises with mu."""
    if delta == 0.0:
        return 0.0
    log_delta = math.log(delta)

    def missing(log_mu: float) -> float:
        return log_delta - float(GaussianPair(math.exp(-log_mu)).log_profile(np.array([epsilon]))[0])

    low, high = -700.0 * 0.9, 0.0
    while missing(high) > 0.0:
        high += 2.0
        if high > 300.0:
            return math.inf
    return math.exp(falling_root(missing, low, high)[1]) * (1.0 + _ROUNDING)
