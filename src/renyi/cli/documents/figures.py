"""``renyi figures``: the figures of the papers, redrawn with the exact answer."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from renyi.errors import InvalidInput
from renyi.plots.backend import need_matplotlib
from renyi.plots.figures import FIGURES, write
from renyi.report import Report


class Format(StrEnum):
    """The formats in which figures are written."""

    PNG = "png"
    SVG = "svg"


Out = Annotated[Path, typer.Option("--out", help="The folder to write to; created if needed.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="The name of one figure; repeatable. An unknown name lists the known ones."),
]
Formats = Annotated[
    list[Format] | None, typer.Option("--format", help="png (the default) or svg; repeatable.", show_default=False)
]


def command(out: Out = Path("figures"), only: Only = None, formats: Formats = None) -> Report:
    """Redraw the papers' figures, each with its numbers as CSV; all of them take a minute or more.

    Examples:

        renyi figures

        renyi figures --out docs/figures --only zhu-wang-figure-3 --format png --format svg
    """
    need_matplotlib()
    names = list(dict.fromkeys(only or FIGURES))
    for name in names:
        if name not in FIGURES:
            raise InvalidInput(f"there is no figure {name!r}; there are {', '.join(FIGURES)}.")
    kinds = [kind.value for kind in dict.fromkeys(formats or [Format.PNG])]
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    started = time.monotonic()
    files: list[Path] = []
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("figures", total=len(names))
        for name in names:
            bar.update(task, description=name)
            files += write(FIGURES[name](), out, kinds)
            bar.advance(task)
    seconds = time.monotonic() - started
    data = {"files": [str(path) for path in files], "figures": names, "seconds": seconds}
    return Report(tuple(str(path) for path in files), (f"{len(names)} figures in {seconds:.0f} s.",), data)
