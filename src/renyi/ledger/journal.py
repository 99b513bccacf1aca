"""An append-only file of JSON lines, each chained to the one before by a hash, and forced to disk before it counts.

    {"sequence":0,"previous":"000...","payload":{...},"hash":"5f2..."}

The hash covers the sequence number, the previous hash and the payload, so a line that is changed, moved or removed from the
middle breaks the chain, and reading says where. ``append`` returns only when the line has been forced to disk: what it
acknowledged survives a crash, and interrupts wait until it has returned. A line that a crash cut short was never acknowledged,
so opening the journal drops it and says how long it was; a line that lacks only its newline counts. A file that does not begin
with an entry is not a journal and is left as it is. No chain of this kind can detect a tail cut off at the end of a line, or a
file restored from a backup; anyone who relies on the journal keeps its last hash elsewhere, as checkpoints and printed
guarantees do.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from renyi.errors import MalformedEvent
from renyi.events.document import parsed
from renyi.ledger.errors import JournalError, JournalInUse, TamperedJournal
from renyi.ledger.paths import NEVER_WAIT, path_of, synced
from renyi.ledger.signals import undisturbed

try:
    import fcntl
except ImportError:  # Windows, where everything but a journal works
    fcntl = None  # type: ignore[assignment]

BEGINNING = "0" * 64
"""The "previous hash" of the first line."""

LONGEST_LINE = 3_000_000
"""Bytes of a line; a longer one is refused before it is read into memory."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: its number, the hash of the line before, its payload, and its own hash."""

    sequence: int
    previous: str
    payload: dict[str, Any]
    hash: str

    @classmethod
    def following(cls, sequence: int, previous: str, payload: dict[str, Any]) -> Self:
        """The entry with this payload at this place of the chain."""
        return cls(sequence, previous, payload, _digest(sequence, previous, payload))

    def line(self) -> bytes:
        """The entry as it stands in the file, newline included."""
        document = {
            "sequence": self.sequence,
            "previous": self.previous,
            "payload": self.payload,
            "hash": self.hash,
        }
        return canonical(document).encode() + b"\n"


def _ignored(_: Entry) -> None:
    """The default for ``each``: do nothing."""


class Journal:
    """A journal opened for writing, by one process at a time; created, readable by its owner only, if it does not exist.

    ``each`` is called with every existing entry; ``torn`` is the number of bytes of an unfinished last line that was dropped.
    """

    def __init__(self, path: str | os.PathLike[str], each: Callable[[Entry], object] = _ignored) -> None:
        self.path = path_of(journal=path)
        if fcntl is None:
            raise JournalError(
                f"the journal {self.path} cannot be locked against a second writer, because this system has no fcntl. "
                "Journals, and training runs that keep one, need Linux or macOS; everything else works here too."
            )
        self._owner = os.getpid()
        self._turn = threading.Lock()
        self._length, self._head, self._size, self.torn = 0, BEGINNING, 0, 0
        self._file = _opened(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            self._lock()
            synced(self.path.absolute().parent)
            self._read(each)
        except BaseException:
            self.close()
            raise

    @property
    def head(self) -> str:
        """The hash of the last line: together with ``len(journal)``, it identifies the whole contents."""
        return self._head

    def __len__(self) -> int:
        return self._length

    def append(self, payload: dict[str, Any]) -> Entry:
        """Write one entry and force it to disk; only then return it."""
        with undisturbed(), self._turn:
            self._expect_usable()
            try:
                entry = Entry.following(self._length, self._head, payload)
                line = entry.line()
            except (TypeError, ValueError) as error:
                raise JournalError(f"a journal holds JSON objects of finite numbers and text: {error}.") from None
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._file, line[written:])
                os.fsync(self._file)
            except BaseException as error:
                self.close()  # it is unknown what reached the disk; reopening the journal finds out
                if not isinstance(error, OSError):
                    raise
                raise JournalError(
                    f"the journal {self.path} could not be written: {error.strerror}. It is closed; make room and open it "
                    "again."
                ) from error
            self._size, self._length, self._head = self._size + len(line), self._length + 1, entry.hash
            return entry

    def close(self) -> None:
        """Release the journal; closing twice is harmless."""
        if self._file >= 0:
            if os.getpid() == self._owner:
                fcntl.flock(
                    self._file, fcntl.LOCK_UN
                )  # explicitly, because forked workers share the lock and would keep it
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise JournalError(f"the journal {self.path} is held by this process and cannot be copied or pickled.")

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalInUse(
                f"the journal {self.path} is being written by another run, or held by worker processes of one that was "
                "killed. Close that run, or give this one its own journal."
            ) from None

    def _read(self, each: Callable[[Entry], object]) -> None:
        """Read the existing entries and repair an unfinished last line."""
        with os.fdopen(os.dup(self._file), "rb") as file:
            for entry, length in _entries(file, self.path):
                each(entry)
                self._length, self._head, self._size = self._length + 1, entry.hash, self._size + length
        found = os.fstat(self._file).st_size
        self.torn = max(found - self._size, 0)
        if self.torn:
            os.ftruncate(self._file, self._size)
        if found < self._size:  # the last line lacks only its newline
            os.write(self._file, b"\n")
        if found != self._size:
            os.fsync(self._file)

    def _expect_usable(self) -> None:
        if self._file < 0:
            raise JournalError(f"the journal {self.path} is closed; open it again to write to it.")
        if os.getpid() != self._owner:
            raise JournalError(
                f"the journal {self.path} was opened by process {self._owner}; this is process {os.getpid()}, forked "
                "from it. Two processes would write to the same place in the chain: write from the process that opened "
                "it."
            )
        held = os.fstat(self._file)
        try:
            there = os.stat(self.path)
        except OSError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino):
            raise self._lost("was renamed, removed or replaced")
        if held.st_size != self._size:
            raise self._lost(f"has {held.st_size:,} bytes where {self._size:,} were written")

    def _lost(self, what: str) -> JournalError:
        self.close()
        return JournalError(
            f"the journal {self.path} {what} while it was open: what is written now would not be found. Nothing was "
            "released. Put the file back as it was, and open it again."
        )


