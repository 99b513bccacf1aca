"""A campaign that was stopped goes on where it was."""

from __future__ import annotations

from tests.soundness import journal
from tests.soundness.journal import CHANGED, Journal


def test_what_was_added_is_read_again(tmp_path):
    first = Journal(tmp_path / "deep" / "journal.jsonl")
    assert first.read() == {}
    first.add(("points", 7, 0, 50), [[1, "a", [], 0.5, {"width": float("inf")}]])
    first.add(("points", 7, 50, 100), [])
    assert Journal(first.path).read() == {
        ("points", 7, 0, 50): [[1, "a", [], 0.5, {"width": float("inf")}]],
        ("points", 7, 50, 100): [],
    }


def test_a_torn_line_is_asked_again(tmp_path):
    found = Journal(tmp_path / "journal.jsonl")
    found.add(("points", 7, 0, 50), [1])
    found.add(("points", 7, 50, 100), [2])
    found.path.write_text(found.path.read_text(encoding="utf-8")[:-4], encoding="utf-8")
    assert found.read() == {("points", 7, 0, 50): [1]}
    found.add(("points", 7, 50, 100), [3])
    assert found.read() == {("points", 7, 0, 50): [1], ("points", 7, 50, 100): [3]}


def test_code_without_a_name_starts_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "FOLDER", tmp_path)
    Journal.of(7, "abc").add(("points",), [1])
    assert Journal.of(7, "abc").read() == {("points",): [1]}
    Journal.of(7, "abc" + CHANGED).add(("points",), [1])
    assert Journal.of(7, "abc" + CHANGED).read() == {}
