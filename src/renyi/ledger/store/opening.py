"""The store that a path or URL names, with its tables up to date."""

from __future__ import annotations

import os

from renyi.ledger.errors import LedgerError
from renyi.ledger.store.address import Address
from renyi.ledger.store.sqlite import SQLite
from renyi.ledger.store.store import Store


def opened(where: str | os.PathLike[str], *, create: bool) -> Store:
    """Open a store. Without ``create`` a file, or tables, that do not exist are an error."""
    address = Address.of(where)
    if address.url.get_backend_name() == "sqlite":
        store: Store = SQLite(address, create=create)
    else:
        try:
            from renyi.ledger.store.postgresql import PostgreSQL
        except ModuleNotFoundError as error:
            if error.name != "psycopg":
                raise
            raise LedgerError(
                "a ledger in PostgreSQL needs psycopg: pip install 'renyi[postgres]', in a clone '.[postgres]'."
            ) from None
        store = PostgreSQL(address)
    try:
        store.prepare(create=create)
    except BaseException:
        store.close()
        raise
    return store
