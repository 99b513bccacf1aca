"""A campaign that was stopped goes on where it was, if it is about the same code."""

from __future__ import annotations

from scripts.house import House

from tests.soundness import exact_campaign, journal
from tests.soundness.exact_campaign import Outcome
from tests.soundness.journal import CHANGED, Chunk, Journal

FIRST, SECOND = ("points", 7, 0, 50), ("points", 7, 50, 100)


def outcome(number: int, failures: list[str], memory: float = 90.0) -> Outcome:
    return Outcome(number, "a point", failures, 0.5, memory, {"width": float("inf")}, ["count"])


def test_what_was_added_is_read_again(tmp_path):
    journal = Journal(tmp_path / "deep" / "journal.jsonl")
    assert list(journal) == []
    chunks = [Chunk(FIRST, "abc", [[1, "a", [], 0.5, {"width": float("inf")}]]), Chunk(SECOND, "abd", [])]
    for chunk in chunks:
        journal.add(chunk)
    assert list(Journal(journal.path)) == chunks


def test_a_torn_line_is_asked_again(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add(Chunk(FIRST, "abc", [1]))
    journal.add(Chunk(SECOND, "abc", [2]))
    journal.path.write_text(journal.path.read_text(encoding="utf-8")[:-4], encoding="utf-8")
    assert list(journal) == [Chunk(FIRST, "abc", [1])]
    journal.add(Chunk(SECOND, "abc", [3]))
    assert list(journal) == [Chunk(FIRST, "abc", [1]), Chunk(SECOND, "abc", [3])]


def test_what_code_without_a_name_found_is_not_kept(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add(Chunk(FIRST, "abc" + CHANGED, [1]))
    assert list(journal) == []


def test_only_what_this_tree_was_asked_is_known(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    right, wrong = [outcome(3, [])], [outcome(60, ["wrong"])]
    journal.add(Chunk(FIRST, "before", right))
    journal.add(Chunk(SECOND, "after", wrong))
    assert exact_campaign.known(journal, "before") == {FIRST: right}
    assert exact_campaign.known(journal, "after") == {SECOND: wrong}


def test_words_may_change_while_a_campaign_stands(tmp_path):
    plain, worded, other = (tmp_path / name for name in ("plain.py", "worded.py", "other.py"))
    plain.write_text("LIMIT = 3\ndef f(x):\n    return x < LIMIT\n", encoding="utf-8")
    worded.write_text(
        '"""A module."""\nLIMIT = 3  # of something\n"""Why three."""\ndef f(x):\n    """Says."""\n    return x < LIMIT\n',
        encoding="utf-8",
    )
    other.write_text("LIMIT = 3\ndef f(x):\n    return x <= LIMIT\n", encoding="utf-8")
    assert journal._code(plain) == journal._code(worded) != journal._code(other)


def test_no_accountant_imports_what_a_campaign_leaves_out():
    house = House.of()
    outside = {
        name
        for name, path in house.files.items()
        if str(path.relative_to(journal.ROOT).as_posix()).startswith(journal.BEYOND)
    }
    inside = house.files.keys() - outside - {"renyi", "renyi.__main__", "renyi.accountants"}
    assert outside
    assert not {(name, other) for name in inside for other in house.imports[name] & outside}
