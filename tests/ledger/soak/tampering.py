"""Every column of every row, every byte of an export, and bytes of the file itself, each changed once."""

from __future__ import annotations

import shutil
import sqlite3

from renyi import Filter, Gaussian
from renyi.errors import PrivacyError
from renyi.ledger import Ledger
from renyi.ledger.exchange import read_lines
from renyi.ledger.store.schema import TABLES

BUDGET = Filter.zcdp(rho=1.0, delta=1e-6)
"""A budget with one amount, so that entries are short and few bytes are left to change."""


def written(where):
    """A small ledger in which every kind of entry occurs; its head."""
    with Ledger.open(where, who="ada") as ledger:
        ledger.create("census", BUDGET, unit="person", parts=("north", "south"))
        ledger.allot(0.5, team="blue")
        ledger.allot(0.25, purpose="maps")
        ledger.transfer(0.1, from_team="blue", purpose="maps")
        ledger.spend(Gaussian(20.0), team="blue", part="north", why="a count")
        ledger.book(Gaussian(30.0), delta=1e-8)
        ledger.void(ledger.reserve(Gaussian(20.0)))
        reservation = ledger.reserve(Gaussian(20.0) * 5)
        ledger.draw(reservation)
        ledger.commit(reservation, Gaussian(20.0) * 3)
        ledger.reserve(Gaussian(20.0), purpose="maps")
        ledger.draw(ledger.reserve(Gaussian(25.0)))
        ledger.erase(4)
        return ledger.verify()["census"]


def notices(where, head, export=None):
    """Whether opening, verifying, or reading the ledger into the file ``export`` says that something is wrong."""
    try:
        with Ledger.open(where, create=False) as ledger:
            ledger.verify(head=head)
            if export is not None:
                ledger.export(export)
    except PrivacyError:
        return True
    return False


def changed(value):
    """Values next to a value of a column."""
    if value is None:
        return [0, 1]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value + 1000, -1]
    first, last = ("2" if value.startswith("1") else "1"), ("2" if value.endswith("1") else "1")
    return [value[:-1] + last, first + value[1:], value + " ", ""]


def columns(where, head, connect, stride=1):
    """Change every column of every row, one at a time, past the triggers; returns what was changed and what went unnoticed.

    ``connect`` opens a connection of the driver for which triggers are switched off; ``stride``: only every n-th change.
    """
    asked, count, unnoticed = 0, 0, []
    connection = connect()
    mark = "?" if isinstance(connection, sqlite3.Connection) else "%s"
    for table in TABLES.sorted_tables:
        names = [column.name for column in table.columns]
        keys = [column.name for column in table.primary_key.columns]
        for row in rows_of(connection, table.name, names):
            for name in names:
                for value in changed(row[name]):
                    asked += 1
                    if asked % stride:
                        continue
                    new = {**row, name: value}
                    if not replaced(connection, table.name, keys, row, new, mark):
                        continue  # the database itself refuses such a row
                    if row in rows_of(connection, table.name, names):
                        continue  # spaces at the end, which PostgreSQL cuts off
                    count += 1
                    if not notices(where, head):
                        unnoticed.append(f"{table.name}.{name} of {[row[key] for key in keys]}: {value!r}")
                    assert replaced(connection, table.name, keys, new, row, mark)
    connection.close()
    return {"changes": count, "unnoticed": unnoticed}


def rows_of(connection, table, names):
    found = connection.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
    connection.commit()
    return [dict(zip(names, values, strict=True)) for values in found]


def replaced(connection, table, keys, row, new, mark):
    condition = " AND ".join(f"{key} = {mark}" for key in keys)
    setting = ", ".join(f"{name} = {mark}" for name in new)
    try:
        connection.execute(
            f"UPDATE {table} SET {setting} WHERE {condition}", (*new.values(), *(row[key] for key in keys))
        )
        connection.commit()
    except Exception:
        connection.rollback()
        return False
    return True


def without_triggers(path):
    """A connection to a SQLite file whose triggers are gone."""
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.commit()
    return connection


def export_bytes(source, directory, stride=1, first=0):
    """Change every byte of an export, to a neighbour and to a newline; whether reading it notices."""
    text = source.read_bytes()
    target = directory / "changed.jsonl"
    count, unnoticed = 0, []
    for place in range(first, len(text), stride):
        for byte in {text[place] ^ 1, ord("\n"), text[place] ^ 0x80} - {text[place]}:
            target.write_bytes(text[:place] + bytes([byte]) + text[place + 1 :])
            count += 1
            try:
                for _ in read_lines(target):
                    pass
                unnoticed.append(place)
            except PrivacyError:
                pass
    for end in range(0, len(text), max(stride, 50)):
        target.write_bytes(text[:end])
        try:
            for _ in read_lines(target):
                pass
            unnoticed.append(end)
        except PrivacyError:
            pass
    return {"bytes": len(text), "changes": count, "unnoticed": unnoticed}


def file_bytes(source, head, directory, stride=1, first=0):
    """Change every byte of the file: it is noticed, or every value is what it was."""
    content = source.read_bytes()
    honest = directory / "honest.jsonl"
    with Ledger.open(copied(source, directory / "whole.db")) as ledger:
        ledger.export(honest)
    count, unnoticed, harmless = 0, [], 0
    for place in range(first, len(content), stride):
        target = copied(source, directory / "raw.db")
        with target.open("r+b") as file:
            file.seek(place)
            file.write(bytes([content[place] ^ (1 << place % 8)]))
        count += 1
        again = directory / "again.jsonl"
        again.unlink(missing_ok=True)
        if notices(target, head, again):
            continue
        harmless += 1
        if again.read_bytes() != honest.read_bytes():
            unnoticed.append(place)
    return {"bytes": len(content), "changes": count, "harmless": harmless, "unnoticed": unnoticed}


def copied(source, target):
    for suffix in ("-wal", "-shm", "-journal"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(source, target)
    return target
