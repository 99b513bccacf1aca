"""What the stores are trusted with: durability that is read back, tables that refuse changes, roles, and passwords unseen."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import traceback
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text

from renyi import Composed, Filter, Gaussian, InvalidInput, Laplace
from renyi.errors import NotSerialisable
from renyi.ledger import Ledger, LedgerError, NotInLedger, OtherSchema, TamperedLedger, Unavailable
from renyi.ledger.book.acts import Charge, Spend
from renyi.ledger.book.balance import digest
from renyi.ledger.book.note import Note
from renyi.ledger.book.row import Row
from renyi.ledger.exchange import write_lines
from renyi.ledger.journal import Entry, canonical
from renyi.ledger.store import migrations, sqlite, store
from renyi.ledger.store.address import Address
from tests.ledger.soak import tampering
from tests.ledger.soak.processes import forked, result_of

BUDGET = Filter(epsilon=1.0, delta=1e-6)
VERSION_1 = Path(__file__).with_name("version_1.sql")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


def made(where):
    with Ledger.open(where) as ledger:
        ledger.create("census", BUDGET)
        ledger.spend(Laplace(20.0), key="q1")
        return ledger.verify()


def test_sqlite_is_told_to_write_through_and_says_so(path):
    with Ledger.open(path) as ledger, ledger._store._engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2


def test_a_new_file_and_its_log_are_for_their_owner_alone(path, tmp_path):
    before = os.umask(0o022)
    try:
        with Ledger.open(path) as ledger:
            ledger.create("census", BUDGET)
            assert {each.name: oct(each.stat().st_mode & 0o777) for each in tmp_path.iterdir()} == dict.fromkeys(
                ("budget.db", "budget.db-wal", "budget.db-shm"), "0o600"
            )
        path.chmod(0o660)  # whoever opens it again leaves the rights that it was given
        with Ledger.open(path) as ledger:
            ledger.spend(Laplace(20.0))
            assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o660}
    finally:
        os.umask(before)


class Driver:
    """A connection of SQLite that answers as it is told."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def execute(self, command):
        self.asked.append(command.removeprefix("PRAGMA "))
        return _Answer(self.answers.get(self.asked[-1].partition("=")[0]))


def test_a_setting_that_is_not_taken_is_an_error():
    with pytest.raises(Unavailable, match="synchronous=2"):
        sqlite._set_durability(Driver(journal_mode="wal", synchronous=1))
    with pytest.raises(Unavailable, match="'memory'"):
        sqlite._set_durability(Driver(journal_mode="memory", synchronous=2))


def test_without_shared_memory_the_journal_is_forced_to_disk_with_its_name():
    driver = Driver(journal_mode="delete", synchronous=3)
    sqlite._set_durability(driver)
    assert "synchronous=3" in driver.asked


