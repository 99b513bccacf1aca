"""The contents of a figure before it is drawn: curves with their numbers, panels, captions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from renyi.plots.style import Style

Scale = Literal["linear", "log", "symlog"]


@dataclass(frozen=True, slots=True)
class Line:
    """A labelled curve, given by its points. One without a label is not in the legend."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style

    @classmethod
    def of(cls, label: str, x: Iterable[float], y: Iterable[float], style: Style) -> Line:
        """The curve through the finite points; infinite losses cannot be drawn."""
        points = [(float(a), float(b)) for a, b in zip(x, y, strict=True) if np.isfinite(a) and np.isfinite(b)]
        return cls(label, tuple(a for a, _ in points), tuple(b for _, b in points), style)


@dataclass(frozen=True, slots=True)
class Axis:
    """The quantity on an axis with its unit, its scale and limits; a limit of None follows from the points.

    ``plain`` writes 100 instead of a power of ten.
    """

    label: str
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes and its curves, the first drawn lowest."""

    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of several panels that share a legend and a caption.

    ``name`` is that of its files, ``quantities`` those of the two columns of numbers in its table.
    """

    name: str
    title: str
    caption: str
    quantities: tuple[str, str]
    panels: tuple[Panel, ...]
    columns: int = 1
    legend_columns: int = 4
