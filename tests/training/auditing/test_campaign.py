"""The campaign of audits goes on only with rows of the same code and the same settings."""

from __future__ import annotations

import json

import pytest

from tests.training.auditing import campaign

ROWS = [{"task": ["claim", "2.0"]}]


@pytest.mark.parametrize(
    ("tree", "settings", "rows"),
    [
        ("here", campaign.SETTINGS, ROWS),
        ("elsewhere", campaign.SETTINGS, []),
        ("here", campaign.SETTINGS | {"trials by claim": {"2.0": 40_000}}, []),
        ("here", None, []),
    ],
    ids=["the same", "other code", "other trials", "settings unknown"],
)
def test_rows_of_other_code_or_other_settings_are_done_again(tree, settings, rows, tmp_path):
    path = tmp_path / "audit.json"
    path.write_text(json.dumps({"tree of training": tree, "settings": settings, "rows": ROWS}), encoding="utf-8")
    assert campaign.known(path, "here")["rows"] == rows
    assert campaign.known(tmp_path / "none.json", "here")["settings"] == campaign.SETTINGS
