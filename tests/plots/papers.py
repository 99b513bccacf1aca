"""The papers' figures, computed once in a process, and their numbers as they are read off the published CSV."""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path

from renyi.plots.chart import Chart
from renyi.plots.figures import FIGURES
from tests import examples

PUBLISHED = Path(__file__).parents[2] / "docs" / "figures"

QUICK = ("zhu-wang-figure-2", "zhu-wang-figure-3", "zhu-wang-figure-5")
COMPUTED = tuple(FIGURES) if examples.FULL else QUICK
"""The figures that are computed anew, and held against the published numbers; the others take seconds each."""


@cache
def chart(name: str) -> Chart:
    return FIGURES[name]()


Curves = dict[tuple[str, str], dict[float, float]]


def read(text: str) -> Curves:
    """(panel, curve) -> x -> y."""
    rows = list(csv.reader(io.StringIO(text)))
    curves: Curves = {}
    for panel, curve, x, y in rows[1:]:
        curves.setdefault((panel, curve), {})[float(x)] = float(y)
    return curves


@cache
def curves(name: str) -> Curves:
    """The published numbers; of every figure some are held against the public API, and all of those that are computed."""
    return read((PUBLISHED / f"{name}.csv").read_text("utf-8"))


def curve(name: str, panel: str, label: str) -> dict[float, float]:
    """The one curve whose panel and label start so."""
    found = [points for (p, c), points in curves(name).items() if p.startswith(panel) and c.startswith(label)]
    assert len(found) == 1, (panel, label, list(curves(name)))
    return found[0]


def near(points: dict[float, float], x: float) -> float:
    """The value at the point next to x, on a logarithmic scale."""
    return points[min(points, key=lambda at: abs(at / x - 1.0))]
