"""A database that keeps a ledger: transactions, retries within bounds, and errors that say what to do."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from renyi.ledger.errors import LedgerError, Unavailable
from renyi.ledger.store.address import Address
from renyi.ledger.store.migrations import is_current, migrate, version
from renyi.ledger.store.page import Page

Result = TypeVar("Result")

PATIENCE = 20.0
"""Seconds for which a transaction that met another one, or a server that restarts, is tried again: below the half minute after
which people give up, and enough for 32 processes that write at once."""

_LONGEST_PAUSE = 0.05
"""Seconds between two tries, at most."""


class Store(ABC):
    """One database, used by this process alone: after a fork the child opens connections of its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._engine = self._connected()
        self._owner = os.getpid()

    @abstractmethod
    def _connected(self) -> Engine:
        """The engine, with everything set that durability needs."""

    @abstractmethod
    def _is_transient(self, error: BaseException) -> bool:
        """Whether the same transaction may succeed when it is tried again."""

    @abstractmethod
    def _reading(self, connection: Connection) -> Connection:
        """The connection, told that it reads one state of the database and writes nothing."""

    @abstractmethod
    def intact(self) -> str | None:
        """What the database says about damage to its own files; None if it finds none."""

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a copy of the whole database, charges that have just been made included."""

    @abstractmethod
    def scrub(self) -> None:
        """Overwrite what was erased, as far as that is for us to do."""

    @abstractmethod
    def grant(self, role: str, may: str) -> None:
        """Allow a role of the database to ``read``, ``spend`` or ``administer``."""

    def prepare(self, *, create: bool) -> None:
        """Bring the tables up to date; with ``create``, make them where there are none."""
        with self._seen() as connection:
            found, ready = version(connection), is_current(connection)
        if found == 0 and not create:
            raise LedgerError(f"there is no ledger at {self.address.shown}. `renyi ledger init` makes one.")
        if not ready:
            self._write(migrate)

    def write(self, body: Callable[[Page], Result]) -> Result:
        """Run a transaction and return its result once it is durable; it is tried again if it met another one.

        The body must be idempotent: where the connection broke while the transaction was confirmed, nobody knows whether it
        happened, and the second try has to find out.
        """
        return self._write(lambda connection: body(Page(connection)))

    @contextmanager
    def read(self) -> Iterator[Page]:
        """One state of the database, while others go on writing."""
        with self._seen() as connection:
            yield Page(connection)

    def close(self) -> None:
        """Close all connections."""
        self._engine_here().dispose()

    @contextmanager
    def _seen(self) -> Iterator[Connection]:
        try:
            with self._explained(), self._engine_here().connect() as connection, self._reading(connection).begin():
                yield connection
        except _Transient as met:
            raise Unavailable(str(met)) from None

    def _write(self, body: Callable[[Connection], Result]) -> Result:
        deadline = time.monotonic() + PATIENCE
        pause = 0.001
        while True:
            try:
                with self._explained(), self._engine_here().begin() as connection:
                    return body(connection)
            except _Transient as met:
                if time.monotonic() > deadline:
                    raise Unavailable(str(met)) from None
            time.sleep(random.uniform(0.0, pause))  # drawn, so that those who met do not meet again
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the database as errors of the ledger. Theirs are not chained: they may hold what must not be shown."""
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:  # SQLAlchemy wraps those of statements, not those of its own hooks
            cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            message = self.address.hide(cause)
            if self._is_transient(cause):
                raise _Transient(str(self._unavailable(message))) from None
            raise self._explanation(cause, message) from None
        except SQLAlchemyError as error:
            raise self._unavailable(self.address.hide(error)) from None

    def _explanation(self, error: BaseException, message: str) -> Exception:
        """The error of the ledger for one of the database that no second try would mend."""
        return self._unavailable(message)

    def _unavailable(self, message: str) -> Unavailable:
        return Unavailable(
            f"the ledger at {self.address.shown} could not be used: {message.rstrip('.')}. Without a receipt, release nothing; "
            "the same key can be used again."
        )

    def _engine_here(self) -> Engine:
        """The engine, without connections that a parent process left behind."""
        if os.getpid() != self._owner:
            self._engine.dispose(close=False)
            self._owner = os.getpid()
        return self._engine


class _Transient(Unavailable):
    """A transaction that may succeed when it is tried again."""