def test_on_a_mac_the_disk_itself_is_told_to_write(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    driver = Driver(journal_mode="wal", synchronous=2, fullfsync=1, checkpoint_fullfsync=1)
    sqlite._set_durability(driver)
    assert {"fullfsync=1", "checkpoint_fullfsync=1"} <= set(driver.asked)


class _Answer:
    def __init__(self, value):
        self.value = value

    def fetchone(self):
        return (self.value,)


def test_a_backup_holds_the_charges_that_a_copied_file_lacks(path, tmp_path):
    with Ledger.open(path) as ledger:
        ledger.create("census", BUDGET)
        receipt = ledger.spend(Laplace(20.0))
        copy = tmp_path / "copied.db"
        shutil.copyfile(path, copy)  # without the -wal
        ledger.backup(tmp_path / "backup.db")
        with pytest.raises(LedgerError, match="Name a new file"):
            ledger.backup(tmp_path / "backup.db")
    with Ledger.open(tmp_path / "backup.db") as backup:
        backup.verify(head=receipt.head)
    with Ledger.open(copy) as bare, pytest.raises(LedgerError):
        bare.verify("census", head=receipt.head)


def test_a_restored_backup_is_found_out_by_a_receipt(path, tmp_path):
    made(path)
    with Ledger.open(path) as ledger:
        ledger.backup(tmp_path / "old.db")
        receipt = ledger.spend(Laplace(20.0))
    with Ledger.open(tmp_path / "old.db") as old:
        old.verify()
        with pytest.raises(TamperedLedger, match="older copy"):
            old.verify(head=receipt.head)


def test_a_backup_is_restored_as_the_page_says(path, tmp_path):
    made(path)
    with Ledger.open(path) as ledger:
        ledger.backup(tmp_path / "backup.db")
        late = ledger.spend(Laplace(30.0), key="q2")
        spent = ledger.status().accounts
        # As after a crash: the last charge stands in the log alone.
        crashed = {name: Path(f"{path}{name}").read_bytes() for name in ("", "-wal", "-shm")}
    for name, content in crashed.items():
        Path(f"{path}{name}").write_bytes(content)
    for name in crashed:
        Path(f"{path}{name}").rename(tmp_path / f"old.db{name}")
    shutil.copyfile(tmp_path / "backup.db", path)
    with Ledger.open(path) as restored:
        with pytest.raises(TamperedLedger, match=r"entry 2 .* is missing: the ledger has 2 entries"):
            restored.verify(head=late.head)
        again = restored.spend(Laplace(30.0), key="q2")
        assert not again.replayed
        assert restored.status().accounts == spent
        restored.verify(head=again.head)
    with Ledger.open(tmp_path / "old.db") as old:
        assert [line.act.charge.event for line in old.history(start=2)] == [Laplace(30.0)]


def test_a_backup_of_a_server_is_left_to_its_own_tools(database, tmp_path):
    with Ledger.open(database) as ledger, pytest.raises(LedgerError, match="pg_dump"):
        ledger.backup(tmp_path / "backup.db")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE renyi_entries SET payload = '{}'",
        "DELETE FROM renyi_entries",
        "UPDATE renyi_notes SET text = '{}'",
        "DELETE FROM renyi_heads",
    ],
)
def test_the_tables_refuse_to_be_changed(where, statement):
    heads = made(where)
    engine = create_engine(Address.of(where).url)
    with pytest.raises(Exception, match="renyi: "), engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()
    with Ledger.open(where) as ledger:
        assert ledger.verify() == heads


def test_a_ledger_that_was_tampered_with_charges_nothing(path):
    made(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE renyi_heads SET balance = replace(balance, '1', '0')")
    connection.close()
    with Ledger.open(path) as ledger:
        for question in (lambda: ledger.spend(Laplace(20.0)), ledger.status, ledger.verify):
            with pytest.raises(TamperedLedger, match="changed"):
                question()


def test_roles_read_spend_and_administer(server, database):
    made(database)
    schema = database.rpartition("%3D")[2]
    with psycopg.connect(server.get_uri()) as connection:
        for role in ("reader", "spender", "administrator"):
            connection.execute(f"CREATE ROLE {role}_{schema} LOGIN")
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}_{schema}")
    with Ledger.open(database) as ledger:
        for role, may in (("reader", "read"), ("spender", "spend"), ("administrator", "administer")):
            ledger.grant(f"{role}_{schema}", may)
        for role, may in ((f"reader_{schema}", "everything"), (f"reader_{schema}", ["read"]), (3, "read")):
            with pytest.raises(InvalidInput):
                ledger.grant(role, may)
        with pytest.raises(NotInLedger, match='role "nobody :here 100%" does not exist'):
            ledger.grant("nobody :here 100%", "read")

    def as_role(role):
        return Ledger.open(database.replace("postgres:@", f"{role}_{schema}@"), who=role)

    with as_role("reader") as reader:
        assert reader.status().entries == 2
        reader.verify()
        with pytest.raises(LedgerError, match="may not"):
            reader.spend(Laplace(20.0))
    with as_role("spender") as spender:
        spender.void(spender.reserve(Laplace(20.0)))
        with spender.spending(Laplace(20.0)):
            pass
        for change in (
            lambda: spender.create("survey", BUDGET),
            lambda: spender.allot(0.5, team="blue"),
            lambda: spender.erase(1),
        ):
            with pytest.raises(LedgerError, match="may not"):
                change()
    with as_role("administrator") as administrator:
        administrator.allot(0.5, team="blue")
        administrator.create("survey", BUDGET)
        administrator.erase(1, dataset="census")
        administrator.verify()
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}")
        for role in ("reader", "spender", "administrator"):
            connection.execute(f"DROP OWNED BY {role}_{schema}")
            connection.execute(f"DROP ROLE {role}_{schema}")


