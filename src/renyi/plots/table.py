"""The numbers of a figure as CSV: one row per point of every curve."""

from __future__ import annotations

import csv
import io

from renyi.plots.chart import Chart


def table(chart: Chart) -> str:
    """The rows panel, curve, x, y with a header; floats are written so that they read back as the same floats."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["panel", "curve", *chart.quantities])
    for panel in chart.panels:
        for line in panel.lines:
            if not line.label:  # only a guide for the eye
                continue
            writer.writerows([panel.title, line.label, repr(x), repr(y)] for x, y in zip(line.x, line.y, strict=True))
    return text.getvalue()
