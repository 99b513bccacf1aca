"""What an entry of a ledger says: one of eight acts, each to JSON values and back.

    open       a dataset begins
    allot      a team or purpose may use a share of the budget
    transfer   a piece of one share moves to another
    spend      a release is charged and settled
    reserve    a release is charged before it happens
    draw       the noise of a reserved release is about to be drawn: it can no longer be voided
    commit     a reserved release happened; if less was released than reserved, the difference returns to the budget
    void       a reserved release will not happen; its price returns to the budget

A document may come from anywhere, so every field is checked when an act is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from renyi import check
from renyi.errors import InvalidInput
from renyi.events import from_json
from renyi.events.document import short
from renyi.events.event import Event
from renyi.ledger.book.dataset import Dataset, name
from renyi.ledger.pricing.price import Price


@dataclass(frozen=True, slots=True)
class Charge:
    """A release and its price; who pays it beside the dataset; and the part of the data it comes from, if not the whole.

    ``booked`` is the (epsilon, delta) of a plan that was charged whole.
    """

    event: Event
    price: Price
    team: str | None = None
    purpose: str | None = None
    part: str | None = None
    booked: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for field in ("team", "purpose", "part"):
            if (value := getattr(self, field)) is not None:
                name(**{field: value})

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts of the team and the purpose."""
        return accounts(self.team, self.purpose)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "event": _event_values(self.event),
            "price": json.loads(self.price.to_json()),
            "team": self.team,
            "purpose": self.purpose,
            "part": self.part,
            "booked": None if self.booked is None else list(self.booked),
        }

    @classmethod
    def from_dict(cls, document: object) -> Charge:
        """The charge that JSON values describe."""
        fields = _fields(document, "a charge", ("event", "price", "team", "purpose", "part", "booked"))
        event, price = from_json(json.dumps(fields["event"])), Price.from_json(json.dumps(fields["price"]))
        booked = fields["booked"]
        if booked is not None:
            if not isinstance(booked, list) or len(booked) != 2:
                raise InvalidInput(f"booked must be null or an epsilon and a delta; got {short(booked)}.")
            booked = (check.epsilon(epsilon=booked[0]), check.delta(delta=booked[1]))
        return cls(event, price, fields["team"], fields["purpose"], fields["part"], booked)


def accounts(team: str | None, purpose: str | None) -> tuple[str, ...]:
    """The names under which the shares of a team and of a purpose are kept."""
    named = (("team", team), ("purpose", purpose))
    return tuple(f"{kind}:{name(**{kind: value})}" for kind, value in named if value is not None)