def test_a_table_of_the_same_name_makes_nobody_an_administrator(server, database):
    made(database)
    role, schema = "trickster_" + database.rpartition("%3D")[2], database.rpartition("%3D")[2]
    with psycopg.connect(server.get_uri()) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    with Ledger.open(database) as ledger:
        ledger.grant(role, "spend")
    with psycopg.connect(database.replace("postgres:@", f"{role}@")) as connection:
        connection.execute("CREATE TEMPORARY TABLE renyi_schema (version INTEGER)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only administrators"):
            connection.execute("""INSERT INTO renyi_entries VALUES ('census', 2, '{"act":"allot"}', 'h', 'k', NULL)""")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"DROP OWNED BY {role}")
        connection.execute(f"DROP ROLE {role}")


def test_what_is_erased_is_gone_from_the_disk(path):
    with Ledger.open(path) as ledger:
        ledger.create("census", BUDGET)
        receipt = ledger.spend(Laplace(20.0), why="for Grace Hopper")
        held = path.read_bytes() + Path(f"{path}-wal").read_bytes()
        assert b"Grace Hopper" in held
        ledger.erase(receipt.sequence)
        held = path.read_bytes() + Path(f"{path}-wal").read_bytes()
        assert b"Grace Hopper" not in held


def test_a_key_that_occurs_twice_is_not_imported(where, tmp_path):
    """Nothing in a chain forbids it; the tables do."""
    made(tmp_path / "honest.db")
    with Ledger.open(tmp_path / "honest.db") as honest, honest._store.read() as page:
        rows = list(page.rows("census"))
        head, balance = honest._clerk.state(page, "census")
    charge = rows[1].content().act
    after = balance.after(charge).text()
    rows.append(Row.following(head, charge, "q1", Note.now("ada", None, None), after))
    write_lines(tmp_path / "twice.jsonl", {"census": iter(rows)})
    with Ledger.open(where) as ledger:
        with pytest.raises(LedgerError, match="contradicts"):
            ledger.import_(tmp_path / "twice.jsonl")
        assert ledger.datasets() == ()


def test_an_export_that_fails_leaves_no_file(path, tmp_path):
    made(path)
    connection = tampering.without_triggers(path)
    connection.execute("UPDATE renyi_entries SET payload = 'x' WHERE sequence = 1")
    connection.commit()
    connection.close()
    with Ledger.open(path) as ledger, pytest.raises(TamperedLedger):
        ledger.export(tmp_path / "export.jsonl")
    assert not (tmp_path / "export.jsonl").exists()


def test_sqlite_has_no_roles(path):
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match="no roles"):
        ledger.grant("ada", "spend")


