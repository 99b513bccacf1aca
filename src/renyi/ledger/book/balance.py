"""What follows from the acts of a chain: what was spent from every account, and whether the next act may follow.

``Balance.after`` is the only place where a charge is admitted or refused. Spending, what-if, verification and import all ask
it, so that a chain that was written is a chain that can be replayed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from renyi.errors import InvalidInput
from renyi.events.document import short
from renyi.events.words import described
from renyi.ledger.book.acts import (
    Act,
    Allot,
    Charge,
    Commit,
    Draw,
    Open,
    Reserve,
    Spend,
    Transfer,
    Void,
    holder_of,
    written_share,
)
from renyi.ledger.book.dataset import Dataset
from renyi.ledger.errors import AlreadySettled, Exhausted, LedgerError, NotInLedger
from renyi.ledger.journal import canonical
from renyi.ledger.pricing.price import Price
from renyi.numerics.printing import rounded_up

WHOLE = ""
"""The name of the dataset's own account, whose share is 1: every charge is in it."""


@dataclass(frozen=True, slots=True)
class Account:
    """A share of the budget, what was spent on the whole data, and what was spent on single parts beside it."""

    share: Fraction
    whole: Price
    parts: Mapping[str, Price]

    def exposures(self, part: str | None) -> tuple[Price, ...]:
        """What the units that a release touches were exposed to: those of one part, or of every part."""
        if part is not None:
            return (self.whole + self.parts[part] if part in self.parts else self.whole,)
        return tuple(self.whole + spent for spent in self.parts.values()) or (self.whole,)

    def charged(self, price: Price, part: str | None) -> Account:
        """The account after a charge."""
        if part is None:
            return replace(self, whole=self.whole + price)
        before = self.parts.get(part)
        return replace(self, parts={**self.parts, part: price if before is None else before + price})

    def refunded(self, price: Price, part: str | None) -> Account:
        """The account after a charge was taken back."""
        if part is None:
            return replace(self, whole=self.whole - price)
        return replace(self, parts={**self.parts, part: self.parts[part] - price})


