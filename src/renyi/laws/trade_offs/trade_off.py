"""The trade-off curve: what an attacker who accepts some false alarms must miss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from renyi.laws.interval import Interval
from renyi.laws.trade_offs.lines import LARGEST_EPSILON, Lines, Points, Rates
from renyi.numerics.rounding import ULP

_MOST_LINES = 60
"""Lines that are tried for one error rate: each is a question about delta."""


class Profile:
    """delta of one relation at every epsilon in [0, inf], each epsilon asked once: many rates share the work.

    ``ask`` gives the interval of delta, and ``points`` are those that it gave so far. From the epsilon ``largest`` on, the
    largest loss where there is one, delta does not fall any more.
    """

    def __init__(self, ask: Callable[[float], Interval], largest: float = math.inf) -> None:
        self._ask = ask
        self.largest = largest
        self._known: dict[float, Interval] = {}
        self.points = Points.none()

    def delta(self, epsilon: float) -> Interval:
        """The interval of delta at an epsilon."""
        if epsilon not in self._known:
            self._known[epsilon] = self._ask(epsilon)
            self.points = self.points.plus(epsilon, self._known[epsilon])
        return self._known[epsilon]

    def __contains__(self, epsilon: float) -> bool:
        """Whether this epsilon was asked before."""
        return epsilon in self._known

    @property
    def escaped(self) -> Interval:
        """The probability of an infinite loss."""
        return self.delta(self.largest)


class TradeOff:
    """The error rates of every test that tells a first dataset (law P) from a second one (law Q).

    The false-positive rate (``fpr``) is how often the second is taken for the first, the true-positive rate how often the
    first is recognised. With delta(epsilon) the hockey-stick divergence of P from Q at e^epsilon, every test has

        tpr <= e^epsilon fpr + delta(epsilon)    for every real epsilon,

    and some test reaches the least of these lines (Neyman & Pearson): Dong, Roth & Su (2022), arXiv:1905.02383v3,
    Proposition 2.12, without the symmetry that is assumed there; Wasserman & Zhou (2010), arXiv:0811.2501v3, for one line.
    At a negative epsilon the lines are those of the two datasets exchanged, delta' being the divergence of Q from P:

        delta(-epsilon) = 1 - e^-epsilon + e^-epsilon delta'(epsilon).

    1 - tpr, as a function of fpr, is convex and falling, and exchanging the datasets gives its inverse.

    Every line is a bound by itself, so the upper end of a true-positive rate needs no search to be right, only to be
    tight. The lower end is what convexity leaves possible between the lines that were tried; it holds of one test if the lower
    ends of both profiles hold of one pair of datasets.
    """

    def __init__(self, profile: Profile, opposite: Profile | None = None) -> None:
        """A curve from delta (``profile``) and delta' (``opposite``; the same where the order makes no difference)."""
        self._profile = profile
        self._opposite = profile if opposite is None else opposite
        self._found: dict[float, Rates] = {}

    @property
    def advantage(self) -> Interval:
        """The largest tpr - fpr: delta at epsilon 0, the total variation distance (Wasserman & Zhou 2010)."""
        return self._profile.delta(0.0)

    def success(self, prior: float) -> Interval:
        """The largest probability to guess right, if the first dataset was chosen with probability ``prior``.

        The guess "first" on an event S is right with prior P(S) + (1 - prior)(1 - Q(S)), and P(S) - e^epsilon Q(S) is at most
        delta at the odds e^epsilon = (1 - prior)/prior. With m and M the smaller and the larger of prior and 1 - prior this
        is M + m delta(log(M/m)), delta' in its place where the first dataset is the likelier.
        """
        rare, common = sorted((prior, 1.0 - prior))
        if rare == 0.0:
            return Interval(1.0, 1.0)
        profile = self._profile if prior <= 0.5 else self._opposite
        delta = profile.delta(max(math.log(common) - math.log(rare), 0.0))
        # An epsilon that is off by rounding turns m e^epsilon - M from 0 to that rounding.
        slack = 16.0 * ULP * (1.0 + abs(math.log(rare)))
        lower = max((common + rare * delta.lower) - slack, common)
        upper = min((common + rare * delta.upper) + slack, 1.0)
        return Interval(min(lower, upper), upper)

    def true_positive_rate(self, fpr: float) -> Interval:
        """The largest true-positive rate at a false-positive rate."""
        return self.rates(fpr).tpr

    def false_negative_rate(self, fpr: float) -> Interval:
        """The smallest false-negative rate at a false-positive rate."""
        return self.rates(fpr).fnr

    def rates(self, fpr: float) -> Rates:
        """Both, at a false-positive rate."""
        if fpr not in self._found:
            self._found[fpr] = self._find(fpr, None)
        return self._found[fpr]

    def rates_beside(self, fpr: float, other: Rates) -> Rates:
        """The same, but no closer than needed to see that another curve, whose rates are given, lies nowhere below."""
        return self._found[fpr] if fpr in self._found else self._find(fpr, other)

    def rates_from_above(self, fpr: float, limit: float, shift: float) -> Rates:
        """The same, but only its side on which no test lies, and close to the best only where that is close to ``limit``.

        The search trusts the profile to be smooth, which costs tightness, not truth, where it is not. It begins ``shift`` away
        from the guess.
        """
        if fpr in (0.0, 1.0) or self.advantage.upper == 0.0:
            return self.rates(fpr)
        lines = Lines.at(fpr, self.advantage.upper, limit)
        least = lines.least(self._search(lines, None, shift))
        return Rates(Interval(min(fpr, least.tpr), least.tpr), Interval(least.fnr, 1.0), least.epsilon)

    def _find(self, fpr: float, other: Rates | None) -> Rates:
        if fpr == 1.0:
            return Rates(Interval(1.0, 1.0), Interval(0.0, 0.0), -LARGEST_EPSILON)
        if fpr == 0.0:
            return Rates(self._profile.escaped, _complement(self._profile.escaped), LARGEST_EPSILON)
        if self.advantage.upper == 0.0:
            return Rates(Interval(fpr, fpr), _complement(Interval(fpr, fpr)), 0.0)
        lines = Lines.at(fpr, self.advantage.upper)
        found = lines.rates(self._search(lines, other))
        if other is None and found.tpr.lower == fpr:  # the best line may lie at infinity
            least = min(max(self._profile.escaped.lower, fpr), found.tpr.upper)
            most = max(min(_complement(Interval(least, 1.0)).upper, found.fnr.upper), found.fnr.lower)
            return Rates(Interval(least, found.tpr.upper), Interval(found.fnr.lower, most), found.epsilon)
        return found

    def _search(self, lines: Lines, other: Rates | None, shift: float | None = None) -> Points:
        """The epsilons around the one whose line is best, close enough; with a ``shift``, from above alone."""
        start, stride = lines.guess(self.advantage.upper)
        if shift:
            start, stride = min(max(start + shift, -LARGEST_EPSILON), LARGEST_EPSILON), 0.02 * stride
        for profile in (self._profile, self._opposite):
            if profile.largest <= LARGEST_EPSILON:
                profile.delta(profile.largest)
        if other is not None:
            self._ask(other.epsilon)
        elif not self._points().surround(start):
            self._ask(start)
        for turn in range(_MOST_LINES):
            near = lines.nearest(self._points())
            if other is not None:
                least = lines.least(near)
                if least.tpr <= other.tpr.upper and least.fnr >= other.fnr.lower:
                    break
            bracket = lines.bracket(near)
            if bracket.outwards <= 0.0:
                floor, lowest = lines.floor(near, upper_only=not bracket.closed)
                if bracket.value - floor <= 2.0 * bracket.tolerance or bracket.is_narrow:
                    break
                if shift is not None and bracket.closed:
                    if bracket.value - floor > bracket.smooth_tolerance:
                        bracket = replace(bracket, tolerance=bracket.smooth_tolerance)
                    elif lines.gain_if_smooth(bracket, near) <= bracket.tolerance:
                        break
                following = lines.following(bracket, lowest, turn, near)
            if bracket.outwards != 0.0:
                edge = float(near.epsilon[-1 if bracket.outwards > 0.0 else 0])
                stride *= 2.0
                following = min(max(edge + bracket.outwards * stride, -LARGEST_EPSILON), LARGEST_EPSILON)
            if not self._ask(following):
                break
        return lines.nearest(self._points())

    def _ask(self, epsilon: float) -> bool:
        """Ask for the line of an epsilon; whether it was not known before."""
        profile = self._profile if epsilon >= 0.0 else self._opposite
        if abs(epsilon) in profile:
            return False
        profile.delta(abs(epsilon))
        return True

    def _points(self) -> Points:
        return Points.both(self._opposite.points, self._profile.points)


