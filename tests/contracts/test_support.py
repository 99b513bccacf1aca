"""The committed table of supported combinations is what the code does."""

from __future__ import annotations

import pytest

from tests import examples
from tests.contracts.support import COMBINATIONS, HEADER, PATH, line

ROWS = PATH.read_text(encoding="utf-8").splitlines()


def test_the_table_has_a_row_for_every_combination():
    assert ROWS[: len(HEADER)] == HEADER
    named = [row.split(" | ")[:3] for row in ROWS[len(HEADER) :]]
    assert named == [[f"| {name}", sampling or "none", type(asked).__name__] for name, sampling, asked in COMBINATIONS]


@pytest.mark.parametrize("number", examples.some(range(len(COMBINATIONS)), 3))
def test_the_row_is_what_the_code_does(number):
    assert ROWS[len(HEADER) + number] == line(COMBINATIONS[number]), "run `make support` and look at what changed"
