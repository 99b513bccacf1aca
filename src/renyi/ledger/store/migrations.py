"""Steps from one version of the tables to the next; the first makes them. A step that was released never changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, func, insert, inspect, select, text, update
from sqlalchemy.schema import CreateTable

from renyi.events.document import short
from renyi.ledger.book.acts import ADMINISTRATIVE
from renyi.ledger.errors import OtherSchema
from renyi.ledger.store import schema as tables

Migration = Callable[[Connection], None]

_NEVER_CHANGED = "renyi: entries of a ledger are never changed or removed"
_ONLY_ERASED = "renyi: a note can be erased, not changed"
_NO_HEAD_REMOVED = "renyi: the head of a dataset is never removed"

_REFUSED = (
    ("renyi_entries", "UPDATE", _NEVER_CHANGED),
    ("renyi_entries", "DELETE", _NEVER_CHANGED),
    ("renyi_notes", "UPDATE", _ONLY_ERASED),
    ("renyi_heads", "DELETE", _NO_HEAD_REMOVED),
)
"""Statements that the database itself refuses."""


def _first(connection: Connection) -> None:
    """Version 1: all tables, and triggers that keep entries as they are."""
    for made in tables.TABLES.sorted_tables:
        connection.execute(CreateTable(made))
    if connection.dialect.name == "postgresql":
        _first_triggers_of_postgresql(connection)
        return
    for table, verb, reason in _REFUSED:
        connection.execute(
            text(
                f"CREATE TRIGGER {table}_refuse_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{reason}'); END"
            )
        )


def _first_triggers_of_postgresql(connection: Connection) -> None:
    connection.execute(
        text(
            "CREATE FUNCTION renyi_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'insufficient_privilege'; END $$"
        )
    )
    for table, verb, reason in _REFUSED:
        connection.execute(
            text(
                f"CREATE TRIGGER {table}_refuse_{verb.lower()} BEFORE {verb} ON {table} "
                f"FOR EACH STATEMENT EXECUTE FUNCTION renyi_refuse('{reason}')"
            )
        )
    connection.execute(
        text(
            "CREATE TRIGGER renyi_entries_refuse_truncate BEFORE TRUNCATE ON renyi_entries "
            f"FOR EACH STATEMENT EXECUTE FUNCTION renyi_refuse('{_NEVER_CHANGED}')"
        )
    )
    # Administrators are those who may change the version of the tables: see Store.grant.
    budgets = ", ".join(f"'{act}'" for act in ADMINISTRATIVE)
    connection.execute(
        text(
            "CREATE FUNCTION renyi_guard_budgets() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF (NEW.payload::json ->> 'act') IN ({budgets}) "
            # Of the same schema: a table of this name elsewhere on the search path makes nobody an administrator.
            "AND NOT has_table_privilege(current_user, format('%I.renyi_schema', TG_TABLE_SCHEMA), 'UPDATE') THEN "
            "RAISE EXCEPTION 'renyi: only administrators make or change budgets' "
            "USING ERRCODE = 'insufficient_privilege'; END IF; RETURN NEW; END $$"
        )
    )
    connection.execute(
        text(
            "CREATE TRIGGER renyi_entries_guard_budgets BEFORE INSERT ON renyi_entries "
            "FOR EACH ROW EXECUTE FUNCTION renyi_guard_budgets()"
        )
    )


MIGRATIONS: tuple[Migration, ...] = (_first,)
"""``MIGRATIONS[n]`` leads from version n to version n + 1."""


def version(connection: Connection) -> int:
    """The version of the tables; 0 if there are none."""
    found = inspect(connection)
    if not found.has_table(tables.schema.name):
        return 0
    stated = connection.execute(select(func.max(tables.schema.c.version))).scalar() or 0
    if not isinstance(stated, int) or stated < 0:  # SQLite keeps anything anywhere
        raise OtherSchema(f"this ledger states {short(stated)} as the version of its tables, which no release writes.")
    return stated


def is_current(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> bool:
    """Whether the tables are of the newest version; an error if they are newer still."""
    found = version(connection)
    if found > len(migrations):
        raise OtherSchema(
            f"this ledger has tables of version {found}; this renyi reads versions up to {len(migrations)}. "
            "Use the release that made them, or a newer one."
        )
    return found == len(migrations)


def migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the tables to the newest version, inside the transaction of the connection; whoever comes second finds it done."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('renyi ledger migration'))"))
    if is_current(connection, migrations):
        return
    found = version(connection)
    if found == 0 and connection.dialect.name == "sqlite" and inspect(connection).get_table_names():
        raise OtherSchema("this database holds other tables and no ledger. Name a file of its own for the ledger.")
    for step in migrations[found:]:
        step(connection)
    if found == 0:
        connection.execute(insert(tables.schema).values(version=len(migrations)))
    else:
        connection.execute(update(tables.schema).values(version=len(migrations)))