@dataclass(frozen=True, slots=True)
class Balance:
    """The accounts of a dataset by name: its own, and those of teams and purposes."""

    dataset: Dataset
    accounts: Mapping[str, Account]

    @classmethod
    def of(cls, dataset: Dataset) -> Balance:
        """Nothing spent, nothing allotted."""
        return cls(dataset, {WHOLE: Account(Fraction(1), dataset.filter.nothing, {})})

    @property
    def own(self) -> Account:
        """The dataset's own account."""
        return self.accounts[WHOLE]

    def after(self, act: Act, reserved: Reserve | None = None, *, drawing: bool = False) -> Balance:
        """The balance once the act is written, or the reason why it may not be.

        ``reserved`` is the unsettled reservation that the act speaks of, ``drawing`` whether its noise may have been drawn.
        """
        match act:
            case Open():
                raise LedgerError(f"the dataset {self.dataset.name!r} exists already: its budget is fixed.")
            case Allot(account, share):
                return self._with_share(account, share)
            case Transfer(source, target, share):
                if source == target:
                    raise InvalidInput(f"a transfer is between two accounts; both are {source}.")
                left, gained = self._account(source).share - share, self._account(target).share + share
                if left < 0 or gained > 1:
                    raise Exhausted(
                        f"{source} cannot give {share} of the budget to {target}: shares stay between 0 and 1."
                    )
                return self._with_share(source, left)._with_share(target, gained)
            case Spend(charge):
                return self._charged(charge)
            case Reserve(charge):
                if charge.booked is not None:
                    raise LedgerError("a plan that is booked whole is spent at once: nothing of it is refunded.")
                return self._charged(charge)
            case Draw():
                self._expect_open(act, reserved)
                return self
            case Commit(released=released):
                held = self._expect_open(act, reserved)
                return self if released is None else self._released(held, released, act)
            case Void():
                held = self._expect_open(act, reserved)
                _expect_holder(held, act.secret)
                if drawing or held.drawing:
                    raise AlreadySettled(
                        f"reservation {act.reserved} cannot be voided: its noise may have been drawn. Commit it."
                    )
                return self._refunded(held.charge)

    def left(self, charge: Charge) -> int | float:
        """How many more charges like this one fit, whichever account is emptied first; ``math.inf`` if it costs nothing."""
        room = self.dataset.filter.room
        return min(
            room(spent, charge.price, share=account.share)
            for account in (self._account(named) for named in (WHOLE, *charge.accounts))
            for spent in account.exposures(charge.part)
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: whole numbers of the unit of a price."""
        return {named: _account_values(account) for named, account in self.accounts.items()}

    @classmethod
    def from_dict(cls, dataset: Dataset, document: object) -> Balance:
        """The balance that ``to_dict`` wrote; anything else is an error.

        What it says is held against the digest in the chain. But who can write the file can forge both.
        """
        zero = dataset.filter.nothing

        def price(amounts: object) -> Price:
            if not isinstance(amounts, list) or not all(type(each) is int and each >= 0 for each in amounts):
                raise InvalidInput(f"what was spent is a list of whole numbers; got {short(amounts)}.")
            spent = Price(zero.currency, tuple(amounts[:-1]), *amounts[-1:])
            zero.expect(spent)
            return spent

        def account(values: object) -> Account:
            match values:
                case {"share": share, "whole": whole, "parts": dict() as parts}:
                    spent = {part: price(each) for part, each in parts.items()}
                    return Account(written_share(share), price(whole), spent)
            raise InvalidInput(f"an account has a share, what was spent, and parts; got {short(values)}.")

        if not isinstance(document, dict) or WHOLE not in document:
            raise InvalidInput(f"a balance has the account of its dataset; got {short(document)}.")
        return cls(dataset, {named: account(values) for named, values in document.items()})

    def text(self) -> str:
        """As JSON text, the form that is stored and hashed."""
        return canonical(self.to_dict())

    def _account(self, named: str) -> Account:
        try:
            return self.accounts[named]
        except KeyError:
            known = ", ".join(sorted(other for other in self.accounts if other != WHOLE)) or "none"
            raise NotInLedger(
                f"the dataset {self.dataset.name!r} has no account {named}. An administrator allots it a share first, which "
                f"may be 0 where something is then transferred to it: Ledger.allot (renyi ledger allot). Known: {known}."
            ) from None

    def _with_share(self, named: str, share: Fraction) -> Balance:
        account = self.accounts.get(named) or Account(share, self.dataset.filter.nothing, {})
        if not self._fits(replace(account, share=share), self.dataset.filter.nothing, None):
            raise Exhausted(f"{named} has spent more than {share} of the budget already.")
        return replace(self, accounts={**self.accounts, named: replace(account, share=share)})

    def _charged(self, charge: Charge) -> Balance:
        if charge.part is not None:
            self.dataset.expect_part(charge.part)
        paying = {named: self._account(named) for named in (WHOLE, *charge.accounts)}
        for named, account in paying.items():
            if not self._fits(account, charge.price, charge.part):
                raise Exhausted(self._refusal(named, account, charge))
        charged = {named: account.charged(charge.price, charge.part) for named, account in paying.items()}
        return replace(self, accounts={**self.accounts, **charged})

    def _refunded(self, charge: Charge) -> Balance:
        paying = (WHOLE, *charge.accounts)
        refunded = {named: self._account(named).refunded(charge.price, charge.part) for named in paying}
        return replace(self, accounts={**self.accounts, **refunded})

    def _released(self, held: Reserve, released: Charge, act: Commit) -> Balance:
        """Less was released than reserved: the reservation is taken back, and what was released is charged instead."""
        _expect_holder(held, act.secret)
        if replace(released, event=held.charge.event, price=held.charge.price) != held.charge:
            raise LedgerError("what is released is charged to the team, purpose and part that it was reserved for.")
        try:
            held.charge.price - released.price
        except InvalidInput:
            raise Exhausted(
                f"more was released than reservation {act.reserved} holds: reserve before releasing."
            ) from None
        return self._refunded(held.charge)._charged(released)

    def _fits(self, account: Account, price: Price, part: str | None) -> bool:
        admits = self.dataset.filter.admits
        return all(admits(spent, price, share=account.share) for spent in account.exposures(part))

    def _refusal(self, named: str, account: Account, charge: Charge) -> str:
        """Why a charge does not fit: what it costs, what was spent, and of how much."""
        budget, share = self.dataset.filter, account.share
        # The part on which most would be spent: if any does not admit the release, that one does not.
        spent = max(account.exposures(charge.part), key=lambda spent: budget.used(spent + charge.price))
        before, alone, after = map(budget.odometer, (spent, charge.price, spent + charge.price))
        whose = f"the dataset {self.dataset.name!r}"
        if named != WHOLE:
            whose = f"{named} of {whose}"
        where = "" if charge.part is None else f" for its part {charge.part!r}"
        if after.fraction > share:
            costs, limit = (
                f"costs {budget.kind} {rounded_up(alone.spent)} as this budget counts",
                f"{budget.budget:.6g}",
            )
            used, spent_before, spent_after = after.fraction, before.spent, after.spent
        else:
            costs, limit = (
                f"may fail with a probability of {rounded_up(alone.failure)}",
                f"a reserve of {budget.reserve:.6g}",
            )
            used, spent_before, spent_after = after.failed, before.failure, after.failure
        # In percent, rounded up, too: ten times the float 0.1 exceed 1, but by less than is printed.
        part_used = f"{rounded_up(100.0 * used)} % of the limit"
        capped = "" if share == 1 else f", of which the share is {share}"
        booked = "" if charge.booked is None else ", booked whole"
        return (
            f"the budget of {whose} does not admit this release{where}: {described(charge.event)}{booked}. By itself it "
            f"{costs}, together with the {rounded_up(spent_before)} that was spent {rounded_up(spent_after)}, of {limit} "
            f"({part_used}{capped}). Nothing was charged, and nothing may be released. "
            "More noise or fewer releases may fit: what_if (renyi ledger what-if) says how many."
        )

    def _expect_open(self, act: Draw | Commit | Void, reserved: Reserve | None) -> Reserve:
        if reserved is None:
            raise AlreadySettled(f"entry {act.reserved} of the dataset {self.dataset.name!r} is no open reservation.")
        return reserved


def digest(text: str) -> str:
    """The hash of a balance's text, which every entry carries."""
    return hashlib.sha256(text.encode()).hexdigest()


def worst(exposures: Iterable[Price]) -> Price:
    """A price that none of the exposures exceeds anywhere: at every order the largest."""
    found = tuple(exposures)
    amounts = tuple(max(column) for column in zip(*(price.amounts for price in found), strict=True))
    return Price(found[0].currency, amounts, max(price.failure for price in found))


def _expect_holder(held: Reserve, secret: str | None) -> None:
    if secret is None or holder_of(secret) != held.holder:
        raise AlreadySettled(
            "only the holder of a reservation may take back what was not released: its secret is needed."
        )


def _account_values(account: Account) -> dict[str, Any]:
    return {
        "share": str(account.share),
        "whole": _amounts(account.whole),
        "parts": {part: _amounts(spent) for part, spent in account.parts.items()},
    }


def _amounts(price: Price) -> list[int]:
    return [*price.amounts, price.failure]
