"""A journal: acknowledged lines survive, torn ones are dropped, changed ones are found, one writer at a time."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from itertools import pairwise

import pytest

from renyi.errors import PrivacyError
from renyi.ledger import Journal, JournalError, JournalInUse, TamperedJournal, read
from renyi.ledger.journal import entries
from renyi.ledger.signals import undisturbed

FORKING = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def filled(path, count=5):
    with Journal(path) as journal:
        for number in range(count):
            journal.append({"number": number, "text": "ä\n", "value": 0.1 * number})
    return path.read_bytes()


def test_what_was_appended_is_read_back_and_chained(path):
    filled(path)
    entries = read(path)
    assert [entry.payload["number"] for entry in entries] == list(range(5))
    assert [entry.sequence for entry in entries] == list(range(5))
    assert all(later.previous == earlier.hash for earlier, later in pairwise(entries))
    assert all(
        set(json.loads(line)) == {"sequence", "previous", "payload", "hash"} for line in path.read_text().splitlines()
    )


def test_opening_again_goes_on_where_it_ended(path):
    filled(path, 3)
    with Journal(path) as journal:
        assert len(journal) == 3
        assert journal.torn == 0
        entry = journal.append({"number": 3})
        assert journal.head == entry.hash
    assert len(read(path)) == 4


def test_a_line_torn_at_any_byte_was_never_acknowledged_and_is_dropped(path):
    whole = filled(path, 3)
    second_end = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for cut in range(second_end, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert len(read(path)) == 2
        with Journal(path) as journal:
            assert len(journal) == 2
            assert journal.torn == cut - second_end
        assert path.read_bytes() == whole[:second_end]


def test_every_changed_byte_is_noticed_and_the_line_is_named(path):
    whole = filled(path, 4)
    ends = [i for i, byte in enumerate(whole) if byte == 10]
    for place in range(0, len(whole) - 1, 7):
        changed = bytearray(whole)
        changed[place] = ord("7") if whole[place] != ord("7") else ord("8")
        path.write_bytes(changed)
        line = sum(end < place for end in ends) + 1
        with pytest.raises(TamperedJournal, match=f"line ({line}|{line + 1}) of"):
            read(path)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_missing_line_is_noticed(path, missing):
    lines = filled(path, 4).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:missing] + lines[missing + 1 :]))
    with pytest.raises(TamperedJournal, match=f"line {missing + 1} of .* does not continue"):
        Journal(path)


def test_lines_in_another_order_or_twice_are_noticed(path):
    lines = filled(path, 4).splitlines(keepends=True)
    for other in (lines[::-1], [lines[0], *lines], [*lines, lines[3]]):
        path.write_bytes(b"".join(other))
        with pytest.raises(TamperedJournal):
            read(path)


def test_a_line_rewritten_with_its_own_hash_still_breaks_the_chain(path):
    lines = filled(path, 3).splitlines(keepends=True)
    first = json.loads(lines[0])
    from renyi.ledger.journal import Entry

    forged = Entry.following(0, first["previous"], {"number": 99})
    path.write_bytes(forged.line() + b"".join(lines[1:]))
    with pytest.raises(TamperedJournal, match="line 2"):
        read(path)


def test_two_writers_are_refused_in_one_process_and_in_two(path):
    with Journal(path):
        with pytest.raises(JournalInUse, match="another run"):
            Journal(path)
        code = f"from renyi.ledger import Journal; Journal({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "JournalInUse" in done.stderr
    with Journal(path) as journal:
        journal.append({})


@FORKING
def test_a_forked_process_cannot_write(path):
    with Journal(path) as journal:
        child = os.fork()
        if child == 0:
            try:
                journal.append({"from": "child"})
            except JournalError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        journal.append({"from": "parent"})
    assert [entry.payload for entry in read(path)] == [{"from": "parent"}]


@FORKING
def test_closing_frees_the_journal_though_a_forked_process_still_has_it(path):
    journal = Journal(path)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reader, 1)
        os._exit(0)
    with pytest.raises(JournalInUse):
        Journal(path)
    journal.close()
    Journal(path).close()
    os.write(writer, b"x")
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)


def test_the_file_and_its_directory_are_forced_to_disk_before_append_returns(path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))[1])
    with Journal(path) as journal:
        assert synced == [str(path.parent)]
        journal.append({})
        assert synced[1:] == [str(path)]


def test_a_failed_write_closes_the_journal(path, monkeypatch):
    journal = Journal(path)
    journal.append({"number": 0})
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(JournalError, match="No space left"):
            journal.append({"number": 1})
    with pytest.raises(JournalError, match="closed"):
        journal.append({"number": 2})
    assert len(read(path)) == 2


@pytest.mark.parametrize(
    "payload", [{"x": float("nan")}, {"x": object()}, {"x": b"bytes"}], ids=["nan", "object", "bytes"]
)
def test_only_json_goes_in(path, payload):
    with Journal(path) as journal:
        with pytest.raises(JournalError, match="JSON"):
            journal.append(payload)
        journal.append({"fine": True})
    assert len(read(path)) == 1


def test_a_journal_stays_where_it_is(path):
    with Journal(path) as journal, pytest.raises(JournalError, match="pickled"):
        pickle.dumps(journal)


def test_paths_that_cannot_be_used(tmp_path):
    with pytest.raises(JournalError, match="directory that exists"):
        Journal(tmp_path / "missing" / "journal.jsonl")
    with pytest.raises(PrivacyError, match="cannot be read"):
        read(tmp_path / "nothing.jsonl")
    for use in (Journal, read):
        for nothing in ("a\0b", 3, None, b"journal.jsonl"):
            with pytest.raises(PrivacyError, match="journal must name a file"):
                use(nothing)


def test_the_ledger_does_not_load_torch():
    code = "import sys, renyi.ledger; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_last_line_that_lacks_only_its_newline_counts(path):
    whole = filled(path, 3)
    path.write_bytes(whole[:-1])
    assert len(read(path)) == 3
    assert path.read_bytes() == whole[:-1]
    with Journal(path) as journal:
        assert (len(journal), journal.torn) == (3, 0)
        assert path.read_bytes() == whole
        journal.append({"number": 3})
    assert len(read(path)) == 4


def test_a_whole_last_line_that_does_not_continue_the_chain_is_dropped_like_a_torn_one(path):
    lines = filled(path, 3).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[0].rstrip())
    with Journal(path) as journal:
        assert len(journal) == 2
    assert path.read_bytes() == b"".join(lines[:2])


@pytest.mark.parametrize("foreign", [b"my diary", b"{}", b'{"sequence":0,"previous":"00'], ids=str)
def test_a_file_that_does_not_begin_with_an_entry_is_left_as_it_is(path, foreign):
    path.write_bytes(foreign)
    for use in (Journal, read):
        with pytest.raises(JournalError, match="is not a journal"):
            use(path)
    assert path.read_bytes() == foreign


def test_files_are_for_their_owner(path):
    filled(path)
    assert path.stat().st_mode & 0o777 == 0o600


def renamed(path):
    path.rename(path.with_suffix(".moved"))


def removed(path):
    path.unlink()


def replaced(path):
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def truncated(path):
    os.truncate(path, path.stat().st_size - 10)


def emptied(path):
    os.truncate(path, 0)


def appended_to(path):
    with path.open("ab") as file:
        file.write(b"\n")


@pytest.mark.parametrize(
    "change", [renamed, removed, replaced, truncated, emptied, appended_to], ids=lambda f: f.__name__
)
def test_a_file_that_changes_while_it_is_open_is_noticed_before_anything_is_written(path, change):
    with Journal(path) as journal:
        journal.append({"number": 0})
        change(path)
        with pytest.raises(JournalError, match="while it was open"):
            journal.append({"number": 1})
        with pytest.raises(JournalError, match="is closed"):
            journal.append({"number": 2})


@pytest.mark.parametrize("use", [Journal, read], ids=lambda use: use.__name__)
def test_what_is_no_file_is_refused_at_once(tmp_path, use):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for other in (pipe, tmp_path, "/dev/zero", "/dev/null"):
        with pytest.raises(JournalError, match=r"is not a file|Is a directory"):
            use(other)


def test_threads_take_turns(path):
    with Journal(path) as journal:

        def write(first):
            for number in range(first, first + 30):
                journal.append({"number": number})

        threads = [threading.Thread(target=write, args=(100 * place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(journal) == 120
    assert sorted(entry.payload["number"] for entry in read(path)) == sorted(
        100 * a + b for a in range(4) for b in range(30)
    )


def test_entries_are_given_to_whoever_opens(path):
    filled(path, 3)
    seen = []
    Journal(path, seen.append).close()
    assert tuple(seen) == read(path) == tuple(entries(path))

    def refuse(entry):
        raise JournalError("no")

    with pytest.raises(JournalError, match="no"):
        Journal(path, refuse)
    Journal(path).close()  # it was given back


class _Stopped(BaseException):
    pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_block_is_over(number):
    seen = []

    def handler(*_):
        seen.append("handled")
        raise _Stopped

    def disturbed(error=None):
        with undisturbed(), undisturbed():
            signal.raise_signal(number)
            seen.append("went on")
            if error is not None:
                raise error

    before = signal.signal(number, handler)
    try:
        with pytest.raises(_Stopped):
            disturbed()
        assert seen == ["went on", "handled"]
        assert signal.getsignal(number) is handler
        with pytest.raises(_Stopped):
            disturbed(ValueError("which the signal takes the place of"))
        thread = threading.Thread(target=lambda: seen.append(undisturbed().__enter__()))
        thread.start()
        thread.join()
        assert seen[-1] is None
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_handlers_are_back_whichever_statement_a_signal_comes_at(number):
    """Also where the handler that is back first raises before the statement that restores the other."""

    def handler(*_):
        raise _Stopped

    def at(wanted, lines):
        def trace(frame, event, _):
            if frame.f_code is not undisturbed.__wrapped__.__code__:
                return None
            if event == "line":
                lines.append(frame.f_lineno)
                if len(lines) == wanted:
                    signal.raise_signal(number)
            return trace

        return trace

    def disturbed(wanted):
        lines = []
        sys.settrace(at(wanted, lines))
        try:
            with undisturbed():
                pass
        except _Stopped:
            pass
        finally:
            sys.settrace(tracer)
        return len(lines)

    tracer = sys.gettrace()
    before = [(each, signal.signal(each, handler)) for each in (signal.SIGINT, signal.SIGTERM)]
    try:
        for wanted in range(1, disturbed(0) + 1):
            disturbed(wanted)
            assert [signal.getsignal(each) for each, _ in before] == [handler, handler], wanted
    finally:
        for each, old in before:
            signal.signal(each, old)
