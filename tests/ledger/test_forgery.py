"""Exports whose payloads were changed and whose hashes were made to agree again: refused by an error of ours, or possible."""

from __future__ import annotations

import json
import random

import pytest

from renyi.errors import PrivacyError
from renyi.ledger import Ledger
from renyi.ledger.exchange import read_lines
from renyi.ledger.journal import BEGINNING, Entry, canonical
from tests import examples
from tests.ledger.soak import tampering

TRIES = 4_000 if examples.FULL else 60

VALUES = (
    *(None, True, 0, -1, 1, 2**64, 10**399, 1.5, 1e300, 5e-324, -0.0),
    *("", "x", "inf", "nan", "1/3", "1e-999999999", "team:", " ", "\0", "\ud800", "a" * 201, "open", "void"),
    *([], {}, [[]], ["inf"], {"a": 1}),
)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("honest")
    tampering.written(folder / "budget.db")
    with Ledger.open(folder / "budget.db") as ledger:
        ledger.export(folder / "export.jsonl")
    return [json.loads(line) for line in (folder / "export.jsonl").read_text().splitlines()]


def test_whatever_somebody_forges_is_refused_by_an_error_of_ours_or_could_have_been_written(lines, tmp_path):
    rng = random.Random(examples.SEED)
    accepted = 0
    for _ in range(TRIES):
        forged, number = list(lines), rng.randrange(1, len(lines) - 1)
        place = rng.choice(list(places(lines[number]["payload"])))
        other = rng.choice([rng.choice(VALUES), lines[rng.randrange(1, len(lines) - 1)]["payload"]])
        forged[number] = {**lines[number], "payload": changed(lines[number]["payload"], place, other)}
        (tmp_path / "forged.jsonl").write_text(rechained(forged), encoding="ascii")
        try:
            replays = [replay for _, _, replay in read_lines(tmp_path / "forged.jsonl")]
        except PrivacyError:
            continue
        accepted += 1
        balance = replays[-1].balance
        budget = balance.dataset.filter
        assert all(budget.admits(spent, budget.nothing) for spent in balance.own.exposures(None))
    assert accepted < TRIES / 5


def places(value, path=()):
    """The ways to all values inside a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def changed(value, path, new):
    """A copy with another value at one place."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def rechained(lines):
    """The lines of an export with hashes that fit, as far as there is anything to hash."""
    previous, text = BEGINNING, [canonical(lines[0])]
    for line in lines[1:-1]:
        if isinstance(line["payload"], dict):
            previous = Entry.following(line["sequence"], previous, line["payload"]).hash
        text.append(canonical({**line, "hash": previous}))
    text.append(canonical({"heads": {"census": f"{lines[-2]['sequence']}:{previous}"}}))
    return "\n".join(text) + "\n"
