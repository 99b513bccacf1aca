"""Errors without private values, neither in the message nor in the local variables that a traceback may show.

A traceback that is logged with its locals (by rich, a debugger, an error tracker) would contain sums before noise, the noise,
keys and rows of the data; the message of an error in a user's loss may quote a label. So an error leaves a run's step as its
type, the place where it was raised and a way to see more. Errors of this package keep their messages, which contain no data.
"""

from __future__ import annotations

import traceback

from renyi.errors import PrivacyError
from renyi.training.errors import TrainingError


class HiddenError(TrainingError):
    """An error of foreign code inside a step, without its message."""


def without_values(error: BaseException, *, during: str = "while a batch was processed") -> BaseException:
    """The error to raise from a step, or from what it was part of, instead of this one."""
    if isinstance(error, PrivacyError) or not isinstance(error, Exception):
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return error
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    outer = [frame for frame in frames if "/renyi/training/" not in frame.filename and "/torch/" not in frame.filename]
    yours = f", in your code at {outer[-1].filename}:{outer[-1].lineno}" if outer else ""
    return HiddenError(
        f"{type(error).__name__} was raised at {place}{yours}, {during}. Its message, and the variables "
        "there, may hold private values, so they are not shown. To see them while you debug, on data that may be seen: "
        "Run(..., reveal_errors=True)."
    )
