"""Speed against tightness: one point per library and setting, from docs/benchmark.json (see benchmarks/peers.py)."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

SMALLEST = 1e-15  # what is nearer to the truth is drawn here


def points(rows: list[dict[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of a warm call and relative excess over the truth, by library."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["group"] == "settings" and "failure" not in row and row.get("truth"):
            gap = max(abs(row["value"] / row["truth"] - 1.0), SMALLEST)
            found.setdefault(row["library"], []).append((1e3 * min(row["warm"]), gap))
    return found


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(8, 5), dpi=120, layout="constrained")
    for marker, (library, found) in zip(
        "oDs^vPX*", points(json.loads(source.read_text())["rows"]).items(), strict=False
    ):
        milliseconds, gaps = zip(*found, strict=True)
        axes.scatter(milliseconds, gaps, marker=marker, s=45, alpha=0.8, label=library)
    axes.set(
        xscale="log", yscale="log", xlabel="processor time of a warm call, ms", ylabel="relative excess over the truth"
    )
    axes.set_title("Epsilon of sampled Gaussian runs: left is faster, down is tighter")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(loc="best", fontsize=8)
    figure.savefig(target)


if __name__ == "__main__":
    main()
