"""A budget that holds although every release is chosen after the earlier ones were seen."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from renyi import check
from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.ledger.odometer import Odometer, failed
from renyi.ledger.pricing.concentrated import MuSquared, Rho
from renyi.ledger.pricing.currency import Currency
from renyi.ledger.pricing.division import divided, may_fail
from renyi.ledger.pricing.orders import Orders
from renyi.ledger.pricing.price import (
    LARGEST_BUDGET,
    SMALLEST_BUDGET,
    Price,
    document_fields,
    float_of_units,
    units_below,
)
from renyi.ledger.pricing.reading import currency_from
from renyi.numerics.printing import rounded_up
from renyi.signatures import Taught

_FORMAT, _VERSION = "renyi-filter", 1

_RESERVE = 0.05
"""The part of delta that is kept for (epsilon, delta) guarantees unless said: it costs others log(1/0.95) of log(1/delta)."""

_EXPECTED_RESERVE = 0.5
"""The same where the expected event is such a guarantee."""

_SMALLEST_DELTA = 1e-250
"""Shares of it are still floats, with all their digits."""

_WHOLE = Fraction(1)

_FLOORS = 100
"""How many floors a budget of rho or mu pays for unless said."""


@dataclass(frozen=True, init=False, repr=False)
class Filter(metaclass=Taught):
    """A budget for releases that are chosen one after another, each with the answers of the earlier ones in view.

    Ask before each release, and go on only while the answer is yes; then everything that was released is together
    (``epsilon``, ``delta``)-differentially private, whatever was asked for and whenever it ended:

    >>> from renyi import Filter, Gaussian, Laplace
    >>> budget = Filter(epsilon=1.0, delta=1e-6)
    >>> spent = budget.nothing
    >>> for query in (Laplace(10.0), Gaussian(8.0), Laplace(1.0)):
    ...     price = budget.price(query)
    ...     if budget.admits(spent, price):
    ...         spent = spent + price  # and only then draw the noise
    ...     else:
    ...         print("refused:", query)
    refused: Laplace(noise_multiplier=1.0)

    An exact answer must not take this place. To stop as soon as the exact epsilon of what was released reaches the budget makes
    the number of releases depend on their answers, and no theorem for a fixed number covers that.

    **How it decides.** There are fixed orders, the last infinite. Each order a has a fixed share d_a of delta, infinite order
    none, and a limit B_a: the largest Renyi divergence of order a that implies (epsilon, d_a). A price bounds the divergence
    of the release at every order, for every relation and whatever was seen before. An (epsilon, delta) guarantee pays with the
    curve of its pure part, and with its delta, its *failure*, out of the ``reserve``. A release is admitted if, with it, the
    sum of prices is within B_a at *some* order a and the sum of failures is within the reserve. Shares and reserve sum to at
    most delta.

    **Why it holds.** First without failures. Fix two neighbours; P and Q are the laws of the transcript y, and T_a(y) is the
    sum of the prices at order a of all that y released. When the last release was admitted some order was within its limit, so
    {a : T_a(y) <= B_a} is not empty; let J(y) be its first element. For each order a consider the run that does the same but
    stops before the first release with which its sum would exceed B_a, and let P_a and Q_a be its laws. This is a Renyi filter
    of one order: D_a(P_a || Q_a) <= B_a (Feldman & Zrnic 2021, arXiv:2008.11193), hence P_a(S) <= e^epsilon Q_a(S) + d_a for
    every set S of transcripts. Prices are not negative, so if J(y) = a then no beginning of y exceeds B_a either, and y has the
    same probability in both runs. Thus

        P(S) = sum_a P_a(S, J = a) <= sum_a [e^epsilon Q_a(S, J = a) + d_a] = e^epsilon Q(S) + sum_a d_a.

    With failures: a release with failure f is a mixture, with weights 1 - f and f that are the same for both neighbours, of a
    part that has the curve and a part of which nothing is known. Transcripts on which nothing failed have densities w p and w q
    with the same w <= 1 under both neighbours and with p and q as above; all others together have a probability of at most the
    largest sum of failures, the reserve.

    Orders and shares are chosen here, before the first release. Name a kind of event that is ``expected``, and most of delta
    goes to the order at which most of them fit. Otherwise shares are spread around the order that suits Gaussian noise.
    """

    budget: float
    delta: float
    reserve: float
    currency: Currency

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        expected: Event | None = None,
        reserve: float | None = None,
        adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        epsilon, delta = _positive_budget(epsilon=epsilon), _positive_delta(delta)
        adjacency = Adjacency.of(adjacency=adjacency)
        if reserve is None:
            failing = expected is not None and may_fail(expected, adjacency)
            reserve = (_EXPECTED_RESERVE if failing else _RESERVE) * delta
        reserve = check.nonnegative(reserve=reserve)
        if not reserve < delta:
            raise InvalidInput(
                f"reserve must be below delta, which is {delta!r}; got {reserve!r}. It is the part of delta that is kept for "
                "(epsilon, delta) guarantees; the orders share the rest."
            )
        self._settle(
            epsilon, delta, reserve, Orders(adjacency, *divided(epsilon, delta - reserve, expected, adjacency))
        )

    @classmethod
    def zcdp(
        cls,
        rho: float,
        delta: float | None = None,
        *,
        floor: float | None = None,
        adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    ) -> Filter:
        """A budget of ``delta``-approximate ``rho``-zCDP: rho adds up, and so do the probabilities outside of which it holds.

        Noise that is concentrated everywhere pays no delta. A run on samples pays ``floor``, a hundredth of delta unless said.
        With ``delta=0`` only what is concentrated everywhere is admitted.

        References:
            Whitehouse, Ramdas, Rogers & Wu (2023), arXiv:2203.05481, Theorem 1: the filter of approximate zCDP.
        """
        return cls._concentrated(Rho, "rho", rho, delta, floor, adjacency)

    @classmethod
    def gdp(
        cls,
        mu: float,
        delta: float | None = None,
        *,
        floor: float | None = None,
        adjacency: Adjacency = Adjacency.ADD_OR_REMOVE,
    ) -> Filter:
        """A budget of ``mu``-Gaussian privacy outside of a probability of ``delta``: squares of mu add up.

        The promise is delta(epsilon) <= ``delta`` + (1 - ``delta``) delta_G(epsilon), with delta_G the profile of Gaussian
        noise with noise multiplier 1/mu. An event whose profile is at most max(delta_G, d) is post-processing of a release that
        reveals everything with probability d and is Gaussian otherwise. A run on samples pays ``floor``, a hundredth of delta
        unless said.

        References:
            Smith & Thakurta (2022), arXiv:2210.17520; Koskela, Tobaben & Honkela (2023), arXiv:2209.15596: the filter.
        """
        return cls._concentrated(MuSquared, "mu", mu, delta, floor, adjacency)

    @classmethod
    def _concentrated(
        cls,
        currency: type[Rho] | type[MuSquared],
        name: str,
        budget: float,
        delta: float | None,
        floor: float | None,
        adjacency: Adjacency,
    ) -> Filter:
        budget = _positive_budget(**{name: budget})
        if delta is None:
            raise InvalidInput(
                f"a budget of {name} comes with a delta: what holds only outside of a small probability, such as the {name} of "
                "a run on samples, pays that probability out of it. Write delta=1e-6; or delta=0 if every event has a "
                f"{name} that holds everywhere."
            )
        delta = check.delta(delta=delta)
        floor = delta / _FLOORS if floor is None else check.nonnegative(floor=floor)
        if floor > delta:
            raise InvalidInput(
                f"floor must be at most delta, which is {delta!r}; got {floor!r}. It is what one event pays."
            )
        amount = budget if currency is Rho else budget * budget
        worth = amount * (floor / delta) if delta > 0.0 else 0.0
        self = cls.__new__(cls)
        self._settle(budget, delta, delta, currency(Adjacency.of(adjacency=adjacency), floor, worth))
        return self

    def _settle(self, budget: float, delta: float, reserve: float, currency: Currency) -> None:
        if currency.shared + Fraction(reserve) > Fraction(delta):
            raise InvalidInput(
                f"the shares and the reserve of a filter sum to at most its delta, {delta!r}; here to more."
            )
        for name, value in {"budget": budget, "delta": delta, "reserve": reserve, "currency": currency}.items():
            object.__setattr__(self, name, value)

    @property
    def kind(self) -> str:
        """What ``budget`` is: ``epsilon``, ``rho`` or ``mu``."""
        return self.currency.kind

    @property
    def adjacency(self) -> Adjacency:
        """The neighbours that the promise is about."""
        return self.currency.adjacency

    @property
    def nothing(self) -> Price:
        """What was spent before the first release."""
        return Price.zero(self.currency.name, self.currency.size)

    @cached_property
    def limits(self) -> Price:
        """What a sum of prices is compared with: a limit for each amount, and the reserve for failures."""
        return Price(self.currency.name, self.currency.limits(self.budget), units_below(self.reserve))

    def price(self, event: Event) -> Price:
        """What an event costs. Raises ``UnsupportedError``, with the reason, where no theorem prices it."""
        return self.currency.price(event)

    def admits(self, spent: Price, price: Price, *, share: Fraction = _WHOLE) -> bool:
        """Whether a release of this price may follow what was spent.

        ``share`` is a part of every limit, from 0 to 1: the cap of a sub-budget, which has spent ``spent``. A sub-budget
        promises nothing of its own; the filter of the whole decides too.
        """
        return self.room(spent, price, share=share) >= 1

    def left(self, spent: Price, event: Event) -> int | float:
        """How many more of this event fit, ``math.inf`` if it costs nothing."""
        return self.room(spent, self.price(event))

    def room(self, spent: Price, price: Price, *, share: Fraction = _WHOLE) -> int | float:
        """How many releases of this price may follow what was spent, ``math.inf`` if it is nothing; ``share`` as above."""
        limits = self.limits
        for given in (spent, price):
            limits.expect(given)
        if not 0 <= share <= 1:
            raise InvalidInput(f"share must be a fraction from 0 to 1, such as Fraction(1, 3); got {share}.")
        columns = zip(spent.amounts, price.amounts, limits.amounts, strict=True)
        most = max(_copies(*column, share) for column in columns)
        return min(most, _copies(spent.failure, price.failure, limits.failure, share))

    def odometer(self, spent: Price) -> Odometer:
        """What was spent so far, as what it is."""
        fraction, failure = self._fraction(spent), float_of_units(spent.failure)
        needed = self.currency.needed(spent.amounts)
        return Odometer(self.kind, needed, self.budget, fraction, failure, self.reserve, self.delta)

    def used(self, spent: Price) -> float:
        """The fraction of the limit or of the reserve, whichever is used up further: that of the odometer, without its epsilon.

        These fractions, not epsilons, decide what is admitted and are what shares cap. An epsilon has to be solved for, which
        takes far longer: to find the part of the data on which most was spent, compare these.
        """
        return max(self._fraction(spent), failed(float_of_units(spent.failure), self.reserve))

    def _fraction(self, spent: Price) -> float:
        self.limits.expect(spent)
        return min(_fraction(*column) for column in zip(spent.amounts, self.limits.amounts, strict=True))

    def __repr__(self) -> str:
        numbers = f"{self.kind}={self.budget!r}, delta={self.delta!r}, reserve={self.reserve!r}"
        return f"<Filter {numbers}, {self.adjacency.value}, {self.currency.size} amounts>"

    def __str__(self) -> str:
        number, delta = rounded_up(self.budget), rounded_up(self.delta)
        promise = {
            "epsilon": f"({number}, {delta})-differential privacy",
            "rho": f"{delta}-approximate {number}-zCDP",
            "mu": f"{number}-Gaussian differential privacy outside of a probability of {delta}",
        }[self.kind]
        return f"a budget of {promise} for {self.adjacency.value} neighbours, for releases that are chosen one after another"

    def to_json(self) -> str:
        """As JSON text, with orders and shares, so that the very same filter comes back."""
        values = {
            "budget": self.budget,
            "delta": self.delta,
            "reserve": self.reserve,
            "currency": self.currency.to_dict(),
        }
        return json.dumps({"format": _FORMAT, "version": _VERSION, **values}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Filter:
        """The filter that was written, with its orders and shares; anything else is an error."""
        fields = document_fields(text, _FORMAT, _VERSION, ("budget", "delta", "reserve", "currency"))
        self = cls.__new__(cls)
        self._settle(
            _positive_budget(budget=fields["budget"]),
            check.delta(delta=fields["delta"]),
            check.delta(reserve=fields["reserve"]),
            currency_from(fields["currency"]),
        )
        return self


def _copies(spent: int, price: int, limit: int, share: Fraction) -> int | float:
    cap = limit * share.numerator // share.denominator
    if spent > cap:
        return 0
    return (cap - spent) // price if price else math.inf


def _fraction(spent: int, limit: int) -> float:
    if limit == 0:
        return math.inf if spent else 0.0
    try:
        nearest = spent / limit
    except OverflowError:
        return math.inf
    top, bottom = nearest.as_integer_ratio()  # as float_above, without the common divisors of a Fraction: many ask
    return nearest if top * limit >= spent * bottom else math.nextafter(nearest, math.inf)


def _positive_budget(**named: object) -> float:
    ((name, _),) = named.items()
    value = check.nonnegative(**named)
    if not SMALLEST_BUDGET <= value <= LARGEST_BUDGET:
        raise InvalidInput(
            f"the {name} of a budget must be above 0, from {SMALLEST_BUDGET:g} to {LARGEST_BUDGET:g}; got {value!r}. "
            "A budget of 0 admits nothing that depends on the data."
        )
    return value


def _positive_delta(delta: object) -> float:
    value = check.delta(delta=delta)
    if value < _SMALLEST_DELTA:
        raise InvalidInput(
            f"a filter needs a delta above 0, such as 1e-6; got {value!r}. Its orders share it, so that it is at least "
            f"{_SMALLEST_DELTA:g}. Without a delta, the epsilons of pure guarantees add up, and need no filter."
        )
    return value
