"""What a dataset's budget looks like now: what was spent, by whom, what waits; and what one more release would do."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from renyi.ledger.book.acts import Act, Allot, Charge, Commit, Draw, Open, Reserve, Spend, Transfer, Void
from renyi.ledger.book.balance import WHOLE, Account, Balance
from renyi.ledger.book.dataset import Dataset
from renyi.ledger.odometer import Odometer
from renyi.numerics.rounding import float_above


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent from one account, at the part of the data where it is most; ``used`` is the fraction of its share.

    ``parts`` says how much is used of each disjoint part, in their order: pairs of a name and a fraction of the share.
    """

    account: str
    share: Fraction
    used: float
    odometer: Odometer
    parts: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, named: str, account: Account, dataset: Dataset) -> Spent:
        """The state of one account."""
        budget, share = dataset.filter, account.share
        worst = max(account.exposures(None), key=budget.used)
        parts = ((part, spent) for part in dataset.parts for spent in account.exposures(part))
        used = tuple((part, _of_share(budget.used(spent), share)) for part, spent in parts)
        return cls(named or "all", share, _of_share(budget.used(worst), share), budget.odometer(worst), used)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        parts = {part: _plain(used) for part, used in self.parts}
        spent = {"used": _plain(self.used), "spent": asdict(self.odometer), "parts": parts}
        return {"account": self.account, "share": str(self.share), **spent}


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A reservation that nobody has settled: it counts as spent. ``owner`` is None if its note was erased."""

    sequence: int
    charge: Charge
    drawing: bool
    owner: str | None
    when: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one dataset: its head, its accounts (the dataset's own first), and the reservations that wait."""

    dataset: Dataset
    entries: int
    head: str
    accounts: tuple[Spent, ...]
    unsettled: tuple[Unsettled, ...]

    @classmethod
    def of(cls, balance: Balance, entries: int, head: str, unsettled: tuple[Unsettled, ...]) -> Status:
        """The status that a balance shows."""
        names = [WHOLE, *sorted(named for named in balance.accounts if named != WHOLE)]
        spent = tuple(Spent.of(named, balance.accounts[named], balance.dataset) for named in names)
        return cls(balance.dataset, entries, head, spent, unsettled)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "dataset": self.dataset.to_dict(),
            "entries": self.entries,
            "head": self.head,
            "accounts": [spent.to_dict() for spent in self.accounts],
            "unsettled": [
                {"entry": each.sequence, "owner": each.owner, "when": each.when, "drawing": each.drawing}
                for each in self.unsettled
            ],
        }


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Whether a release would be admitted now, why not, and how many like it would be."""

    admitted: bool
    reason: str | None
    left: int | float


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of the history: its number, what it says, and its note, which is None if it was erased."""

    sequence: int
    act: Act
    note: dict[str, Any] | None
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without prices."""
        charge = charge_of(self.act)
        described: dict[str, Any] = {"entry": self.sequence, "act": self.act.act}
        match self.act:
            case Open(dataset):
                described |= {"dataset": dataset.name, "budget": str(dataset.filter), "unit": dataset.unit}
            case Allot(account, share):
                described |= {"account": account, "share": str(share)}
            case Transfer(source, target, share):
                described |= {"source": source, "target": target, "share": str(share)}
            case Draw(reserved) | Commit(reserved) | Void(reserved):
                described["reserved"] = reserved
        if charge is not None:
            booked = None if charge.booked is None else list(charge.booked)
            paid = {"team": charge.team, "purpose": charge.purpose, "part": charge.part, "booked": booked}
            described |= {"event": str(charge.event), **paid}
        return {**described, "note": self.note, "hash": self.hash}


def _of_share(used: float, share: Fraction) -> float:
    """A fraction of the whole budget as one of a share, rounded up."""
    if used in (0.0, math.inf):
        return used
    return float_above(Fraction(used) / share) if share else math.inf


def _plain(used: float) -> float | str:
    return used if math.isfinite(used) else "inf"


def charge_of(act: Act) -> Charge | None:
    """What an act charges."""
    match act:
        case Spend(charge) | Reserve(charge):
            return charge
        case Commit(released=released):
            return released
    return None
