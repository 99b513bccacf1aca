"""Work in numbers that are the same in every run: where a clock would depend on the machine and on what else it does."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(function: Callable[[], object]) -> int:
    """How many functions are called, Python's and C's, while a function runs."""
    count = 0

    def follow(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
