"""What an attacker can find out: error rates instead of epsilon."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from renyi import check
from renyi.accountants.accountant import Accountant, expect
from renyi.accountants.questions import choose
from renyi.composing.compose import WORK
from renyi.composing.question import DeltaAt, EpsilonAt
from renyi.composing.steps import event_steps
from renyi.errors import TooLarge
from renyi.events.event import Event
from renyi.events.serial import to_dict
from renyi.laws.interval import Interval
from renyi.laws.relation import Adjacency, Relation
from renyi.laws.trade_offs.trade_off import Profile, TradeOff, WorstTradeOff
from renyi.numerics.printing import rounded_up
from renyi.numerics.work import allowance
from renyi.signatures import taught

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Risk:
    """How well the best attacker tells two neighbouring datasets apart, such as with and without one person.

    Every figure is an interval: no attacker does better than the upper end, whatever else they know; where the lower end is not
    trivial, a test of some two neighbours reaches it. False positives are those whom the attacker takes for members and who are
    not. Which of the two datasets counts as "with" is left to the attacker: each order has a curve of its own, and every figure
    is that of the worse. ``relation`` is the order by which the bound on the advantage was found.

    References:
        Wasserman & Zhou (2010), arXiv:0811.2501v3, Theorem 2.4, and Dong, Roth & Su (2022), arXiv:1905.02383v3,
        Proposition 2.12: error rates from (epsilon, delta).
        Kulynych et al. (2024), arXiv:2407.02191: advantage and rates as targets.
    """

    event: Event
    adjacency: Adjacency
    method: str
    relation: Relation
    curve: WorstTradeOff

    @property
    def advantage(self) -> Interval:
        """The largest true-positive rate minus false-positive rate."""
        return self.curve.advantage

    def true_positive_rate(self, fpr: float) -> Interval:
        """The share of members that an attacker finds who accepts false alarms at the rate ``fpr``."""
        return self.curve.true_positive_rate(check.probability(fpr=fpr))

    def false_negative_rate(self, fpr: float) -> Interval:
        """The share of members that the attacker misses: one minus the former, with its own digits."""
        return self.curve.false_negative_rate(check.probability(fpr=fpr))

    def success(self, prior: float = 0.5) -> Interval:
        """The probability of a right guess about membership, which had the probability ``prior`` beforehand.

        Members are those in the first dataset of either order, the worse of the two, so ``prior`` and 1 - ``prior`` agree.
        """
        if check.probability(prior=prior) >= 0.5 and self.advantage.upper == 0.0:
            return Interval(prior, prior)  # equal laws: the likelier guess, and no rounding on top of it
        return self.curve.success(check.probability(prior=prior))

    def sentences(self, fpr: tuple[float, ...] = (0.01,), prior: tuple[float, ...] = (0.5,)) -> tuple[str, ...]:
        """The figures in words, rounded up."""
        return (
            *(
                f"An attacker who accepts {_percent(rate)} false alarms finds at most "
                f"{rounded_up(100.0 * self.true_positive_rate(rate).upper)} % of members."
                for rate in fpr
            ),
            *(
                f"If {_percent(chance)} of candidates are members, an attacker guesses right for at most "
                f"{rounded_up(100.0 * self.success(chance).upper)} % of candidates; without the release for "
                f"{_percent(max(chance, 1.0 - chance))}."
                for chance in prior
            ),
            "An attacker's true-positive rate exceeds their false-positive rate by at most "
            f"{rounded_up(self.advantage.upper)}.",
        )

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        """The sentences as a list, which notebooks show in place of the fields."""
        return f"<ul>{''.join(f'<li>{html.escape(sentence)}</li>' for sentence in self.sentences())}</ul>"

    def to_dict(self, fpr: tuple[float, ...] = (0.01,), prior: tuple[float, ...] = (0.5,)) -> dict[str, Any]:
        """The same for machines."""
        return {
            "advantage": _ends(self.advantage),
            "rates": [{"fpr": rate, "tpr": _ends(self.true_positive_rate(rate))} for rate in fpr],
            "success": [{"prior": chance, "probability": _ends(self.success(chance))} for chance in prior],
            "adjacency": self.adjacency.value,
            "method": self.method,
            "relation": self.relation.value,
            "event": to_dict(self.event),
        }


@taught
def risk(event: Event, *, adjacency: Adjacency = Adjacency.ADD_OR_REMOVE, accountant: Accountant | None = None) -> Risk:
    """What an attacker can find out from an event.

    >>> import renyi
    >>> found = renyi.risk(renyi.Gaussian(2.0))
    >>> found.advantage.upper  # 2 Phi(1/4) - 1
    0.1974126513...
    >>> found.true_positive_rate(fpr=0.01).upper  # Phi(Phi^-1(0.01) + 1/2)
    0.0338989...
    >>> found.success(prior=0.5).upper
    0.5987063256...
    """
    event, adjacency = expect(event, adjacency)
    chosen = choose(accountant)
    first = chosen.answer(event, DeltaAt(0.0), adjacency.relations)
    return Risk(event, adjacency, first.method, first.relation, trade_off_curve(event, adjacency, chosen))


@overload
def trade_off(
    event: Event, *, fpr: float, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> float: ...
@overload
def trade_off(
    event: Event, *, fpr: ArrayLike, adjacency: Adjacency = ..., accountant: Accountant | None = ...
) -> Array | float: ...
@taught
def trade_off(
    event: Event,
    *,
    fpr: ArrayLike,
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    accountant: Accountant | None = None,
) -> Array | float:
    """The trade-off curve f: the smallest false-negative rate of any attacker at a false-positive rate, a lower bound on it.

    The event is f-differentially private: Dong, Roth & Su (2022), arXiv:1905.02383v3, Definition 2.3. Where the order of two
    neighbours matters (sampling), f is the smaller of two convex curves, each reached by a test, and need not be convex
    itself. ``fpr`` may be an array, whose rates share the work.

    >>> import renyi
    >>> renyi.trade_off(renyi.Gaussian(1.0), fpr=[0.0, 0.01, 0.5]).round(4)
    array([1.    , 0.9076, 0.1587])
    """
    event, adjacency = expect(event, adjacency)
    given = check.array("a number in [0, 1]", fpr=fpr)
    rates = [check.probability(fpr=float(rate)) for rate in given.flat]
    curve = trade_off_curve(event, adjacency, choose(accountant))
    missed = {rate: curve.false_negative_rate(rate).lower for rate in sorted(set(rates))}
    values = np.array([missed[rate] for rate in rates])
    return float(values[0]) if given.ndim == 0 else values.reshape(given.shape)


def trade_off_curve(event: Event, adjacency: Adjacency, accountant: Accountant) -> WorstTradeOff:
    """The worst curve of a canonical event over the relations of an adjacency, by an accountant's profiles.

    The relations of an adjacency come with their opposites, whose profiles are the lines of negative epsilon. Lower ends of
    both hold of one pair of neighbours: a pair that is attained and dominates a relation at every real epsilon is, reversed,
    what the opposite relation has, for each of two such pairs dominates the other one's reverse.
    """
    relations = _unlike(event, adjacency.relations)

    @cache
    def distance() -> Interval:
        return total_variation(event, adjacency, accountant)

    def profile(relation: Relation) -> Profile:
        def delta(epsilon: float) -> Interval:
            return accountant.answer(event, DeltaAt(epsilon), (relation,)).interval if epsilon > 0.0 else distance()

        return Profile(delta, lambda: accountant.answer(event, EpsilonAt(0.0), (relation,)).interval.upper)

    profiles = {relation: profile(relation) for relation in relations}
    return WorstTradeOff(
        tuple(TradeOff(own, profiles.get(relation.opposite, own)) for relation, own in profiles.items())
    )


def total_variation(event: Event, adjacency: Adjacency, accountant: Accountant) -> Interval:
    """The distance of the two datasets' outputs, delta at 0: the same both ways round, so that one relation serves all."""
    return accountant.answer(event, DeltaAt(0.0), adjacency.relations[:1]).interval


def _unlike(event: Event, relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """The relations without those whose law is that of an earlier one: noise costs the same both ways round."""
    first, *rest = relations
    with allowance(WORK), np.errstate(all="ignore"):
        return (first, *(relation for relation in rest if not _alike(event, first, relation)))


def _alike(event: Event, first: Relation, second: Relation) -> bool:
    try:
        return event_steps(event, first) == event_steps(event, second)
    except TooLarge:
        return False


def _percent(rate: float) -> str:
    return f"{100.0 * rate:.6g} %"


def _ends(interval: Interval) -> dict[str, float]:
    return {"lower": interval.lower, "upper": interval.upper}
