"""An entry of the ledger in words, for the history that people read; an export holds the exact parameters."""

from __future__ import annotations

from typing import assert_never

from renyi.events.words import described
from renyi.ledger.book.acts import Act, Allot, Charge, Commit, Draw, Open, Reserve, Spend, Transfer, Void
from renyi.numerics.printing import rounded_up


def said(act: Act) -> str:
    """What an act does: what was released or reserved, and who pays."""
    match act:
        case Open(dataset):
            return f"open {dataset.name}, {dataset.filter}; the unit is one {dataset.unit}"
        case Allot(account, share):
            return f"allot {share} to {account}"
        case Transfer(source, target, share):
            return f"transfer {share} from {source} to {target}"
        case Commit(reserved, Charge() as released):
            return f"commit {reserved}, of which was released: {described(released.event)}"
        case Draw(reserved) | Commit(reserved) | Void(reserved):
            return f"{act.act} {reserved}"
        case Spend(charge) | Reserve(charge):
            part = () if charge.part is None else (f"part:{charge.part}",)
            whole = "" if charge.booked is None else f", booked whole at epsilon {rounded_up(charge.booked[0])}"
            return " ".join([f"{act.act} {described(charge.event)}{whole}", *charge.accounts, *part])
    assert_never(act)