class WorstTradeOff:
    """The error rates of an attacker who may be up against any of several pairs of datasets: the worst of their curves.

    For the two orders of one pair these curves are mirror images, so that the worst of them, unlike each, need not be convex.
    ``curves`` begins with the one that is likely to decide at few false alarms; the last is asked first at many. What one
    of them reaches, another need not be known more closely than to lie below.
    """

    def __init__(self, curves: tuple[TradeOff, ...]) -> None:
        self._curves = curves
        self._found: dict[float, Rates] = {}

    @property
    def advantage(self) -> Interval:
        """The largest true-positive rate minus false-positive rate."""
        return _largest([curve.advantage for curve in self._curves])

    def success(self, prior: float) -> Interval:
        """The largest probability to guess right, if the first dataset of a pair was chosen with probability ``prior``."""
        return _largest([curve.success(prior) for curve in self._curves])

    def true_positive_rate(self, fpr: float) -> Interval:
        """The largest true-positive rate at a false-positive rate."""
        return self._rates(fpr).tpr

    def false_negative_rate(self, fpr: float) -> Interval:
        """The smallest false-negative rate at a false-positive rate."""
        return self._rates(fpr).fnr

    def rate_from_above(self, fpr: float, limit: float, shift: float) -> tuple[float, float]:
        """No true-positive rate is larger than this one, which is close to the least such where that is close to ``limit``.

        The search begins ``shift`` away from where a Gaussian of this advantage has its best line; the second number is the
        shift that was found, with which to begin for a similar event.
        """
        first, *rest = self._in_turn(fpr)
        worst = first.rates_from_above(fpr, limit, shift)
        for curve in rest:
            worst = _worse(worst, curve.rates_beside(fpr, worst))
        upper = self.advantage.upper
        return worst.tpr.upper, worst.epsilon - Lines.at(fpr, upper).guess(upper)[0] if 0.0 < fpr < 1.0 else 0.0

    def _in_turn(self, fpr: float) -> tuple[TradeOff, ...]:
        """The curves, that which is likely to decide first."""
        mirror = 0.5 * (1.0 - self.advantage.upper)  # where a curve that is its own mirror image meets it
        return self._curves if fpr <= mirror else self._curves[::-1]

    def _rates(self, fpr: float) -> Rates:
        if fpr not in self._found:
            first, *rest = self._in_turn(fpr)
            worst = first.rates(fpr)
            for curve in rest:
                worst = _worse(worst, curve.rates_beside(fpr, worst))
            self._found[fpr] = worst
        return self._found[fpr]


def _worse(first: Rates, second: Rates) -> Rates:
    fnr = Interval(min(first.fnr.lower, second.fnr.lower), min(first.fnr.upper, second.fnr.upper))
    epsilon = first.epsilon if first.tpr.upper >= second.tpr.upper else second.epsilon
    return Rates(_largest([first.tpr, second.tpr]), fnr, epsilon)


def _largest(found: list[Interval]) -> Interval:
    return Interval(max(one.lower for one in found), max(one.upper for one in found))


def _complement(rate: Interval) -> Interval:
    """One minus a rate, rounded outwards."""
    return Interval(
        max(math.nextafter(1.0 - rate.upper, -1.0), 0.0) if rate.upper > 0.0 else 1.0,
        min(math.nextafter(1.0 - rate.lower, 2.0), 1.0),
    )
