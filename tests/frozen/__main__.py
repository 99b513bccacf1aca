"""Today's answers beside the frozen ones, at every point; writes docs/frozen.json.

make frozen                          all points
python -m tests.frozen --freeze      answers anew, and writes the file of frozen answers
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from tests.frozen.answers import FILE, Point, frozen, judged, questions, to_row
from tests.soundness.journal import CHANGED, tree_of_accountants

RESULT = Path(__file__).resolve().parents[2] / "docs" / "frozen.json"
MOST_EXCEPTIONS, FARTHEST = 0.01, 1e-2
"""Of the points, and of an end, relatively."""

Made = TypeVar("Made")


def answered(point: Point) -> Point:
    """The point with today's answers."""
    return replace(point, answers=point.all_asked())


def compared(point: Point) -> list[tuple[str, float]]:
    """What is worse at a point."""
    return list(judged(point, point.all_asked()))


def freeze() -> int:
    """Ask about all points, and keep what is answered."""
    points = in_processes(answered, list(questions()))
    text = json.dumps(
        {"tree": tree_of_accountants(), "points": [to_row(point) for point in points]}, separators=(",", ":")
    )
    # Without a time in it the file depends on the answers alone.
    FILE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"\n{len(points)} points, {FILE.stat().st_size:,} bytes")
    return 0


def compare() -> int:
    """Ask about all points again; exceptions are listed, and counted against what is allowed."""
    points = frozen()
    started = time.time()
    found = [(str(point), worse) for point, worse in zip(points, in_processes(compared, points), strict=True) if worse]
    exceptions = [{"point": name, "worse": [{"what": text, "by": by} for text, by in worse]} for name, worse in found]
    farthest = max((by for _, worse in found for _, by in worse), default=0.0)
    document = {
        "tree of what was asked": tree_of_accountants(),
        "points": len(points),
        "exceptions": len(exceptions),
        "farthest": farthest,
        "list": exceptions,
    }
    failed = len(exceptions) > MOST_EXCEPTIONS * len(points) or farthest > FARTHEST
    print(json.dumps({**document, "list": [one["point"][:150] for one in exceptions[:50]]}, indent=1))
    print(f"{'failed' if failed else 'held'} in {time.time() - started:.0f} s")
    if not str(document["tree of what was asked"]).endswith(CHANGED):
        RESULT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def in_processes(ask: Callable[[Point], Made], points: Sequence[Point]) -> list[Made]:
    """In order; how far it is goes to the terminal. Processes fork: functions by name need not travel."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    made: list[Made] = []
    _Given.points, _Given.ask = points, ask
    with get_context("fork").Pool(2) as pool:
        for one in pool.imap(_asked, range(len(points)), chunksize=4):
            made.append(one)
            print(f"\r{len(made)}/{len(points)}", end="", file=sys.stderr, flush=True)
    return made


class _Given:
    points: Sequence[Point]
    ask: Callable[[Point], object]


def _asked(number: int) -> object:
    return _Given.ask(_Given.points[number])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freeze", action="store_true")
    sys.exit(freeze() if parser.parse_args().freeze else compare())
