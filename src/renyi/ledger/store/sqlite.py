"""SQLite: one file on a local disk, shared by processes of one machine."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from renyi.ledger.errors import LedgerError, OtherSchema, TamperedLedger, Unavailable
from renyi.ledger.paths import PLAIN, synced
from renyi.ledger.store.address import Address
from renyi.ledger.store.store import PATIENCE, Result, Store

_LONGEST_NAP = 0.02
"""Seconds between two tries to begin a transaction, at most. With a fifth of it 32 processes on a busy machine spend more of
its time on trying than on their entries."""

_PATIENT = 1.0
"""Seconds of waiting after which naps are half as long, so that who has waited longest has the best chance. SQLite's own naps
grow instead, and who has waited longest waits longest again."""

_PAGE_CACHE = -8_000
"""Kilobytes of the file that a connection keeps in memory, as SQLite counts them."""


class SQLite(Store):
    """A ledger in a file. The disk is trusted to have written what it says it has."""

    def __init__(self, address: Address, *, create: bool) -> None:
        path = Path(str(address.url.database))
        # os.path, because its questions are answered by "no" where those of a Path may raise: a name that is too long.
        if not create and not os.path.exists(path):
            raise LedgerError(f"there is no ledger at {path}. `renyi ledger init` or Ledger.open(...) makes one.")
        if os.path.exists(path) and not os.path.isfile(path):
            raise LedgerError(f"{path} is not a file, but a directory, a pipe or a device: no ledger can be there.")
        if os.path.exists(path) and path.stat().st_nlink > 1:
            raise LedgerError(
                f"{path} is one of several names (hard links) of one file. Each name would have a log of its own, and charges "
                "would overwrite each other. Remove the other names; for a copy there is `renyi ledger backup`."
            )
        if not os.path.isdir(path.parent):
            raise LedgerError(f"there is no directory {path.parent}: name a file in a directory that exists.")
        if create:
            _made(path)
        self._path = path
        self._place: tuple[int, int] | None = None
        super().__init__(address)

    def prepare(self, *, create: bool) -> None:
        """Bring the tables up to date, or make them; a new file's name is forced to disk too."""
        is_new = not os.path.exists(self._path) or self._path.stat().st_size == 0
        super().prepare(create=create)
        if is_new:
            synced(self._path.parent)
        self._place = _place(self._path)

    def intact(self) -> str | None:
        """SQLite's own check of every page and index."""
        try:
            with self._engine_here().connect() as connection, self._reading(connection).begin():
                found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(3)"))]
        except DBAPIError as error:
            return str(error.orig)
        return None if found == ["ok"] else "; ".join(found).replace("\n", " ")

    def backup(self, target: Path) -> None:
        """A copy of the file through SQLite, whole and on disk; a plain copy would lack what still stands in the ``-wal``."""
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600)
        except OSError as error:
            raise LedgerError(f"the backup {target} cannot be made: {error.strerror}. Name a new file.") from None
        os.close(descriptor)
        try:
            with self._engine_here().connect() as connection:
                copy = sqlite3.connect(target)
                try:
                    _driver(connection).backup(copy)
                    copy.execute("PRAGMA journal_mode=DELETE")  # one file, which can be moved by itself
                finally:
                    copy.close()
            synced(target)
            synced(target.absolute().parent)
        except (sqlite3.Error, DBAPIError, OSError) as error:
            target.unlink(missing_ok=True)
            raise Unavailable(f"the backup {target} could not be written: {error}. Nothing was left there.") from None

    def scrub(self) -> None:
        """Move the log into the file and empty it: deleted rows are overwritten there, but the log holds old pages."""
        with self._explained(), self._engine_here().connect() as connection:
            driver, deadline = _driver(connection), time.monotonic() + PATIENCE
            while driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > deadline:
                    raise Unavailable(
                        f"what was erased still stands in {self._path}-wal while others are reading, and goes after that."
                    )
                time.sleep(random.uniform(0.0, _LONGEST_NAP))

    def grant(self, role: str, may: str) -> None:
        """SQLite has no roles."""
        raise LedgerError(
            "SQLite has no roles: who may write the file may spend. For roles, keep the ledger in PostgreSQL."
        )

    def _connected(self) -> Engine:
        options: dict[str, Any] = {"timeout": 0.0, "isolation_level": None, "check_same_thread": False}
        if not os.path.exists(self._path) or os.access(self._path, os.W_OK):
            engine, setting = (
                create_engine(self.address.url, hide_parameters=True, connect_args=options),
                _set_durability,
            )
        else:  # an auditor's copy, or somebody who may only look: each look is a connection of its own
            engine = create_engine(
                "sqlite://",
                hide_parameters=True,
                creator=lambda: sqlite3.connect(_only_read(self._path), uri=True, **options),
                poolclass=NullPool,
            )
            setting = _guard
        event.listen(engine, "connect", lambda driver, _: _prepare(driver, setting))
        event.listen(engine, "begin", _begun)
        return engine

    def _write(self, body: Callable[[Connection], Result]) -> Result:
        if self._place is not None and _place(self._path) != self._place:
            raise Unavailable(
                f"the ledger {self._path} was renamed, removed or replaced while it was open: what is written now would not be "
                "found. Nothing was charged. Put the file back as it was, and open it again."
            )
        return super()._write(body)

    def _reading(self, connection: Connection) -> Connection:
        return connection.execution_options(renyi_reads=True)

    def _is_transient(self, error: BaseException) -> bool:
        return _is_busy(error)

    def _explanation(self, error: BaseException, message: str) -> Exception:
        if isinstance(error, sqlite3.IntegrityError):
            return LedgerError(f"the ledger refuses an entry that contradicts another one: {message}.")
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_NOTADB:
                return OtherSchema(f"{self._path} is not a ledger: {message}. Name another file.")
            case sqlite3.SQLITE_CORRUPT:
                return TamperedLedger(
                    f"the file {self._path} is damaged: {message}. Restore a backup, and compare it with the receipts by "
                    "`renyi ledger verify --head`."
                )
        return self._unavailable(message)


