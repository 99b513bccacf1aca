"""Drawing charts with matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from renyi.plots.backend import house_style, own_figure, shown_axes
from renyi.plots.chart import Axis, Chart, Panel
from renyi.plots.style import NARROW_SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CAPTION_POINTS = 8.0
"""Font size of captions."""

_LETTER_WIDTH = 0.48
"""Mean width of a letter, in font sizes."""

_LINE_HEIGHT = 1.3 / 72.0
"""Height of a line of text in inches, per point of font size."""

_NARROW = 5.0
"""Inches: figures that are less wide have their legend below, and smaller letters. Columns of journals are 3.3 to 3.5."""

CAPTION = "caption"
"""The name (gid) of a caption among the texts of its axes."""


def draw_panel(ax: Axes, panel: Panel) -> None:
    """Draw the curves, scales, labels and title of a panel."""
    for line in panel.lines:
        ax.plot(line.x, line.y, label=line.label or None, **line.style.keywords())
    _draw_axis(ax, panel.x, "x", any(value > 0.0 for line in panel.lines for value in line.x))
    _draw_axis(ax, panel.y, "y", any(value > 0.0 for line in panel.lines for value in line.y))
    ax.set_title(panel.title, loc="left")
    if is_narrow(ax):
        # Units go to a line of their own, and what is longer than the axis ends with it: below it there is a legend.
        size = NARROW_SETTINGS["axes.labelsize"]
        ax.set_xlabel(ax.get_xlabel().replace(" (", "\n("), fontsize=size)
        ax.set_ylabel(ax.get_ylabel().replace(" (", "\n("), fontsize=size, loc="top")


def draw_legend(ax: Axes) -> None:
    """Draw a legend if any curve has a label."""
    handles, labels = ax.get_legend_handles_labels()
    figure = ax.get_figure(root=True)
    if labels and is_narrow(ax) and figure is not None and figure.get_layout_engine() is not None:
        figure.legend(handles, labels, loc="outside lower left", handlelength=2.8)
    elif labels:
        ax.legend(handles, labels, loc="best", handlelength=2.8)


def is_narrow(ax: Axes) -> bool:
    """Whether these axes are alone in a figure of a column's width: there a legend would cover the curves."""
    figure = ax.get_figure(root=True)
    return figure is not None and len(figure.axes) == 1 and figure.get_size_inches()[0] < _NARROW


@contextmanager
def style_of(ax: Axes) -> Iterator[None]:
    """The house's style, with smaller letters in a narrow figure."""
    import matplotlib

    with house_style(), matplotlib.rc_context(NARROW_SETTINGS if is_narrow(ax) else {}):
        yield


def draw_caption(ax: Axes, caption: str) -> None:
    """Draw the caption below the axes, wrapped to their width; automatic layouts make room for it as for a label."""
    figure = ax.get_figure(root=True)
    dpi = figure.dpi if figure is not None else 72.0
    width = ax.get_window_extent().width / dpi
    text = ax.annotate(
        wrapped(caption, width),
        (0.0, 0.0),
        xytext=(0.0, -38.0),  # below the tick labels and the label of the axis
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        ha="left",
        fontsize=_CAPTION_POINTS,
        annotation_clip=False,
    )
    text.set_gid(CAPTION)


def caption_of(ax: Axes) -> str:
    """The caption that ``draw_caption`` put below the axes, unwrapped."""
    return " ".join(" ".join(text.get_text().split()) for text in ax.texts if text.get_gid() == CAPTION)


def remove_caption(ax: Axes) -> None:
    """Take the caption away again, for a plot whose text stands elsewhere."""
    for text in [text for text in ax.texts if text.get_gid() == CAPTION]:
        text.remove()


def make_room_for_caption(ax: Axes) -> None:
    """Make the figure of a single plot higher by its caption, so that a long one does not flatten the plot."""
    figure = ax.get_figure(root=True)
    lines = sum(text.get_text().count("\n") + 1 for text in ax.texts if text.get_gid() == CAPTION)
    if figure is not None and lines:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + lines * _CAPTION_POINTS * _LINE_HEIGHT)


def draw_chart(chart: Chart) -> Figure:
    """Draw the whole figure: title and legend on top, then the panels, the caption below."""
    columns, rows = chart.columns, math.ceil(len(chart.panels) / chart.columns)
    width = 3.3 * columns + 0.4 if columns > 1 else 6.4
    with house_style():
        caption = wrapped(chart.caption, width - 0.3)
        labels = {line.label for panel in chart.panels for line in panel.lines if line.label}
        above = 0.34 + 0.2 * math.ceil(len(labels) / chart.legend_columns) + 0.08
        below = (caption.count("\n") + 1) * _CAPTION_POINTS * _LINE_HEIGHT + 0.15
        height = above + (2.45 if rows > 1 else 3.1) * rows + below
        figure = own_figure(width, height)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, panel in zip(axes, chart.panels, strict=False):
            draw_panel(ax, panel)
        for ax in axes[len(chart.panels) :]:
            ax.set_axis_off()
        named = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.text(0.12 / width, 1.0 - 0.1 / height, chart.title, va="top", fontsize=11.0, fontweight="bold")
        figure.legend(
            named.values(),
            named.keys(),
            loc="upper left",
            bbox_to_anchor=(0.05 / width, 1.0 - 0.32 / height),
            ncols=chart.legend_columns,
            handlelength=3.2,
            columnspacing=1.6,
        )
        figure.text(0.12 / width, (below - 0.1) / height, caption, va="top", fontsize=_CAPTION_POINTS, gid=CAPTION)
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.set(rect=(0.0, below / height, 1.0, 1.0 - (above + below) / height))  # type: ignore[call-arg]
    return figure


def wrapped(text: str, inches: float) -> str:
    """Wrap a text to a width in inches, keeping its own line breaks."""
    letters = max(24, int(inches * 72.0 / (_CAPTION_POINTS * _LETTER_WIDTH)))
    return "\n".join(line for paragraph in text.split("\n") for line in textwrap.wrap(paragraph, letters))


def _draw_axis(ax: Axes, axis: Axis, which: str, positive: bool) -> None:
    scale = axis.scale if positive or axis.scale != "log" else "linear"  # a log axis cannot show zeros alone
    thresholds = {"linthresh": 0.01} if scale == "symlog" else {}
    ax.set(**{f"{which}label": axis.label})
    (ax.set_xscale if which == "x" else ax.set_yscale)(scale, **thresholds)
    (ax.set_xlim if which == "x" else ax.set_ylim)(axis.low, axis.high)  # None keeps matplotlib's own limit
    if axis.plain and scale == "log":
        _write_plainly(ax, which)


def _write_plainly(ax: Axes, which: str) -> None:
    """Label a logarithmic axis with numbers instead of powers of ten, and more densely if it spans little."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    axis = ax.xaxis if which == "x" else ax.yaxis
    few, many, most = (1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
    axis.set_major_locator(LogLocator(subs=most if high < 8.0 * low else many if high < 200.0 * low else few))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def drawn_panel(ax: Axes | None, panel: Panel, caption: str) -> Axes:
    """Draw one panel with its legend and caption, on the given axes or on new ones."""
    ax = shown_axes(ax)
    with style_of(ax):
        draw_panel(ax, panel)
        draw_legend(ax)
        draw_caption(ax, caption)
    return ax
