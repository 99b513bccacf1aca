"""One style for each method, the same in every figure."""

from __future__ import annotations

from renyi.plots.style import (
    BLUE,
    DASH_DOT,
    DASHED,
    DOTTED,
    GREEN,
    GREY,
    LONG,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Style,
)

TIGHT = Style(SKY, width=4.0)
GENERAL = Style(GREEN, DASHED, width=1.8)
WITHOUT_REPLACEMENT = Style(VERMILION, DASH_DOT, "s")
ABADI = Style(PURPLE, LONG, "^")
NAIVE = Style(BLUE, LONG, "o")
UNSAMPLED = Style(GREY, DOTTED)
CAP = Style(ORANGE, DASHED)
MARK = Style(BLUE).alone("o", 6.0)
