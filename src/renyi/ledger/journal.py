"""An append-only file of JSON lines, each bound to the one before by a hash, on disk before it counts.

    {"sequence":0,"previous":"000...","payload":{...},"hash":"5f2..."}

The hash covers the sequence number, the previous hash and the payload, so that a line that is changed, moved or removed
from the middle breaks the chain, and reading says where. ``append`` returns only when the line has been forced to disk:
what it acknowledged survives a crash. A line that a crash cut short was never acknowledged, so opening the journal drops
it and says how long it was; one that lacks nothing but its newline counts. A file that does not begin with an entry is
not a journal, and is left as it is. What no chain of this kind can see is a tail cut off at a line's
end: whoever depends on it keeps the last hash elsewhere, as a training checkpoint does.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from renyi.ledger.errors import JournalError, JournalInUse, TamperedJournal

BEGINNING = "0" * 64
"""What the first line calls the previous hash."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: its number, the hash of the line before, what it says, and its own hash."""

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
        return _dumps(document).encode() + b"\n"


class Journal:
    """A journal opened for writing, by one process at a time; made if it does not exist.

    ``recovered`` are the entries that were there, ``torn`` the number of bytes of an unfinished last line that was
    dropped.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._owner = os.getpid()
        self._file = -1
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(
                f"the journal {self.path} cannot be opened: {error.strerror}. Name a file in a directory that exists."
            ) from None
        try:
            self._lock()
            _sync_directory(self.path)
            entries, self.torn, complete = _entries(self.path)
            if self.torn:
                os.ftruncate(self._file, os.fstat(self._file).st_size - self.torn)
            if not complete:
                os.write(self._file, b"\n")
            if self.torn or not complete:
                os.fsync(self._file)
        except BaseException:
            self.close()
            raise
        self.recovered = tuple(entries)
        self._length = len(entries)
        self._head = entries[-1].hash if entries else BEGINNING

    @property
    def head(self) -> str:
        """The hash of the last line: with ``len(journal)``, it stands for everything the journal says."""
        return self._head

    def __len__(self) -> int:
        return self._length

    def append(self, payload: dict[str, Any]) -> Entry:
        """Write one entry and force it to disk; only then return it."""
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
        except OSError as error:
            self.close()  # what reached the disk is unknown; opening the journal again finds out
            raise JournalError(
                f"the journal {self.path} could not be written: {error.strerror}. It is closed; make room and open it "
                "again."
            ) from error
        self._length, self._head = self._length + 1, entry.hash
        return entry

    def close(self) -> None:
        """Give the journal back; closing twice is harmless."""
        if self._file >= 0:
            if os.getpid() == self._owner:
                fcntl.flock(self._file, fcntl.LOCK_UN)  # else forked worker processes would hold it on
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

    def _expect_usable(self) -> None:
        if self._file < 0:
            raise JournalError(f"the journal {self.path} is closed; open it again to write to it.")
        if os.getpid() != self._owner:
            raise JournalError(
                f"the journal {self.path} was opened by process {self._owner}; this is process {os.getpid()}, forked "
                "from it. Two processes would write the same place of the chain: write from the process that opened "
                "it."
            )


def read(path: str | os.PathLike[str]) -> tuple[Entry, ...]:
    """Every acknowledged entry of a journal, verified; the file is left as it is."""
    return tuple(_entries(Path(path))[0])


def _entries(path: Path) -> tuple[list[Entry], int, bool]:
    """The entries of a file, the length of a line cut short at its end, and whether the last entry has its newline."""
    try:
        *lines, tail = path.read_bytes().split(b"\n")
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be read: {error.strerror}.") from None
    entries: list[Entry] = []
    head = BEGINNING
    for number, line in enumerate(lines, 1):
        entry = _parsed(line)
        if entry is None or entry.line() != line + b"\n":
            raise TamperedJournal(
                f"line {number} of {path} is not an entry as it was written: it was changed afterwards."
            )
        if entry.sequence != number - 1 or entry.previous != head:
            raise TamperedJournal(
                f"line {number} of {path} has sequence number {entry.sequence} and does not continue line "
                f"{number - 1}: a line was removed, moved or put in. Restore the file from a copy; nothing can be "
                "resumed from this one."
            )
        if entry.hash != _digest(entry.sequence, entry.previous, entry.payload):
            raise TamperedJournal(f"line {number} of {path} does not match its own hash: it was changed afterwards.")
        entries.append(entry)
        head = entry.hash
    last = _parsed(tail)
    if last is not None and last == Entry.following(len(entries), head, last.payload):
        return [*entries, last], 0, False
    if tail and not entries:
        raise JournalError(
            f"{path} is not a journal: it does not begin with an entry. It was left as it is. Name another file; or "
            "remove this one, if a crash cut its first line short: then nothing had been released."
        )
    return entries, len(tail), True


def _parsed(line: bytes) -> Entry | None:
    try:
        document = json.loads(line)
        entry = Entry(**document)
    except (ValueError, TypeError, RecursionError):
        return None
    return entry if isinstance(entry.payload, dict) and isinstance(entry.sequence, int) else None


def _digest(sequence: int, previous: str, payload: dict[str, Any]) -> str:
    return hashlib.sha256(_dumps([sequence, previous, payload]).encode()).hexdigest()


def _dumps(document: object) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _sync_directory(path: Path) -> None:
    """A new file's name is on disk only when its directory is."""
    directory = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
