"""Speed against tightness: one point per library and setting, from docs/benchmark.json (see benchmarks/peers.py)."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

SMALLEST = 1e-15  # what is nearer to the truth is drawn here


COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#CC79A7", "#009E73", "#000000", "#8C8C8C")  # Okabe & Ito


def points(rows: list[dict[str, Any]]) -> dict[str, list[tuple[float, float, bool]]]:
    """Milliseconds of a warm call, relative distance from the truth, and whether below it, by library."""
    found: dict[str, list[tuple[float, float, bool]]] = {}
    for row in rows:
        if row["group"] == "settings" and "failure" not in row and row.get("truth"):
            gap = row["value"] / row["truth"] - 1.0
            place = (1e3 * min(row["warm"]), max(abs(gap), SMALLEST), gap < -SMALLEST)
            found.setdefault(row["library"], []).append(place)
    return found


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(8, 5), dpi=120, layout="constrained")
    drawn = points(json.loads(source.read_text())["rows"])
    for marker, colour, (library, found) in zip("oDs^vPX*", COLOURS, drawn.items(), strict=False):
        for below in (False, True):
            some = [place[:2] for place in found if place[2] is below]
            milliseconds, gaps = zip(*some, strict=True) if some else ((), ())
            face, label = ("none", None) if below else (colour, library)
            axes.scatter(milliseconds, gaps, marker=marker, s=45, facecolors=face, edgecolors=colour, label=label)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="processor time of a warm call, ms",
        ylabel="relative distance from the truth",
    )
    axes.set_title(
        "Epsilon of sampled Gaussian runs: left is faster, down is tighter (hollow: below the truth)", fontsize=10
    )
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(loc="center left", fontsize=8)
    figure.savefig(target)


if __name__ == "__main__":
    main()