SECRET = "s3cr3t-pw"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg://ada:{SECRET}@127.0.0.1:1/budget",
        f"postgresql://ada@127.0.0.1:1/budget?password={SECRET}",
        f"postgresql+psycopg://ada:{SECRET}@127.0.0.1:port/budget",
        f"mysql://ada:{SECRET}@127.0.0.1/budget",
        f"postgresql+psycopg://ada:p@{SECRET}@127.0.0.1:1/budget",
        f"postgresql://ada@127.0.0.1:1/budget?pasword={SECRET}",
        f"postgresql+psycopg:/ada:{SECRET}@127.0.0.1/budget",
        f"postgresql:ada:{SECRET}@127.0.0.1",
        f"postgresql:/ada:{SECRET}",
        f"postgresql//ada:{SECRET}@127.0.0.1/budget",
        f"ada:{SECRET}@127.0.0.1/budget",
        f"a:{SECRET}@127.0.0.1/budget",
        f"//a:{SECRET}/@127.0.0.1/budget",
        f"host=127.0.0.1 password={SECRET}",
        Path(f"postgresql+psycopg://ada:{SECRET}@127.0.0.1/budget"),
    ],
)
def test_a_password_never_reaches_an_error_or_a_log(url, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises((Unavailable, InvalidInput)) as caught:
        Ledger.open(url)
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert SECRET not in str(caught.value) + repr(caught.value) + shown.replace(f'"{url}"', "")
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "name", ["ada@work.db", "12:30.db", "C:\\Users\\ada@work\\budget.db", "postgres.db", "passwords.db"]
)
def test_a_name_that_only_resembles_a_url_is_a_file(name):
    assert Address.of(name).shown == os.path.abspath(name)


def test_a_file_with_the_name_of_a_mistyped_url_is_written_as_a_url(tmp_path):
    assert Address.of(f"sqlite:///{tmp_path}/a:b@c.db").shown == str(tmp_path / "a:b@c.db")


def test_a_password_is_not_shown_by_the_ledger(server, database):
    with Ledger.open(database.replace("postgres:@", f"postgres:{SECRET}@")) as ledger:
        assert SECRET not in repr(ledger)
        assert "***" in repr(ledger)


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "postgresql", "postgres"])
def test_an_unreachable_server_is_an_error_that_says_so(scheme):
    with pytest.raises(Unavailable, match="could not be used"):
        Ledger.open(f"{scheme}://ada@127.0.0.1:1/budget")


@pytest.mark.parametrize(
    "url", ["", "sqlite://", "sqlite:///:memory:", "redis://x", "postgresql+asyncpg://x", "a\0b", 3]
)
def test_what_is_no_place_for_a_ledger_is_refused(url):
    with pytest.raises(InvalidInput):
        Ledger.open(url)


def test_a_name_that_no_file_system_takes_is_an_error_that_says_so(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path / ("x" * 5_000), create=False)
    with pytest.raises(Unavailable, match="could not be used"):
        Ledger.open(tmp_path / ("x" * 5_000))


def test_files_that_are_no_ledgers_are_left_as_they_are(tmp_path):
    prose, other = tmp_path / "prose.db", tmp_path / "other.db"
    prose.write_text("It was a dark and stormy night. " * 50)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE kings (name TEXT)")
    connection.close()
    for file in (prose, other):
        before = file.read_bytes()[100:]
        with pytest.raises(OtherSchema):
            Ledger.open(file)
        assert file.read_bytes()[100 : len(before) + 100] == before
    with pytest.raises(LedgerError, match="a directory"):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="no directory"):
        Ledger.open(tmp_path / "nowhere" / "budget.db")
    with pytest.raises(LedgerError, match="ledger init"):
        Ledger.open(tmp_path / "missing.db", create=False)
    assert not (tmp_path / "missing.db").exists()


def test_a_file_that_is_replaced_while_it_is_open_takes_no_more_charges(path, tmp_path):
    made(path)
    with Ledger.open(path) as ledger:
        ledger.spend(Laplace(20.0))
        path.rename(tmp_path / "moved.db")
        with pytest.raises(Unavailable, match="replaced"):
            ledger.spend(Laplace(20.0))
        (tmp_path / "moved.db").rename(path)
        ledger.spend(Laplace(20.0))


def test_a_file_with_two_names_is_refused(path, tmp_path):
    """Each name has a log of its own: who spends under one does not see what was spent under the other."""
    made(path)
    os.link(path, tmp_path / "other.db")
    for name in (path, tmp_path / "other.db"):
        with pytest.raises(LedgerError, match="hard links"):
            Ledger.open(name)
    (tmp_path / "other.db").unlink()
    with Ledger.open(path) as ledger:
        ledger.verify()