def read(path: str | os.PathLike[str]) -> tuple[Entry, ...]:
    """Every acknowledged entry of a journal, verified; the file is left as it is."""
    return tuple(entries(path))


def entries(path: str | os.PathLike[str]) -> Iterator[Entry]:
    """The entries one by one, for journals that should not be held in memory."""
    path = path_of(journal=path)
    with os.fdopen(_opened(path, os.O_RDONLY), "rb") as file:
        for entry, _ in _entries(file, path):
            yield entry


def _opened(path: Path, flags: int) -> int:
    """Open a regular file; anything else is refused at once, without waiting for it."""
    try:
        file = os.open(path, flags | NEVER_WAIT, 0o600)
    except OSError as error:
        verb, hint = ("read", "") if flags == os.O_RDONLY else ("opened", " Name a file in a directory that exists.")
        raise JournalError(f"the journal {path} cannot be {verb}: {error.strerror}.{hint}") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise JournalError(f"{path} is not a file, but a directory, a pipe or a device: no journal can be there.")
    return file


def _entries(file: BinaryIO, path: Path) -> Iterator[tuple[Entry, int]]:
    """The entries of a file from its beginning, with their lengths in bytes; an unfinished last line is left out."""
    file.seek(0)
    head, number = BEGINNING, 0
    while line := file.readline(LONGEST_LINE + 1):
        whole = line.endswith(b"\n")
        if not whole and len(line) > LONGEST_LINE:
            raise TamperedJournal(f"line {number + 1} of {path} is longer than any entry: it was changed afterwards.")
        entry = _parsed(line)
        # Canonical form only: the same values written with other spaces would have the same hash.
        if entry is not None and entry.line() != (line if whole else line + b"\n"):
            entry = None
        if not whole and (entry is None or entry != Entry.following(number, head, entry.payload)):
            if number:
                return  # cut short by a crash
            raise JournalError(
                f"{path} is not a journal: it does not begin with an entry. It was left as it is. Name another file; or "
                "remove this one, if a crash cut its first line short: then nothing had been released."
            )
        if entry is None:
            raise TamperedJournal(
                f"line {number + 1} of {path} is not an entry as it was written: it was changed afterwards."
            )
        if entry.sequence != number or entry.previous != head:
            raise TamperedJournal(
                f"line {number + 1} of {path} has sequence number {entry.sequence} and does not continue line "
                f"{number}: a line was removed, moved or inserted. Restore the file from a copy; nothing can be "
                "resumed from this one."
            )
        if entry.hash != _digest(entry.sequence, entry.previous, entry.payload):
            raise TamperedJournal(
                f"line {number + 1} of {path} does not match its own hash: it was changed afterwards."
            )
        yield entry, len(line) if whole else len(line) + 1
        head, number = entry.hash, number + 1


def _parsed(line: bytes) -> Entry | None:
    """The entry on a line, or None if it is not plain JSON of bounded size with the right fields and types."""
    try:
        entry = Entry(**parsed(line.decode("ascii")))  # type: ignore[arg-type]
    except (ValueError, TypeError, MalformedEvent):
        return None
    kinds = (type(entry.sequence), type(entry.previous), type(entry.payload), type(entry.hash))
    return entry if kinds == (int, str, dict, str) else None


def _digest(sequence: int, previous: str, payload: dict[str, Any]) -> str:
    return hashlib.sha256(canonical([sequence, previous, payload]).encode()).hexdigest()


def canonical(document: object) -> str:
    """JSON text without spaces, fields in the order of their dictionary: the form that is hashed."""
    return json.dumps(document, allow_nan=False, separators=(",", ":"))