def _prepare(driver: Any, setting: Callable[[Any], None]) -> None:
    """Set up a new connection."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            setting(driver)
            return
        except sqlite3.OperationalError as error:  # another process makes the file or changes its mode just now
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0.0, _LONGEST_NAP))


def _guard(driver: Any) -> None:
    """Set what a file that may come from anywhere asks for, and how much of it is kept in memory."""
    for setting in ("trusted_schema=OFF", "cell_size_check=ON", "secure_delete=ON", f"cache_size={_PAGE_CACHE}"):
        driver.execute(f"PRAGMA {setting}").fetchone()


def _set_durability(driver: Any) -> None:
    """Set what durability needs, and read it back: SQLite ignores what it cannot do."""

    def pragma(command: str) -> Any:
        return (driver.execute(f"PRAGMA {command}").fetchone() or (None,))[0]

    mode = pragma("journal_mode")
    if mode != "wal":
        mode = pragma("journal_mode=WAL")
    # Where the file system cannot share memory there is no WAL; then the journal's name has to be forced to disk as well.
    wanted = {"synchronous": 2} if mode == "wal" else {"synchronous": 3}
    if mode not in ("wal", "delete"):
        raise Unavailable(f"SQLite keeps its journal in the mode {mode!r}, in which charges may be lost.")
    if sys.platform == "darwin":
        wanted |= {"fullfsync": 1, "checkpoint_fullfsync": 1}
    for name, value in wanted.items():
        pragma(f"{name}={value}")
        if (found := pragma(name)) != value:
            raise Unavailable(f"SQLite does not accept {name}={value} and says {found!r}: charges might be lost.")
    _guard(driver)


def _begun(connection: Connection) -> None:
    """Begin a transaction that reads one state, or take the right to write at once: nobody then writes in between."""
    driver = _driver(connection)
    if connection.get_execution_options().get("renyi_reads"):
        driver.execute("BEGIN")
        return
    began = time.monotonic()
    while True:
        try:
            driver.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
            waited = time.monotonic() - began
            if waited > PATIENCE:
                raise Unavailable(
                    f"other processes have kept the ledger busy for {PATIENCE:.0f} s. Nothing was charged; try again later."
                ) from None
        time.sleep(random.uniform(0.0, _LONGEST_NAP / (1.0 + waited / _PATIENT)))


def _is_busy(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _made(path: Path) -> None:
    """Make an empty file that its owner alone may read and write, if there is none; its log gets the same rights."""
    # EXCL, because to close a file that SQLite has open would drop its locks. Where this fails SQLite says what is wrong.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600))


def _only_read(path: Path) -> str:
    """The URI that opens a file without writing to it, as it stands now."""
    # To share a file with writers SQLite makes others beside it. Where it may not, and no log shows that anybody writes just
    # now, it is told that nobody does.
    place = os.path.realpath(path)
    alone = not os.path.exists(f"{place}-wal") and not os.access(os.path.dirname(place), os.W_OK)
    return f"file:{quote(place)}?mode=ro" + ("&immutable=1" if alone else "")


def _place(path: Path) -> tuple[int, int] | None:
    """Which file stands under a name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
