"""What is done inside one transaction: find a dataset and its balance, recognise a retry, append an act to the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from renyi.ledger.book.acts import Act, Commit, Draw, Open, Reserve, Void, settles
from renyi.ledger.book.balance import Balance
from renyi.ledger.book.dataset import Dataset, name
from renyi.ledger.book.note import Note
from renyi.ledger.book.receipt import Receipt
from renyi.ledger.book.row import Head, Row, balance_at
from renyi.ledger.errors import AlreadySettled, KeyReused, NotInLedger, TamperedLedger
from renyi.ledger.status import Unsettled, charge_of

if TYPE_CHECKING:
    from renyi.ledger.store.page import Page


class Clerk:
    """Reads and writes the pages of one ledger. It remembers datasets, which never change once they are opened."""

    def __init__(self) -> None:
        self._datasets: dict[str, Dataset] = {}

    def known(self, dataset: str) -> Dataset | None:
        """A dataset that was read before."""
        return self._datasets.get(dataset)

    def named(self, page: Page, dataset: str | None) -> str:
        """The dataset that is meant: the only one, if none is named."""
        if dataset is not None:
            return name(dataset=dataset)
        names = page.datasets()
        if len(names) != 1:
            known = ", ".join(names) or "none yet; create one first"
            raise NotInLedger(f"say which dataset is meant, by dataset=... (--dataset). Known: {known}.")
        return names[0]

    def dataset(self, page: Page, dataset: str) -> Dataset:
        """The dataset as its first entry states it, which never changes."""
        if dataset not in self._datasets:
            first = page.row(dataset, 0)
            if first is None:
                raise _unknown(page, dataset)
            self._datasets[dataset] = _opened(first, dataset)
        return self._datasets[dataset]

    def state(self, page: Page, dataset: str, head: Head | None = None) -> tuple[Head, Balance]:
        """The head of a dataset, and the balance that its last entry left."""
        head = page.head(dataset) if head is None else head
        if head is None:
            raise _unknown(page, dataset)
        empty = Balance.of(self.dataset(page, dataset))
        return head, balance_at(head, page.row(dataset, head.length - 1), empty)

    def append(self, page: Page, dataset: str, act: Act, note: Note, key: str) -> Receipt:
        """Append one act to the chain of its dataset, or find that the same request has done so before."""
        if isinstance(act, Open):
            page.alone()
        head = page.head(dataset, lock=True)
        if earlier := self._earlier(page, dataset, act, key):
            return Receipt(dataset, earlier.sequence, earlier.hash, earlier.key, replayed=True)
        if head is None:
            if not isinstance(act, Open):
                raise _unknown(page, dataset)
            balance = Balance.of(act.dataset)
        else:
            _, before = self.state(page, dataset, head)
            balance = self._after(page, before, act)
        text = balance.text()
        row = Row.following(head, act, key, note, text)
        page.write(dataset, row)
        page.move(dataset, head, Head(row.sequence + 1, row.hash, text))
        match act:
            case Reserve(drawing=drawing):
                page.wait(dataset, row.sequence, drawing=drawing)
            case Draw(reserved):
                page.draw(dataset, reserved)
            case Commit(reserved) | Void(reserved):
                page.settle(dataset, reserved)
        return Receipt(dataset, row.sequence, row.hash, key)

    def _after(self, page: Page, balance: Balance, act: Act) -> Balance:
        if not isinstance(act, Draw | Commit | Void):
            return balance.after(act)
        drawing = page.drawing(balance.dataset.name, act.reserved)
        held = None if drawing is None else reservation(page, balance.dataset.name, act.reserved)
        return balance.after(act, held, drawing=bool(drawing))

    def _earlier(self, page: Page, dataset: str, act: Act, key: str) -> Row | None:
        """The entry that this very request has written before, if it has."""
        if (settled := settles(act)) is not None:
            found = page.settling(dataset, settled)
            if found is not None and _request(found.content().act) != _request(act):
                raise AlreadySettled(f"reservation {settled} of the dataset {dataset!r} was settled otherwise before.")
            return found
        found = page.with_key(dataset, key)
        if found is None:
            return None
        written = found.content().act
        if _request(written) != _request(act):
            raise KeyReused(
                f"the key {key!r} was used for another request, entry {found.sequence} of the dataset {dataset!r}. A retry "
                "repeats the event and the account; a new release takes a new key."
            )
        if isinstance(act, Reserve) and isinstance(written, Reserve):
            drawing = page.drawing(dataset, found.sequence)
            if drawing is None or (drawing and act.holder != written.holder):
                raise AlreadySettled(
                    f"the key {key!r} stands for reservation {found.sequence}, which was settled, or whose noise may have been "
                    "drawn: to draw it again is another release, and takes a new key."
                )
        return found

    def unsettled(self, page: Page, dataset: str, sequence: int, drawing: bool) -> Unsettled:
        """An open reservation, with whose it is."""
        row = page.row(dataset, sequence)
        said = {} if row is None or row.note is None else row.note.values()
        charge = reservation(page, dataset, sequence).charge
        return Unsettled(sequence, charge, drawing, said.get("who"), said.get("when"))


def _unknown(page: Page, dataset: str) -> NotInLedger:
    known = ", ".join(page.datasets()) or "none yet"
    return NotInLedger(f"there is no dataset {dataset!r} in this ledger. Known: {known}.")


def _opened(first: Row, dataset: str) -> Dataset:
    act = first.content().act
    if not isinstance(act, Open) or act.dataset.name != dataset:
        raise TamperedLedger(f"the first entry of the dataset {dataset!r} does not open it: it was changed afterwards.")
    return act.dataset


def reservation(page: Page, dataset: str, sequence: int) -> Reserve:
    """The reservation that an entry holds."""
    row = page.row(dataset, sequence)
    act = None if row is None else row.content().act
    if not isinstance(act, Reserve):
        raise NotInLedger(f"entry {sequence} of the dataset {dataset!r} is no reservation.")
    return act


def _request(act: Act) -> object:
    """What a retry must repeat: everything but prices, which another release may round differently, and secrets."""
    charge = charge_of(act)
    if charge is None:
        return act
    said = (charge.event, charge.team, charge.purpose, charge.part, None if charge.booked is None else charge.booked[1])
    return type(act), getattr(act, "reserved", None), getattr(act, "drawing", None), said
