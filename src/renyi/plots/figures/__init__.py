"""The figures of the papers, with one curve added: the exact answer.

Read ``tau_terms``, the shortest figure. ``settings`` holds the mechanisms that several figures share, ``looks`` their
styles; every other file is one figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from renyi.errors import InvalidInput
from renyi.plots.chart import Chart
from renyi.plots.drawing import draw_chart
from renyi.plots.figures.closed_form import closed_form
from renyi.plots.figures.divergence_bounds import divergence_bounds
from renyi.plots.figures.odd_moments import odd_moments
from renyi.plots.figures.rounds import rounds
from renyi.plots.figures.tau_terms import tau_terms
from renyi.plots.figures.three_routes import three_routes
from renyi.plots.saving import save
from renyi.plots.table import table

FIGURES: dict[str, Callable[[], Chart]] = {
    "zhu-wang-figure-2": odd_moments,
    "zhu-wang-figure-3": divergence_bounds,
    "zhu-wang-figure-4": rounds,
    "zhu-wang-figure-5": tau_terms,
    "mironov-talwar-zhang-figure-1": closed_form,
    "routes-compared": three_routes,
}
"""The function that computes each figure, by the name of its files."""

DPI = 110
"""Resolution of the PNG files: legible on a page, small in a repository."""


def write(chart: Chart, folder: Path, formats: Iterable[str] = ("png",)) -> tuple[Path, ...]:
    """Write the figure in each format, and its numbers as CSV, to a folder that is created if needed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        numbers = folder / f"{chart.name}.csv"
        numbers.write_text(table(chart), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write to {folder}: {error.strerror or error}.") from None
    figure = draw_chart(chart)
    return (*(save(figure, folder / f"{chart.name}.{kind}", dpi=DPI) for kind in formats), numbers)
