"""Errors without private values: neither in their message, nor in the local variables that a traceback may show.

A traceback that is logged with its locals (rich, a debugger, an error tracker) would hold sums before noise, noise, keys and
rows of the data; the message of an error in somebody's loss may quote a label. So an error leaves a run's step as a type, a
place and a way to see more; errors of this package, whose messages hold no data, keep their words.
"""

from __future__ import annotations

import traceback

from renyi.errors import PrivacyError
from renyi.training.errors import TrainingError


class HiddenError(TrainingError):
    """An error of other code inside a step, without its message."""


def without_values(error: BaseException) -> BaseException:
    """What may leave a step instead of this error."""
    if isinstance(error, PrivacyError) or not isinstance(error, Exception):
        error.__traceback__ = error.__context__ = error.__cause__ = None
        return error
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    outer = [frame for frame in frames if "/renyi/training/" not in frame.filename and "/torch/" not in frame.filename]
    yours = f", in your code at {outer[-1].filename}:{outer[-1].lineno}" if outer else ""
    return HiddenError(
        f"{type(error).__name__} was raised at {place}{yours}, while a batch was processed. Its message, and the variables "
        "there, may hold private values, so they are not shown. To see them while you debug, on data that may be seen: "
        "Run(..., reveal_errors=True)."
    )
