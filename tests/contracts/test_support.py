"""The committed table of supported combinations is what the code does."""

from __future__ import annotations

from tests.contracts.support import PATH, table


def test_the_table_of_supported_combinations_is_current():
    assert PATH.read_text(encoding="utf-8") == table(), "run `make support` and look at what changed"
