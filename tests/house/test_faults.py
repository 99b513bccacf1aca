"""The planted faults are up to date: `make faults` plants them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts import faults
from scripts.planted_faults import FAULTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.sentence)
def test_a_fault_can_be_planted_and_its_test_exists(fault):
    assert (ROOT / fault.file).read_text(encoding="utf-8").count(fault.text) == 1
    assert fault.planted != fault.text
    path, _, name = fault.test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_fault_was_caught_and_the_page_says_so():
    rows = json.loads(faults.RESULT.read_text(encoding="utf-8"))
    assert [(row["fault"], row["caught by"]) for row in rows] == [(fault.sentence, fault.test) for fault in FAULTS]
    page = faults.PAGE.read_text(encoding="utf-8")
    assert faults.with_table(page, rows) == page


def test_there_are_enough():
    assert len({fault.sentence for fault in FAULTS}) == len(FAULTS) >= 24
    assert sum(fault.was_ours for fault in FAULTS) >= 5
