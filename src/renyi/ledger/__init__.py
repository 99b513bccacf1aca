"""The durable record of what was released, and the budget that decides what may be.

Read ``filter`` first: a budget that holds although releases are chosen one after another; ``pricing`` says what they cost it,
``odometer`` what was spent. Then ``ledger``, the shared record of many spenders: ``book`` holds its values, ``store`` keeps
them in SQLite or PostgreSQL, ``clerk`` is what one transaction does, ``verifying`` what an auditor checks, ``status`` shows
them, ``exchange`` writes them to files, ``payer`` is who spends. ``journal`` is the append-only record of one training run;
``signals`` makes interrupts wait until a line is on disk; ``errors`` says what may go wrong, ``paths`` what names a file.
"""

from renyi.ledger.book.dataset import Dataset
from renyi.ledger.book.receipt import Receipt, Reservation
from renyi.ledger.errors import (
    AlreadySettled,
    Exhausted,
    JournalError,
    JournalInUse,
    KeyReused,
    LedgerError,
    NotInLedger,
    OtherSchema,
    TamperedJournal,
    TamperedLedger,
    Unavailable,
)
from renyi.ledger.filter import Filter
from renyi.ledger.journal import Entry, Journal, read
from renyi.ledger.ledger import Ledger
from renyi.ledger.odometer import Odometer
from renyi.ledger.payer import Payer
from renyi.ledger.pricing.price import Price
from renyi.ledger.status import Line, Status, WhatIf

__all__ = [
    "AlreadySettled",
    "Dataset",
    "Entry",
    "Exhausted",
    "Filter",
    "Journal",
    "JournalError",
    "JournalInUse",
    "KeyReused",
    "Ledger",
    "LedgerError",
    "Line",
    "NotInLedger",
    "Odometer",
    "OtherSchema",
    "Payer",
    "Price",
    "Receipt",
    "Reservation",
    "Status",
    "TamperedJournal",
    "TamperedLedger",
    "Unavailable",
    "WhatIf",
    "read",
]