@dataclass(frozen=True, slots=True)
class Open:
    """A dataset begins: the first entry of its chain."""

    act: ClassVar[str] = "open"
    dataset: Dataset

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        return {"dataset": self.dataset.to_dict()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Open:
        """The act that these fields describe."""
        return cls(Dataset.from_dict(_fields(fields, cls.act, ("dataset",))["dataset"]))


@dataclass(frozen=True, slots=True)
class Allot:
    """An account may use this share of the budget, at every order; an earlier share is replaced."""

    act: ClassVar[str] = "allot"
    account: str
    share: Fraction

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        return {"account": self.account, "share": str(self.share)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Allot:
        """The act that these fields describe."""
        found = _fields(fields, cls.act, ("account", "share"))
        return cls(_account(found["account"]), written_share(found["share"]))


@dataclass(frozen=True, slots=True)
class Transfer:
    """A piece of one account's share moves to another's."""

    act: ClassVar[str] = "transfer"
    source: str
    target: str
    share: Fraction

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        return {"source": self.source, "target": self.target, "share": str(self.share)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Transfer:
        """The act that these fields describe."""
        found = _fields(fields, cls.act, ("source", "target", "share"))
        return cls(_account(found["source"]), _account(found["target"]), written_share(found["share"]))


@dataclass(frozen=True, slots=True)
class Spend:
    """A release is charged and settled at once."""

    act: ClassVar[str] = "spend"
    charge: Charge

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        return {"charge": self.charge.to_dict()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Spend:
        """The act that these fields describe."""
        return cls(Charge.from_dict(_fields(fields, cls.act, ("charge",))["charge"]))


@dataclass(frozen=True, slots=True)
class Reserve:
    """A release is charged before it happens. ``holder`` is the hash of a secret; who knows the secret may void.

    ``drawing``: its noise may be drawn from now on, so that nobody may.
    """

    act: ClassVar[str] = "reserve"
    charge: Charge
    holder: str
    drawing: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        return {"charge": self.charge.to_dict(), "holder": self.holder, "drawing": self.drawing}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Reserve:
        """The act that these fields describe."""
        found = _fields(fields, cls.act, ("charge", "holder", "drawing"))
        if not isinstance(found["drawing"], bool):
            raise InvalidInput(f"drawing must be true or false; got {short(found['drawing'])}.")
        return cls(Charge.from_dict(found["charge"]), name(holder=found["holder"]), found["drawing"])


@dataclass(frozen=True, slots=True)
class Draw:
    """The noise of a reservation is about to be drawn."""

    act: ClassVar[str] = "draw"
    reserved: int

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        return {"reserved": self.reserved}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Draw:
        """The act that these fields describe."""
        return cls(check.count(reserved=_fields(fields, cls.act, ("reserved",))["reserved"]))


@dataclass(frozen=True, slots=True)
class Commit:
    """A reserved release happened: all of it, or ``released``, which returns the rest and takes the holder's ``secret``."""

    act: ClassVar[str] = "commit"
    reserved: int
    released: Charge | None = None
    secret: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        released = None if self.released is None else self.released.to_dict()
        return {"reserved": self.reserved, "released": released, "secret": self.secret}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Commit:
        """The act that these fields describe."""
        found = _fields(fields, cls.act, ("reserved", "released", "secret"))
        released = None if found["released"] is None else Charge.from_dict(found["released"])
        secret = None if found["secret"] is None else name(secret=found["secret"])
        return cls(check.count(reserved=found["reserved"]), released, secret)


@dataclass(frozen=True, slots=True)
class Void:
    """A reserved release will not happen. The holder's ``secret`` is shown as proof."""

    act: ClassVar[str] = "void"
    reserved: int
    secret: str

    def to_dict(self) -> dict[str, Any]:
        """The fields of the act as JSON values."""
        return {"reserved": self.reserved, "secret": self.secret}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Void:
        """The act that these fields describe."""
        found = _fields(fields, cls.act, ("reserved", "secret"))
        return cls(check.count(reserved=found["reserved"]), name(secret=found["secret"]))


Act = Open | Allot | Transfer | Spend | Reserve | Draw | Commit | Void

ADMINISTRATIVE = (Open.act, Allot.act, Transfer.act)
"""Acts that make or change budgets: on PostgreSQL, for administrators only."""

_KINDS: dict[str, Callable[[dict[str, Any]], Act]] = {
    kind.act: kind.from_dict for kind in (Open, Allot, Transfer, Spend, Reserve, Draw, Commit, Void)
}


def to_dict(act: Act) -> dict[str, Any]:
    """An act as JSON values."""
    return {"act": act.act, **act.to_dict()}


def from_dict(document: object) -> Act:
    """The act that JSON values describe; anything else is an error."""
    kind = document.get("act") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidInput(f"an act is one of {', '.join(_KINDS)}; got {short(document)}.")
    return _KINDS[kind]({field: value for field, value in document.items() if field != "act"})


def settles(act: Act) -> int | None:
    """The number of the reservation that an act settles."""
    return act.reserved if isinstance(act, Commit | Void) else None


def holder_of(secret: str) -> str:
    """The hash by which a reservation knows its holder."""
    return hashlib.sha256(secret.encode()).hexdigest()


def share_of(**named: object) -> Fraction:
    """A share between 0 and 1 as an exact fraction: 0.1 is a tenth, not the float next to it."""
    ((field, value),) = named.items()
    text = str(value).strip()
    try:
        share = Fraction(text if len(text) <= _LONGEST_SHARE and _SHARE.fullmatch(text) else -1)
    except ZeroDivisionError:
        share = Fraction(-1)
    if not 0 <= share <= 1 or share.denominator > _FINEST_SHARE:
        raise InvalidInput(f"{field} must be a number from 0 to 1, such as 0.25 or '1/3'; got {short(value)}.")
    return share


_FINEST_SHARE = 10**30
"""The largest denominator of a share: any number that somebody writes down is a multiple of so small a piece."""

_LONGEST_SHARE = 100
"""Characters of a share: a fraction with such a denominator has fewer, and a float has."""

_SHARE = re.compile(r"\d+/\d+|(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE)
"""How numbers that are not negative are written. ``Fraction`` would take 1e-999999999 too, and compute a gigabyte of digits."""


def written_share(value: object) -> Fraction:
    """The share that an entry or a balance states, in the one form in which it is written."""
    if not isinstance(value, str) or len(value) > _LONGEST_SHARE or str(share := share_of(share=value)) != value:
        raise InvalidInput(f"a share is written as a fraction in lowest terms, such as 1/4; got {short(value)}.")
    return share


def _account(value: object) -> str:
    kind, _, rest = value.partition(":") if isinstance(value, str) else ("", "", "")
    if kind not in ("team", "purpose"):
        raise InvalidInput(f"an account is team:NAME or purpose:NAME; got {short(value)}.")
    return f"{kind}:{name(**{kind: rest})}"


def _fields(document: object, what: str, expected: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(document, dict) or document.keys() != set(expected):
        raise InvalidInput(f"{what} has the fields {', '.join(expected)}; got {short(document)}.")
    return document


@lru_cache(maxsize=256)
def _event_text(event: Event) -> str:
    return event.to_json()


def _event_values(event: Event) -> Any:
    return json.loads(_event_text(event))