def test_a_file_that_may_only_be_read_is_read_and_stays_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "a copy?of 100%.db"
    heads = made(path)
    before = path.read_bytes()
    # An administrator may write everything; the system says here what it says to others.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with Ledger.open(path, create=False) as ledger:
        assert (ledger.verify(), ledger.status().entries) == (heads, 2)
        for change in (lambda: ledger.spend(Laplace(20.0)), lambda: ledger.erase(1)):
            with pytest.raises(Unavailable, match="readonly"):
                change()
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_who_may_only_look_sees_what_others_have_spent_since(path, tmp_path, monkeypatch):
    made(path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(path)
    may = os.access
    monkeypatch.setattr(os, "access", lambda *_: False)
    with Ledger.open(tmp_path / "elsewhere" / "link.db", create=False) as looking:
        assert looking.status().entries == 2
        monkeypatch.setattr(os, "access", may)
        with Ledger.open(path) as spending:
            monkeypatch.setattr(os, "access", lambda *_: False)
            spending.spend(Laplace(20.0))
            assert looking.status().entries == 3  # what stands in the log of those who spend counts too
        assert looking.status().entries == 3


def forged(path, **columns):
    """The last entry with another balance, and a chain that agrees; or with another payload, note or version."""
    made(path)
    connection = tampering.without_triggers(path)
    hashes = [found for (found,) in connection.execute("SELECT hash FROM renyi_entries ORDER BY sequence")]
    if (balance := columns.get("balance")) is not None:
        (payload,) = connection.execute("SELECT payload FROM renyi_entries WHERE sequence = 1").fetchone()
        values = {**json.loads(payload), "balance": digest(balance)}
        entry = Entry.following(1, hashes[0], values)
        connection.execute(
            "UPDATE renyi_entries SET payload = ?, hash = ? WHERE sequence = 1", (canonical(values), entry.hash)
        )
        connection.execute("UPDATE renyi_heads SET hash = ?, balance = ?", (entry.hash, balance))
    if "payload" in columns:
        connection.execute("UPDATE renyi_entries SET payload = ? WHERE sequence = 1", (columns["payload"],))
    if "version" in columns:
        connection.execute("UPDATE renyi_schema SET version = ?", (columns["version"],))
    connection.commit()
    connection.close()


DEEP = "[" * 100_000

FORGED = [
    *({"balance": balance} for balance in ("[]", "{}", "null", "x", DEEP, "1" * 5_000, '{"":3}')),
    {"balance": '{"":{"share":"1","whole":[1],"parts":{}}}'},
    {"balance": '{"":{"share":"1","whole":"abc","parts":{}}}'},
    {"balance": '{"":{"share":"1e-999999999","whole":[1],"parts":{}}}'},
    {"balance": '{"":{"share":"1/0","whole":[1],"parts":[]}}'},
    *({"payload": payload} for payload in (DEEP, '{"a":' * 50_000, "null", '{"act":"spend"}')),
    *({"version": version} for version in ("first", -1, 2.5)),
]


@pytest.mark.parametrize("columns", FORGED, ids=range(len(FORGED)))
def test_a_file_that_somebody_has_forged_is_refused_by_an_error_of_ours(path, columns):
    """Who can write the file can make its hashes agree with anything, and send it to others."""
    forged(path, **columns)
    refused = 0
    for use in (Ledger.status, lambda ledger: ledger.spend(Laplace(30.0)), lambda ledger: list(ledger.history())):
        try:
            with Ledger.open(path) as ledger:
                use(ledger)
        except (LedgerError, InvalidInput):
            refused += 1
    assert refused >= 2 or (refused, "payload" in columns) == (1, True)


def test_an_event_that_no_import_would_read_back_is_not_written():
    large = Composed(tuple(Laplace(1e9 + number) for number in range(24_999)))
    assert large.to_json()  # by itself it could be read back; the entry around it cannot
    charge = Charge(large, BUDGET.nothing)
    with pytest.raises(NotSerialisable, match="50,000 objects"):
        Row.following(None, Spend(charge), "a key", Note.now("ada", None, None), "")


def test_a_busy_ledger_is_waited_for_and_then_given_up(path, monkeypatch):
    made(path)
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with Ledger.open(path) as ledger:
        assert ledger.status().entries == 2  # reading goes on
        with pytest.raises(Unavailable, match="busy"):
            ledger.spend(Laplace(20.0))
        blocker.execute("ROLLBACK")
        ledger.spend(Laplace(20.0))
    blocker.close()


def test_a_forked_process_opens_connections_of_its_own(where):
    made(where)
    with Ledger.open(where) as ledger:
        ledger.spend(Laplace(20.0))
        child = forked(lambda: ledger.spend(Laplace(20.0)).sequence)
        assert result_of(*child) == 3
        assert ledger.spend(Laplace(20.0)).sequence == 4
        ledger.verify()


def test_tables_of_the_first_version_are_read_today(path):
    """The file was written by the first release: whatever the tables look like later, it opens."""
    with sqlite3.connect(path) as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
    connection.close()
    with Ledger.open(path) as ledger:
        ledger.verify(head=HEAD_OF_VERSION_1)
        assert [each.account for each in ledger.status().accounts] == ["all", "team:blue"]
        ledger.spend(Gaussian(50.0), team="blue")
        ledger.verify()


HEAD_OF_VERSION_1 = "4:2d87cbe5ca54c98b58e787399727ab250e09a2f5433d6dd5501472b485d7d2c4"


@pytest.mark.parametrize("dies", [False, True], ids=["all live", "the first is killed"])
def test_a_migration_happens_once_although_many_processes_begin_it_together(where, tmp_path, monkeypatch, dies):
    made(where)
    together, first = multiprocessing.get_context("fork").Barrier(4), tmp_path / "first"

    def second(connection):
        connection.execute(text("CREATE TABLE renyi_kings (number INTEGER)"))
        connection.execute(text("INSERT INTO renyi_kings VALUES (1)"))
        if dies and not first.exists():
            first.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    steps = (*migrations.MIGRATIONS, second)

    def is_current(connection):
        found = migrations.is_current(connection, steps)
        together.wait(timeout=60)  # nobody begins before all have seen that there is something to do
        return found

    def body():
        with Ledger.open(where) as ledger:
            return ledger.spend(Laplace(20.0)).sequence

    with monkeypatch.context() as newer:
        newer.setattr(store, "is_current", is_current)
        newer.setattr(store, "migrate", lambda connection: migrations.migrate(connection, steps))
        found = [result_of(*child) for child in [forked(body) for _ in range(4)]]
    assert found.count(None) == dies
    assert {each for each in found if each is not None} == set(range(2, 6 - dies))
    engine = create_engine(Address.of(where).url)
    with engine.connect() as connection:
        assert migrations.version(connection) == 2
        assert connection.execute(text("SELECT count(*) FROM renyi_kings")).scalar() == 1
    engine.dispose()
    with pytest.raises(OtherSchema, match="newer"):
        Ledger.open(where)  # as the release before would
    monkeypatch.setattr(store, "is_current", lambda connection: True)
    with Ledger.open(where) as ledger:
        ledger.verify()


def test_processes_that_make_a_ledger_at_once_make_one(where):
    def body():
        with Ledger.open(where) as ledger:
            try:
                ledger.create("census", BUDGET)
            except LedgerError as error:
                return str(error)
        return "made"

    found = [result_of(*child) for child in [forked(body) for _ in range(4)]]
    assert found.count("made") == 1
    assert all("exists already" in each for each in found if each != "made")
    with Ledger.open(where) as ledger:
        assert ledger.status().entries == 1


def test_importing_the_ledger_loads_no_database():
    code = "import sys, renyi.ledger; print([m for m in ('sqlalchemy', 'sqlite3', 'psycopg') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("module", "extra"), [("sqlalchemy", "ledger"), ("psycopg", "postgres")])
def test_a_missing_package_is_named_with_its_extra(module, extra):
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from renyi.ledger import Ledger\nLedger.open('postgresql://ada@127.0.0.1:1/budget')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert f"renyi[{extra}]" in done.stderr
