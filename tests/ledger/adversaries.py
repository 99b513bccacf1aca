"""Adversaries who choose each release after seeing the earlier outcomes, on mechanisms with finitely many outcomes.

Probabilities are whole numbers of 1/1024 and e^epsilon is a fraction, rounded down, so that the probability with which a
promise (epsilon, delta) fails is computed without any rounding but that one, which counts against the promise.

A *rule* says whether a release may follow others: the filter that is tested, or the naive rule that stops on the exact
epsilon. A *strategy* is a tree: which release comes first, and for each of its outcomes what comes next. Where the rule
refuses, the run ends.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from renyi import ApproximateDP, Event, Filter, FinitePair

WHOLE = 1024
"""What the probabilities of a release sum to."""

LONGEST = 12
"""The most releases of a strategy that is evaluated by itself."""

Counts = tuple[int, ...]
"""How often each release of a menu was made."""

Tree = tuple[int, tuple["Tree", ...]] | None
"""The number of a release in the menu, and a strategy for each of its outcomes; None ends the run."""

Rule = Callable[[Counts], bool]
"""Whether the run may come to consist of these releases."""


@dataclass(frozen=True)
class Release:
    """A mechanism as the library knows it, and its law with and without the record, in units of 1/1024."""

    event: Event
    p: tuple[int, ...]
    q: tuple[int, ...]

    @classmethod
    def pair(cls, p: tuple[int, ...], q: tuple[int, ...]) -> Release:
        """Any two laws."""
        assert sum(p) == sum(q) == WHOLE
        return cls(FinitePair(tuple(a / WHOLE for a in p), tuple(b / WHOLE for b in q)), p, q)

    @classmethod
    def failing(cls, units: int) -> Release:
        """Nothing is revealed, but with a probability of ``units`` everything is."""
        return cls(ApproximateDP(0.0, units / WHOLE), (units, 0, WHOLE - units), (0, units, WHOLE - units))

    def outcomes(self, reverse: bool) -> list[tuple[int, int]]:
        """The two probabilities of each outcome, for one relation or the other."""
        return list(zip(self.q, self.p, strict=True) if reverse else zip(self.p, self.q, strict=True))


COIN = Release.pair((640, 384), (384, 640))
SMALL_COIN = Release.pair((576, 448), (448, 576))
LOPSIDED = Release.pair((512, 384, 128), (352, 512, 160))
RARE = Release.pair((32, 992), (2, 1022))
FAILING = Release.failing(4)


@dataclass(frozen=True)
class Game:
    """A menu of releases, a level, and the relation: what may be released, and when a promise counts as failed."""

    menu: tuple[Release, ...]
    epsilon: float
    reverse: bool = False

    @property
    def level(self) -> Fraction:
        """e^epsilon, rounded down to about sixteen digits."""
        return Fraction(math.nextafter(math.exp(self.epsilon), 0.0)) * (1 - Fraction(1, 2**50))

    @property
    def none(self) -> Counts:
        """No release at all."""
        return (0,) * len(self.menu)

    def after(self, counts: Counts, release: int) -> Counts:
        """One release more."""
        return (*counts[:release], counts[release] + 1, *counts[release + 1 :])

    def failure(self, tree: Tree, rule: Rule) -> Fraction:
        """The probability of failure of a strategy: the sum of P - e^epsilon Q over the transcripts where it is positive."""
        top, bottom = self.level.numerator, self.level.denominator
        laws = [release.outcomes(self.reverse) for release in self.menu]

        def walk(tree: Tree, counts: Counts, p: int, q: int, length: int) -> int:
            """In units of 1/1024^LONGEST over the denominator of e^epsilon."""
            if tree is not None:
                release, branches = tree
                later = self.after(counts, release)
                if rule(later):
                    ways = zip(laws[release], branches, strict=True)
                    return sum(walk(branch, later, p * a, q * b, length + 1) for (a, b), branch in ways)
            return max(p * bottom - top * q, 0) * WHOLE ** (LONGEST - length)

        return Fraction(walk(tree, self.none, 1, 1, 0), bottom * WHOLE**LONGEST)

    def worst_failure(self, rule: Rule, depth: int) -> Fraction:
        """The largest probability of failure of any strategy with at most so many releases, by dynamic programming.

        What was released and with which outcomes decides everything, in whatever order it came about.
        """
        level = self.level
        laws = [release.outcomes(self.reverse) for release in self.menu]

        @cache
        def value(seen: tuple[Counts, ...]) -> Fraction:
            p = q = Fraction(1)
            for law, times in zip(laws, seen, strict=True):
                for (a, b), number in zip(law, times, strict=True):
                    p, q = p * Fraction(a, WHOLE) ** number, q * Fraction(b, WHOLE) ** number
            best = max(p - level * q, Fraction(0))
            counts = tuple(map(sum, seen))
            if sum(counts) == depth:
                return best
            for release, law in enumerate(laws):
                if rule(self.after(counts, release)):
                    futures = (
                        (*seen[:release], self.after(seen[release], outcome), *seen[release + 1 :])
                        for outcome in range(len(law))
                    )
                    best = max(best, sum(map(value, futures), start=Fraction(0)))
            return best

        return value(tuple((0,) * len(law) for law in laws))

    def trees(self, depth: int) -> Iterator[Tree]:
        """Every strategy with at most so many releases in a row."""
        yield None
        if depth > 0:
            smaller = list(self.trees(depth - 1))
            for index, release in enumerate(self.menu):
                for branches in product(smaller, repeat=len(release.p)):
                    yield index, branches

    def random_tree(self, rng: random.Random, depth: int) -> Tree:
        """A strategy that makes a random choice after each outcome, and seldom ends early."""
        if depth == 0 or rng.random() < 0.03:
            return None
        index = rng.randrange(len(self.menu))
        return index, tuple(self.random_tree(rng, depth - 1) for _ in self.menu[index].p)

    def fixed_failure(self, counts: Counts) -> Fraction:
        """The exact delta of releases that were fixed beforehand."""
        transcripts = {(1, 1): 1}  # the two probabilities of a transcript, and how many have them
        for release, count in zip(self.menu, counts, strict=True):
            for _ in range(count):
                longer: dict[tuple[int, int], int] = {}
                for (p, q), number in transcripts.items():
                    for a, b in release.outcomes(self.reverse):
                        longer[p * a, q * b] = longer.get((p * a, q * b), 0) + number
                transcripts = longer
        level = self.level
        top, bottom = level.numerator, level.denominator
        gains = (number * (p * bottom - top * q) for (p, q), number in transcripts.items())
        return Fraction(sum(gain for gain in gains if gain > 0), bottom * WHOLE ** sum(counts))


def filter_rule(budget: Filter, menu: tuple[Release, ...]) -> Rule:
    """What a filter admits."""
    prices = [budget.price(release.event) for release in menu]

    @cache
    def admits(counts: Counts) -> bool:
        # Each set of releases is reached by a last one: the filter is asked about the whole, which is what it looks at.
        total = sum((price * count for price, count in zip(prices, counts, strict=True)), start=budget.nothing)
        return budget.admits(budget.nothing, total)

    return admits


def naive_rule(menu: tuple[Release, ...], epsilon: float, delta: float) -> Rule:
    """Go on while the exact delta of what was released, as if it had been fixed beforehand, is at most ``delta``."""

    @cache
    def admits(counts: Counts) -> bool:
        games = (Game(menu, epsilon, reverse) for reverse in (False, True))
        return all(game.fixed_failure(counts) <= Fraction(delta) for game in games)

    return admits
