"""Styles of curves: colours that colour-blind readers can tell apart, with dashes and markers for black-and-white prints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

Dashes = str | tuple[float, tuple[float, ...]]

# Okabe & Ito (2008), "Color universal design"; their yellow is too pale for a line on white paper.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#666666"

SOLID: Dashes = "-"
DASHED: Dashes = (0.0, (5.0, 2.0))
LONG: Dashes = (0.0, (9.0, 3.0))
DOTTED: Dashes = (0.0, (1.0, 1.5))
DASH_DOT: Dashes = (0.0, (6.0, 2.0, 1.0, 2.0))
NONE: Dashes = "none"


@dataclass(frozen=True, slots=True)
class Style:
    """One curve's colour, dashes and marker.

    ``every`` is matplotlib's ``markevery``: an integer counts points, a fraction is a distance in diagonals of the axes.
    """

    colour: str
    dashes: Dashes = SOLID
    marker: str = ""
    width: float = 1.5
    every: float = 0.13
    size: float = 4.0
    hollow: bool = False

    def alone(self, marker: str = "o", size: float = 8.0) -> Style:
        """The same colour for single points, hollow to distinguish them from the markers along a curve."""
        return replace(self, dashes=NONE, marker=marker, size=size, hollow=True)

    def unmarked(self) -> Style:
        """The line without markers, for a plot with no other curve."""
        return replace(self, marker="")

    def dotted(self) -> Style:
        """With a marker at every point, for a line that is meaningful only there."""
        return replace(self, marker=self.marker or "o", every=1, size=3.0)

    def keywords(self) -> dict[str, Any]:
        """The style as keyword arguments of matplotlib."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "marker": self.marker or None,
            "linewidth": self.width,
            "markevery": self.every if self.dashes != NONE else 1,
            "markersize": self.size,
            "markerfacecolor": "white" if self.hollow else self.colour,
            "markeredgewidth": 2.0 if self.hollow else 1.0,
            "zorder": 3.0 if self.hollow else 2.0,
        }


EXACT = Style(BLACK, width=1.1)
"""The exact answer, drawn thin and on top, so that curves that coincide with it remain visible."""

SERIES = (
    Style(BLUE, SOLID, "o"),
    Style(VERMILION, DASHED, "s"),
    Style(GREEN, DASH_DOT, "^"),
    Style(PURPLE, LONG, "D"),
    Style(ORANGE, DOTTED, "v", width=2.0),
    Style(SKY, SOLID, "P", width=2.5),
)
"""Styles of runs that are compared, in this order."""

SETTINGS: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "svg.fonttype": "none",  # text stays text: it can be searched, and the files are small
    "pdf.fonttype": 42,  # TrueType: some publishers refuse the default, Type 3
    "svg.hashsalt": "renyi",  # the same figure gives the same file
}
"""Settings in force while we draw, and restored afterwards."""

NARROW_SETTINGS: dict[Any, Any] = {
    "font.size": 7.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
}
"""Smaller letters, for a figure of a column's width."""
