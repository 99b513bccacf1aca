"""The trade-off curve: what an attacker who accepts some false alarms must miss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from renyi.laws.interval import Interval
from renyi.laws.trade_offs.bearing import Bearing, best_line, separation
from renyi.laws.trade_offs.lines import LARGEST_EPSILON, Least, Lines, Points, Rates
from renyi.numerics.rounding import ULP

_MOST_LINES = 60
"""Lines that are tried for one error rate: each is a question about delta."""


class Profile:
    """delta of one relation at every epsilon in [0, inf], each epsilon asked once: many rates share the work.

    ``ask`` gives the interval of delta, and ``points`` are those that it gave so far. ``ask_largest`` gives the epsilon from
    which on delta does not fall any more: the largest loss, where there is one.
    """

    def __init__(self, ask: Callable[[float], Interval], ask_largest: Callable[[], float] = lambda: math.inf) -> None:
        self._ask = ask
        self._ask_largest = ask_largest
        self._known: dict[float, Interval] = {}
        self.points = Points.none()

    def delta(self, epsilon: float) -> Interval:
        """The interval of delta at an epsilon."""
        if epsilon not in self._known:
            self._known[epsilon] = self._ask(epsilon)
            self.points = self.points.plus(epsilon, self._known[epsilon])
        return self._known[epsilon]

    @cached_property
    def largest(self) -> float:
        """The largest loss, which not every search needs."""
        return self._ask_largest()

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

    def rates_from_above(self, fpr: float, limit: float, bearing: Bearing, mu: float) -> tuple[Rates, Bearing]:
        """The same, but only its side on which no test lies, and close to the best only where that is close to ``limit``.

        The search trusts the profile to be smooth, which costs tightness, not truth, where it is not. It begins where the best
        line of a Gaussian of separation ``mu`` is, on this bearing, and returns the bearing on which it was.
        """
        if 0.0 < fpr < 1.0 and 0.0 < mu < math.inf:
            lines = Lines.at(fpr, limit - fpr, limit)
            seen = best_line(lines, partial(self._height, lines), bearing, mu)
            if seen is not None:
                return _from_above(fpr, lines.least(lines.nearest(self._points()))), seen
        if fpr in (0.0, 1.0) or self.advantage.upper == 0.0:
            return self.rates(fpr), bearing
        lines = Lines.at(fpr, self.advantage.upper, limit)
        found = lines.least(self._search(lines, None, from_above=True))
        return _from_above(fpr, found), Bearing.seen(fpr, found.tpr, found.epsilon) or bearing

    def lies_below(self, rates: Rates, fpr: float, limit: float) -> bool:
        """Whether the line that decided another curve's true-positive rate shows that no test of this one exceeds it."""
        if not 0.0 < fpr < 1.0:
            return False
        self._ask(rates.epsilon)
        lines = Lines.at(fpr, limit - fpr, limit)
        return lines.least(lines.nearest(self._points())).tpr <= rates.tpr.upper

    def _height(self, lines: Lines, epsilon: float) -> tuple[float, float]:
        """The height of a line, in terms of what is minimised, and how uncertain it is."""
        delta = (self._profile if epsilon >= 0.0 else self._opposite).delta(abs(epsilon))
        lower, upper = lines.ends(Points.none().plus(epsilon, delta))
        return float(upper[0]), float(upper[0] - lower[0])

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

    def _search(self, lines: Lines, other: Rates | None, *, from_above: bool = False) -> Points:
        """The epsilons around the one whose line is best, close enough; or close enough from above alone."""
        start, stride = lines.guess(self.advantage.upper)
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
                if from_above and bracket.closed:
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
        self.curves = curves
        self._found: dict[float, Rates] = {}

    @property
    def advantage(self) -> Interval:
        """The largest true-positive rate minus false-positive rate."""
        return _largest([curve.advantage for curve in self.curves])

    def success(self, prior: float) -> Interval:
        """The largest probability to guess right, if the first dataset of a pair was chosen with probability ``prior``."""
        return _largest([curve.success(prior) for curve in self.curves])

    def true_positive_rate(self, fpr: float) -> Interval:
        """The largest true-positive rate at a false-positive rate."""
        return self._rates(fpr).tpr

    def false_negative_rate(self, fpr: float) -> Interval:
        """The smallest false-negative rate at a false-positive rate."""
        return self._rates(fpr).fnr

    def rate_from_above(self, fpr: float, limit: float, heading: Heading | None = None) -> tuple[float, Heading]:
        """No true-positive rate is larger than this one, which is close to the least such where that is close to ``limit``.

        Where a curve exceeds the limit already, others are not asked. The second value says where a search for a similar
        event should begin.
        """
        turn = heading or Heading.straight(len(self.curves), reverse=fpr + limit > 1.0)
        worst: Rates | None = None
        bearings, first = list(turn.bearings), turn.first
        for index in (turn.first, *(i for i in range(len(self.curves)) if i != turn.first)):
            curve = self.curves[index]
            if worst is not None and (worst.tpr.upper > limit or curve.lies_below(worst, fpr, limit)):
                continue
            found, bearings[index] = curve.rates_from_above(fpr, limit, turn.bearings[index], turn.expected(fpr, limit))
            if worst is not None and found.tpr.upper > limit:
                first = index  # those asked before do not exceed it
            if worst is None or found.tpr.upper > worst.tpr.upper:
                worst = found
        assert worst is not None
        return worst.tpr.upper, Heading(first, tuple(bearings), worst.tpr.upper)

    def _in_turn(self, fpr: float) -> tuple[TradeOff, ...]:
        """The curves, that which is likely to decide first."""
        mirror = 0.5 * (1.0 - self.advantage.upper)  # where a curve that is its own mirror image meets it
        return self.curves if fpr <= mirror else self.curves[::-1]

    def _rates(self, fpr: float) -> Rates:
        if fpr not in self._found:
            first, *rest = self._in_turn(fpr)
            worst = first.rates(fpr)
            for curve in rest:
                worst = _worse(worst, curve.rates_beside(fpr, worst))
            self._found[fpr] = worst
        return self._found[fpr]


@dataclass(frozen=True, slots=True)
class Heading:
    """The place of the curve that is likely to decide at the limit, the bearing of each, and the rate that was found."""

    first: int
    bearings: tuple[Bearing, ...]
    last: float = math.nan

    @classmethod
    def straight(cls, curves: int, *, reverse: bool) -> Heading:
        """Before anything is known: to the best lines of Gaussians, from the first curve on, or the last."""
        return cls(curves - 1 if reverse else 0, (Bearing(),) * curves)

    def expected(self, fpr: float, limit: float) -> float:
        """The separation of the next event: that of the limit, or halfway to it, by ratio, from a last one that was far off."""
        wanted, last = separation(fpr, limit), separation(fpr, self.last)
        close = 0.5 * wanted < last < 2.0 * wanted
        return (
            wanted if close or not 0.0 < min(last, wanted) <= max(last, wanted) < math.inf else math.sqrt(last * wanted)
        )


def _from_above(fpr: float, least: Least) -> Rates:
    return Rates(Interval(min(fpr, least.tpr), least.tpr), Interval(least.fnr, 1.0), least.epsilon)


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
