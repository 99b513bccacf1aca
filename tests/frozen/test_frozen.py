"""A hundredth of the frozen answers, and everything that was ever written: `make frozen` asks for all answers."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

import pytest

import renyi
from renyi import Adjacency
from renyi.events.mechanism import MECHANISMS
from renyi.events.sampling import SAMPLINGS
from renyi.training import replay
from tests import examples
from tests.frozen import formats
from tests.frozen.__main__ import FARTHEST, compared
from tests.frozen.answers import FILE, from_row

ONE_IN, PARTS = 100, 4
DOCUMENTS = json.loads(formats.EVENTS.read_text(encoding="utf-8"))
JOURNALS = json.loads(formats.JOURNALS.read_text(encoding="utf-8"))
SLACK = 1e-9
"""By which an upper end may be above the frozen one, relatively."""


@cache
def rows() -> list[dict[str, Any]]:
    """The frozen answers, as they are written."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return json.load(file)["points"]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_hundredth_of_the_answers_is_no_worse(part):
    """But for one small exception at most: of all points a hundredth may be one."""
    points = map(from_row, rows()[examples.SEED % ONE_IN :: ONE_IN][part::PARTS])
    worse = [(str(point), what) for point in points for what in compared(point)]
    assert len({point for point, _ in worse}) <= 1, worse
    assert all(by <= FARTHEST for _, (_, by) in worse), worse


@pytest.mark.parametrize("row", DOCUMENTS, ids=lambda row: row["notation"])
def test_a_document_is_still_read_and_costs_the_same(row):
    event = renyi.from_json(row["text"])
    assert event == eval(
        row["notation"], {name: getattr(renyi, name) for name in renyi.__all__} | {"inf": float("inf")}
    )
    assert event.to_json() == row["text"]
    if row["adjacency"] is None:
        assert formats.promised(event) is None
        return
    found = renyi.guarantee(event, delta=formats.DELTA, adjacency=Adjacency(row["adjacency"])).epsilon
    lower, upper = row["epsilon"]
    assert lower <= found.upper <= upper * (1.0 + SLACK)
    assert found.lower <= upper


def test_there_is_a_document_of_every_kind():
    texts = "".join(row["text"] for row in DOCUMENTS)
    ours = [name for name in (*MECHANISMS.names(), *SAMPLINGS.names()) if not name.startswith("test_")]
    missing = {name for name in ours if f'"name": "{name}"' not in texts}
    assert missing == {"from_densities"}  # holds functions
    kinds = ("mechanism", "sampled", "repeated", "composed", "grouped", "tuned")
    assert all(f'"kind": "{kind}"' in texts for kind in kinds)


@pytest.mark.parametrize("name", JOURNALS)
def test_a_journal_is_still_read_and_promises_the_same(name):
    record, then = replay(formats.FOLDER / f"{name}.jsonl"), JOURNALS[name]
    assert (record.steps, record.lines, record.head) == (then["steps"], then["lines"], then["head"])
    assert record.private is then["private"]
    assert record.event == renyi.from_json(then["event"])
    promise = record.guarantee()
    lower, upper = then["epsilon"]
    assert lower <= promise.epsilon.upper <= upper * (1.0 + SLACK)
    # What was assumed still is; an assumption that nobody had put into words may have been added.
    assert set(then["assumed"]) <= {text.partition(":")[0] for text in promise.assumptions}
