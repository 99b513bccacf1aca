"""Does everything in a ledger fit together? Every entry is replayed, and the replay compared with what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from renyi.ledger.book.replay import Replay
from renyi.ledger.errors import TamperedLedger

if TYPE_CHECKING:
    from renyi.ledger.store.page import Page


def verified(page: Page, dataset: str, kept: tuple[int, str] | None) -> str:
    """Hold every entry of a dataset against the others; ``kept`` is a head from elsewhere. Returns the present head."""
    replay = Replay(dataset)
    seen = None
    for row in page.rows(dataset):
        replay.follow(row)
        if kept is not None and row.sequence == kept[0]:
            seen = row.hash
    if page.head(dataset) != replay.head:
        raise TamperedLedger(
            f"the head of the dataset {dataset!r} is not that of its entries: one of them was changed."
        )
    waiting = {sequence: drawing for sequence, (_, drawing) in replay.unsettled.items()}
    if dict(page.unsettled(dataset)) != waiting:
        raise TamperedLedger(f"the list of open reservations of the dataset {dataset!r} was changed afterwards.")
    if kept is not None and seen is None:
        raise TamperedLedger(
            f"entry {kept[0]} of the dataset {dataset!r} is missing: the ledger has {replay.length} entries. It was "
            "truncated, or restored from an older copy."
        )
    if kept is not None and seen != kept[1]:
        raise TamperedLedger(
            f"entry {kept[0]} of the dataset {dataset!r} is not the one of the receipt: it was rewritten."
        )
    return f"{replay.length - 1}:{replay.hash}"


def expect_nothing_else(page: Page) -> None:
    """Refuse rows that belong to no entry: nothing writes them."""
    for dataset in page.strays():
        raise TamperedLedger(f"there are entries, notes or reservations of the dataset {dataset!r} that nobody wrote.")
