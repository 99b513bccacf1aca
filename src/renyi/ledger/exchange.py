"""A ledger as a file of JSON lines, for an auditor or another store: a title, every entry with its note, and the heads.

    {"format":"renyi-ledger","version":1}
    {"dataset":"census","sequence":0,"payload":{...},"hash":"5f2...","note":{"salt":"...","text":"..."}}
    {"heads":{"census":"0:5f2..."}}

The chain makes every changed byte of an entry visible, its note's hash every changed byte of the note, and the last line a
missing end. Files come from anywhere: lines are bounded, and nothing is believed before it was replayed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from renyi.errors import InvalidInput
from renyi.ledger.book.replay import Replay
from renyi.ledger.book.row import Row, row_from_text, row_to_text
from renyi.ledger.errors import LedgerError, TamperedLedger
from renyi.ledger.journal import LONGEST_LINE, canonical

if TYPE_CHECKING:
    from renyi.ledger.store.page import Page

_TITLE = canonical({"format": "renyi-ledger", "version": 1})


def write_lines(target: Path, datasets: Mapping[str, Iterator[Row]]) -> int:
    """Write datasets to a new file and force it to disk, or leave none; returns the number of entries."""
    try:
        file = target.open("x", encoding="ascii", newline="\n")
    except OSError as error:
        raise LedgerError(f"the export {target} cannot be written: {error.strerror}. Name a new file.") from None
    try:
        with file:
            count = _written(file, datasets)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        target.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise LedgerError(
            f"the export {target} could not be written: {error.strerror}. Nothing was left there."
        ) from None
    return count


def _written(file: TextIO, datasets: Mapping[str, Iterator[Row]]) -> int:
    count, heads = 0, {}
    file.write(_TITLE + "\n")
    for dataset, rows in datasets.items():
        for row in rows:
            file.write(row_to_text(dataset, row) + "\n")
            count, heads[dataset] = count + 1, f"{row.sequence}:{row.hash}"
    file.write(canonical({"heads": heads}) + "\n")
    return count


def read_lines(source: Path) -> Iterator[tuple[str, Row, Replay]]:
    """The entries of an export in their order, each replayed; an error where the file is not as it was written."""
    replays: dict[str, Replay] = {}
    closed = False
    for number, line in enumerate(_lines(source)):
        if number == 0:
            if line != _TITLE:
                raise InvalidInput(f"{source} is not an export of a ledger that this renyi reads: it begins otherwise.")
            continue
        if closed:
            raise TamperedLedger(f"line {number + 1} of {source} comes after the last one: it was added afterwards.")
        if line == canonical({"heads": {named: f"{each.length - 1}:{each.hash}" for named, each in replays.items()}}):
            closed = True
            continue
        try:
            dataset, row = row_from_text(line)
        except InvalidInput as error:
            raise TamperedLedger(f"line {number + 1} of {source} is not as it was written: {error}") from None
        replay = replays.setdefault(dataset, Replay(dataset))
        replay.follow(row)
        yield dataset, row, replay
    if not closed:
        raise TamperedLedger(
            f"{source} lacks its end, or its heads are not those of its entries. Nothing was imported."
        )


def _lines(source: Path) -> Iterator[str]:
    try:
        with source.open("rb") as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE or not line.endswith(b"\n"):
                    raise TamperedLedger(f"a line of {source} is too long, or was cut short.")
                yield line[:-1].decode("ascii")
    except UnicodeDecodeError:
        raise TamperedLedger(f"{source} holds bytes that no export contains.") from None
    except OSError as error:
        raise LedgerError(f"the export {source} cannot be read: {error.strerror}.") from None


def imported(page: Page, source: Path) -> dict[str, str]:
    """Write the datasets of an export onto a page, or none of them; returns their heads."""
    page.alone()
    replays: dict[str, Replay] = {}
    for named, row, replay in read_lines(source):
        if named not in replays and page.head(named) is not None:
            raise LedgerError(f"the dataset {named!r} is in this ledger already. Nothing was imported.")
        replays[named] = replay
        page.write(named, row)
    for named, replay in replays.items():
        page.move(named, None, replay.head)
        for sequence, (_, drawing) in replay.unsettled.items():
            page.wait(named, sequence, drawing=drawing)
    return {named: f"{replay.length - 1}:{replay.hash}" for named, replay in replays.items()}
