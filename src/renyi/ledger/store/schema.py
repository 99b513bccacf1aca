"""The tables of a ledger, as of the newest version.

- entries: the chains, one per dataset; never changed
- notes: who, why and when of an entry; never changed, but may be erased
- heads: one row per dataset: the length and hash of its chain, and the balance that follows from it
- unsettled: the reservations that wait, so that nobody has to search for them
- schema: the version of these tables
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, MetaData, String, Table, Text, UniqueConstraint

TABLES = MetaData()

_DATASET = String(200)
_HASH = String(64)

entries = Table(
    "renyi_entries",
    TABLES,
    Column("dataset", _DATASET, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("payload", Text, nullable=False),
    Column("hash", _HASH, nullable=False),
    Column("key", String(200), nullable=False),
    Column("settles", BigInteger, nullable=True),
    UniqueConstraint("dataset", "key"),
    UniqueConstraint("dataset", "settles"),
)
"""``key`` and ``settles`` repeat fields of the payload, where an index needs them; verification compares."""

notes = Table(
    "renyi_notes",
    TABLES,
    Column("dataset", _DATASET, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("salt", String(64), nullable=False),
    Column("text", Text, nullable=False),
)

heads = Table(
    "renyi_heads",
    TABLES,
    Column("dataset", _DATASET, primary_key=True),
    Column("length", BigInteger, nullable=False),
    Column("hash", _HASH, nullable=False),
    Column("balance", Text, nullable=False),
)

unsettled = Table(
    "renyi_unsettled",
    TABLES,
    Column("dataset", _DATASET, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("drawing", Boolean(create_constraint=True, name="renyi_drawing"), nullable=False),
)

schema = Table("renyi_schema", TABLES, Column("version", BigInteger, primary_key=True, autoincrement=False))
