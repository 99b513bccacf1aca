"""The one door to matplotlib, which is an extra and is loaded when something is drawn."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from renyi.errors import PrivacyError
from renyi.plots.style import SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (6.4, 4.6)
"""Width and height of a single drawing in inches: the text width of a page."""


def need_matplotlib() -> None:
    """An error that says what to install, if there is no matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        raise PrivacyError(
            "drawing needs matplotlib, which is not installed: pip install 'renyi[plot]'. The numbers need no "
            "matplotlib: renyi.divergence, renyi.epsilon, renyi.delta and renyi.trade_off take arrays."
        )


@contextmanager
def house_style() -> Iterator[None]:
    """Our fonts and grid while the block runs; the user's own settings afterwards."""
    need_matplotlib()
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        yield


def own_figure(width: float, height: float) -> Figure:
    """A figure that belongs to the caller alone: no window, no global state."""
    need_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def shown_axes(ax: Axes | None) -> Axes:
    """The axes that were given, or new ones that ``pyplot.show()`` shows."""
    need_matplotlib()
    if ax is not None:
        return ax
    with house_style():
        from matplotlib import pyplot

        _, fresh = pyplot.subplots(figsize=SIZE, layout="constrained")
    return fresh
