"""Who pays for a release: the budget of a dataset and, beside it, the shares of a team and a purpose."""

from __future__ import annotations

from dataclasses import dataclass, field

from renyi.errors import InvalidInput
from renyi.events.event import Event
from renyi.laws.relation import Adjacency
from renyi.ledger.book.dataset import Dataset
from renyi.ledger.book.receipt import Receipt, Reservation
from renyi.ledger.ledger import Ledger

_ONE_ROW = {"record", "example"}
"""What a ledger and a plan call one row of the data, where nobody has said what else is protected."""


@dataclass(frozen=True, slots=True)
class Payer:
    """A dataset of a ledger, named unless it is the only one; a team, a purpose and a part where there are such.

    What trains on the data is given one, ``Run(..., ledger=Payer(ledger, team="health"))``, or just the ledger.
    """

    ledger: Ledger
    dataset: str | None = None
    team: str | None = None
    purpose: str | None = None
    part: str | None = None
    charged: Dataset = field(init=False, repr=False)
    """The dataset that pays, with its unit and its filter."""

    def __post_init__(self) -> None:
        if not isinstance(self.ledger, Ledger):
            raise InvalidInput(
                f"ledger must be a Ledger, such as Ledger.open('budget.db'), or a Payer; got {type(self.ledger).__name__}."
            )
        object.__setattr__(self, "charged", self.ledger.status(self.dataset).dataset)
        object.__setattr__(self, "dataset", self.charged.name)

    @classmethod
    def of(cls, ledger: object) -> Payer:
        """The payer that is given, or the only dataset of a ledger."""
        return ledger if isinstance(ledger, Payer) else cls(ledger)  # type: ignore[arg-type]

    def expect(self, *, unit: str, adjacency: Adjacency) -> None:
        """Refuse releases whose guarantees would be about other neighbours than the budget is."""
        if adjacency is not self.charged.filter.adjacency:
            raise InvalidInput(
                f"the budget of the dataset {self.dataset!r} is about {self.charged.filter.adjacency.value} neighbours, this "
                f"plan about {adjacency.value}: their numbers do not add up. Plan for the neighbours of the budget."
            )
        if unit != self.charged.unit and not {unit, self.charged.unit} <= _ONE_ROW:
            raise InvalidInput(
                f"the budget of the dataset {self.dataset!r} protects each {self.charged.unit!r}, this plan each {unit!r}: "
                f"their numbers do not add up. Say unit={self.charged.unit!r} in the plan if that is what it protects; or "
                f"open the dataset with unit={unit!r}."
            )

    def spend(self, event: Event, *, why: str) -> Receipt:
        """Charge a release."""
        return self.ledger.spend(
            event, dataset=self.dataset, team=self.team, purpose=self.purpose, part=self.part, why=why
        )

    def reserve(self, event: Event, *, key: str, secret: str, why: str) -> Reservation:
        """Reserve a release, or find the reservation that was made under this key with this secret."""
        return self.ledger.reserve(
            event,
            dataset=self.dataset,
            team=self.team,
            purpose=self.purpose,
            part=self.part,
            key=key,
            secret=secret,
            why=why,
        )
