"""Saving plots: PNG for screens, SVG for web pages, PDF for papers."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renyi.errors import InvalidInput
from renyi.plots.backend import house_style
from renyi.plots.drawing import remove_caption
from renyi.signatures import taught

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")

_PALETTE_SIZE = 256
"""Colours of a PNG file, the most that a palette can have."""

_UNDATED = {
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata about the time and the program, which matplotlib would write, switched off."""


@taught
def save(drawing: Axes | Figure, path: str | os.PathLike[str], *, dpi: int = 150, caption: bool = True) -> Path:
    """Write axes, or a whole figure, to a file that ends in .png, .svg or .pdf; captions are never cut.

    ``caption=False`` leaves the caption out, and the file then has the size of the figure to the last point, as a column of a
    paper needs it. The same plot gives the same bytes: nothing about the time or the machine is written.
    """
    target = checked(path)
    with house_style():
        from matplotlib.figure import Figure

        figure = drawing if isinstance(drawing, Figure) else drawing.get_figure(root=True)
        if figure is None:
            raise InvalidInput("these axes belong to no figure any more, so there is nothing to save.")
        if not caption:
            for ax in figure.axes:
                remove_caption(ax)
        options: dict[str, Any] = {"dpi": dpi, "facecolor": "white"}
        if caption:
            options |= {"bbox_inches": "tight", "pad_inches": 0.08}
        try:
            if target.suffix == ".png":
                _save_png(figure, target, options)
            else:
                figure.savefig(target, metadata=_UNDATED[target.suffix], **options)
        except OSError as error:
            raise InvalidInput(f"cannot write {target}: {error.strerror or error}.") from None
    return target


def _save_png(figure: Figure, target: Path, options: dict[str, Any]) -> None:
    """Save a PNG with a palette: a plot has few colours, and the file is a third of the size."""
    from PIL import Image

    pixels = io.BytesIO()
    figure.savefig(pixels, format="png", **options)
    with Image.open(pixels) as image:
        few = image.convert("RGB").quantize(colors=_PALETTE_SIZE, dither=Image.Dither.NONE)
        few.save(target, optimize=True, dpi=(options["dpi"], options["dpi"]))


def checked(path: str | os.PathLike[str]) -> Path:
    """The path; raises an error if its suffix is not a format that we write."""
    target = Path(path)
    if target.suffix.removeprefix(".") not in FORMATS:
        raise InvalidInput(
            f"a drawing is saved as .png, .svg or .pdf; got {str(target)!r}. Pass a name such as plot.pdf."
        )
    return target
