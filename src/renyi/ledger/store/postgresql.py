"""PostgreSQL: one database for a team, with roles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from psycopg.sql import Identifier
from sqlalchemy import Connection, Engine, create_engine, event

from renyi.errors import InvalidInput
from renyi.events.document import short
from renyi.ledger.book.dataset import name
from renyi.ledger.errors import LedgerError, NotInLedger, Unavailable
from renyi.ledger.store.store import PATIENCE, Store

_RETRIED = ("08", "40", "53", "57P", "55P03")
"""Beginnings of SQLSTATEs after which the same transaction may succeed: lost connections, deadlocks, too many clients, a server
that restarts, and a lock that was not granted in time."""

_LOCK_PATIENCE = int(400 * PATIENCE)
"""Milliseconds for which one statement waits for a lock: less than a transaction is tried for in all."""

_SETTINGS = {
    "synchronous_commit": "on",
    "lock_timeout": _LOCK_PATIENCE,
    "idle_in_transaction_session_timeout": 60_000,  # a client that hangs does not keep the head locked for ever
}

_RIGHTS = {
    "read": ("GRANT SELECT ON {tables} TO {role}",),
    "spend": (
        "GRANT SELECT ON {tables} TO {role}",
        "GRANT INSERT ON renyi_entries, renyi_notes TO {role}",
        "GRANT UPDATE ON renyi_heads TO {role}",
        "GRANT INSERT, UPDATE, DELETE ON renyi_unsettled TO {role}",
    ),
    "administer": (
        "GRANT SELECT ON {tables} TO {role}",
        "GRANT INSERT, DELETE ON renyi_entries, renyi_notes TO {role}",
        "GRANT INSERT, UPDATE ON renyi_heads TO {role}",
        "GRANT INSERT, UPDATE, DELETE ON renyi_unsettled TO {role}",
        "GRANT UPDATE ON renyi_schema TO {role}",
    ),
}
"""What each kind of role may do. Whoever may update the version of the tables counts as an administrator: a trigger lets nobody
else write entries that make or change budgets. Administrators may erase notes; entries are kept by triggers, from them too."""

_TABLES = "renyi_entries, renyi_notes, renyi_heads, renyi_unsettled, renyi_schema"


class PostgreSQL(Store):
    """A ledger in a PostgreSQL database. The server is trusted to have written what it confirms."""

    def intact(self) -> str | None:
        """The server looks after its files itself."""
        return None

    def backup(self, target: Path) -> None:
        """Servers are backed up by their own tools."""
        raise LedgerError(
            f"a ledger in PostgreSQL is backed up by pg_dump or by the server's own means; nothing was written to {target}. "
            "`renyi ledger export` writes every entry to a file."
        )

    def scrub(self) -> None:
        """The server overwrites erased rows at its next VACUUM, which it runs by itself."""

    def grant(self, role: str, may: str) -> None:
        """Allow a role of the server, which exists, to read, spend or administer."""
        if not isinstance(may, str) or may not in _RIGHTS:
            raise InvalidInput(f"a role may {', '.join(_RIGHTS)}; got {short(may)}.")
        name(role=role)

        def granted(connection: Connection) -> None:
            quoted = Identifier(role).as_string().replace("%", "%%")
            for right in _RIGHTS[may]:  # not as `text`, to which a ":" in a name would mean a parameter
                connection.exec_driver_sql(right.format(tables=_TABLES, role=quoted))

        self._write(granted)

    def _connected(self) -> Engine:
        engine = create_engine(
            self.address.url,
            hide_parameters=True,
            connect_args={"connect_timeout": 10, "tcp_user_timeout": 30_000, "application_name": "renyi ledger"},
        )
        event.listen(engine, "connect", _made_durable)
        return engine

    def _reading(self, connection: Connection) -> Connection:
        return connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def _is_transient(self, error: BaseException) -> bool:
        # A connection that breaks, or cannot be made, has no SQLSTATE: the server may be restarting.
        state = getattr(error, "sqlstate", None)
        return isinstance(error, psycopg.OperationalError) if state is None else state.startswith(_RETRIED)

    def _explanation(self, error: BaseException, message: str) -> Exception:
        if isinstance(error, psycopg.IntegrityError):
            return LedgerError(f"the ledger refuses an entry that contradicts another one: {message}.")
        match getattr(error, "sqlstate", None):
            case "42501":
                return LedgerError(
                    f"this role may not do that: {message}. An administrator of the ledger grants rights, by Ledger.grant."
                )
            case "42704":
                return NotInLedger(f"{message}: the server's own CREATE ROLE makes one.")
        return self._unavailable(message)


def _made_durable(driver: Any, _: object) -> None:
    """Set what durability needs on a new connection, and refuse a server that confirms what a crash would take back."""
    with driver.cursor() as cursor:
        for name, value in _SETTINGS.items():
            cursor.execute(f"SET SESSION {name} = {value}")
        for name in ("fsync", "synchronous_commit"):
            cursor.execute(f"SHOW {name}")
            if (found := cursor.fetchone()[0]) != "on":
                raise Unavailable(
                    f"the server runs with {name}={found}, with which charges may be lost: it has to be on."
                )
    driver.commit()
