"""The only module that loads matplotlib, which is an optional dependency, and only when something is drawn."""

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
"""Width and height of a single plot in inches: the text width of a page."""


def need_matplotlib() -> None:
    """Raise an error that says what to install if matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise PrivacyError(
            "drawing needs matplotlib, which is not installed: pip install 'renyi[plot]', in a clone '.[plot]'. The numbers "
            "need no matplotlib: renyi.divergence, renyi.epsilon, renyi.delta and renyi.trade_off take arrays."
        )


@contextmanager
def house_style() -> Iterator[None]:
    """Use our fonts and grid inside the block, and restore the user's settings afterwards."""
    need_matplotlib()
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        yield


def own_figure(width: float, height: float) -> Figure:
    """A figure of its own, without a window or pyplot's global state."""
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
