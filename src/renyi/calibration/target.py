"""What a calibration is to meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import erfinv

from renyi import check
from renyi.accountants.accountant import Accountant
from renyi.accountants.gdp import gdp
from renyi.accountants.risk import total_variation, trade_off_curve
from renyi.composing.question import EpsilonAt
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.laws.trade_offs.bearing import separation
from renyi.laws.trade_offs.trade_off import Heading


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be met: a measure of an event's cost, by an upper bound, and its limit."""

    words: str
    limit: float
    measure: Callable[[Event, Adjacency, Accountant], float]
    scale: Callable[[float], float] = float
    """What the cost is compared by: rising in it, and nearly a power of most parameters; not finite where it tells nothing."""

    @classmethod
    def of(cls, **given: float | None) -> Target:
        """The one target among the arguments, or an error that lists the possible ones."""
        named = {name: value for name, value in given.items() if value is not None}
        match sorted(named):
            case ["delta", "epsilon"]:
                return cls._epsilon(**named)
            case ["delta", "mu"]:
                return cls._mu(**named)
            case ["advantage"]:
                return cls._advantage(**named)
            case ["fpr", "tpr"]:
                return cls._rates(**named)
            case ["prior", "success"]:
                return cls._success(**named)
        raise InvalidInput(
            "give one target: epsilon and delta; or mu and delta; or advantage; or tpr and fpr; or success and prior. "
            f"Got {', '.join(f'{name}={value!r}' for name, value in named.items()) or 'none of them'}."
        )

    @classmethod
    def _epsilon(cls, epsilon: float, delta: float) -> Target:
        limit, spent = check.epsilon(epsilon=epsilon), check.delta(delta=delta)
        return cls(
            f"epsilon <= {limit:g} at delta = {spent:g}",
            limit,
            lambda event, adjacency, accountant: (
                accountant.answer(event, EpsilonAt(spent), adjacency.relations).interval.upper
            ),
        )

    @classmethod
    def _mu(cls, mu: float, delta: float) -> Target:
        limit, floor = check.nonnegative(mu=mu), check.asked_delta(delta=delta)
        return cls(
            f"mu <= {limit:g} wherever delta is at least {floor:g}",
            limit,
            lambda event, adjacency, accountant: (
                gdp(event, delta=floor, adjacency=adjacency, accountant=accountant).mu.upper
            ),
        )

    @classmethod
    def _advantage(cls, advantage: float) -> Target:
        limit = check.probability(advantage=advantage)
        return cls(
            f"an advantage <= {limit:g}",
            limit,
            lambda event, adjacency, accountant: total_variation(event, adjacency, accountant).upper,
            lambda cost: float(erfinv(cost)),  # over sqrt(8), the separation of a Gaussian release of this advantage
        )

    @classmethod
    def _rates(cls, tpr: float, fpr: float) -> Target:
        limit, alarms = check.probability(tpr=tpr), check.probability(fpr=fpr)
        if limit < alarms:
            raise InvalidInput(
                f"tpr must be at least fpr; got tpr={tpr!r} and fpr={fpr!r}. Guessing blindly reaches a true-positive rate "
                "equal to the false-positive rate."
            )
        return cls(
            f"a true-positive rate <= {limit:g} at a false-positive rate of {alarms:g}",
            limit,
            _RateFromAbove(alarms, limit),
            lambda cost: separation(alarms, cost),
        )

    @classmethod
    def _success(cls, success: float, prior: float) -> Target:
        limit, chance = check.probability(success=success), check.probability(prior=prior)
        if limit < max(chance, 1.0 - chance):
            raise InvalidInput(
                f"success must be at least max(prior, 1 - prior) = {max(chance, 1.0 - chance):g}, which guessing the likelier "
                f"answer reaches; got success={success!r} and prior={prior!r}."
            )
        return cls(
            f"success <= {limit:g} at a prior of {chance:g}",
            limit,
            lambda event, adjacency, accountant: trade_off_curve(event, adjacency, accountant).success(chance).upper,
            lambda cost: cost - max(chance, 1.0 - chance),
        )


class _RateFromAbove:
    """The true-positive rate of one event after another: where the search ended for the last one, it begins for the next."""

    def __init__(self, fpr: float, limit: float) -> None:
        self._fpr = fpr
        self._limit = limit
        self._heading: Heading | None = None

    def __call__(self, event: Event, adjacency: Adjacency, accountant: Accountant) -> float:
        curve = trade_off_curve(event, adjacency, accountant)
        if self._heading is not None and len(self._heading.bearings) != len(curve.curves):
            self._heading = (
                None  # the orders of two neighbours differ for some of the events, and for others they do not
            )
        rate, self._heading = curve.rate_from_above(self._fpr, self._limit, self._heading)
        return rate
